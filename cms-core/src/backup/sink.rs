//! What takes the bytes of an archive.

use std::io::{self, Write};

use crate::{Code, Error};

/// Takes the bytes of an archive, to their end.
pub(super) trait Sink: Write + Send {
    /// Nothing more comes.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// What kept an archive from being written.
pub(super) fn unwritten(error: io::Error) -> Error {
    // The store of the object says more.
    let error = match error.downcast::<Error>() {
        Ok(error) => return error,
        Err(error) => error,
    };
    let detail = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => {
            "The archive cannot be written: the disk is full."
        }
        io::ErrorKind::BrokenPipe => "Nobody reads the archive any more.",
        _ => "The archive cannot be written.",
    };
    Error::new(Code::ValidationFailed, detail).caused_by(error)
}
