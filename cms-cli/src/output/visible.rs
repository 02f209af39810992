//! A file or a pipe gets bytes as they are; a terminal shows what it would obey.

use std::io::{self, BufWriter, Stdout, Write};

use cms_core::plain::shown;

use super::printer::Output;

/// Standard output for long texts. Each text must be written whole.
pub(crate) struct Visible {
    to: BufWriter<Stdout>,
    is_terminal: bool,
}

impl Visible {
    pub(crate) fn stdout(out: &Output) -> Self {
        Self { to: BufWriter::new(io::stdout()), is_terminal: out.table }
    }
}

impl Write for Visible {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_terminal {
            self.to.write_all(shown(&String::from_utf8_lossy(bytes)).as_bytes())?;
        } else {
            self.to.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
