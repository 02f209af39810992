//! What the thread of a test logs.

use std::sync::{Arc, LazyLock};

use tempfile::NamedTempFile;
use tracing::{
    Dispatch,
    subscriber::{DefaultGuard, NoSubscriber},
};

/// The log of this thread from here on.
pub struct Log {
    writing: DefaultGuard,
    file: NamedTempFile,
}

impl Log {
    pub fn begin() -> Self {
        // While a process has one subscriber, tracing asks the thread that comes to a line of code
        // first whether anybody listens, and remembers its answer: another test would silence
        // this one. With a second subscriber it asks both.
        static SECOND: LazyLock<Dispatch> =
            LazyLock::new(|| Dispatch::new(NoSubscriber::default()));
        LazyLock::force(&SECOND);
        let file = NamedTempFile::new().unwrap();
        let writer = Arc::new(file.reopen().unwrap());
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish();
        Self { writing: tracing::subscriber::set_default(subscriber), file }
    }

    /// Ends it, and returns its lines.
    pub fn end(self) -> String {
        drop(self.writing);
        std::fs::read_to_string(self.file.path()).unwrap()
    }
}
