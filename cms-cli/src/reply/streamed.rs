//! Replies too large for memory, written as they come.

use std::io::Write;

use cms_http::client::{Ask, Client};
use futures_util::StreamExt as _;

use crate::output::{Done, Output, Progress};

/// Writes a reply part by part. `shows`: reports progress meanwhile.
pub(crate) async fn copy(
    out: &Output,
    client: &Client,
    ask: &Ask,
    shows: bool,
    to: &mut impl Write,
) -> Done {
    let mut progress = shows.then(|| Progress::of_bytes(out, "export", None));
    let outcome = parts(client, ask, to, |bytes| {
        if let Some(progress) = &mut progress {
            progress.at(bytes, bytes);
        }
    })
    .await;
    if let Some(progress) = progress {
        progress.clear();
    }
    outcome
}

async fn parts(client: &Client, ask: &Ask, to: &mut impl Write, mut told: impl FnMut(u64)) -> Done {
    let (mut parts, mut bytes) = (client.stream(ask).await?, 0);
    while let Some(part) = parts.next().await {
        let part = part?;
        to.write_all(&part)?;
        bytes += part.len() as u64;
        told(bytes);
    }
    Ok(to.flush()?)
}

/// Turns lines of JSON into one body with a list, in the form of other lists.
pub(crate) struct Listed<W> {
    to: W,
    /// Whether a line has ended and another would need a comma before it.
    between: bool,
}

impl<W: Write> Listed<W> {
    pub(crate) fn begin(mut to: W) -> Done<Self> {
        to.write_all(b"{\"data\":[")?;
        Ok(Self { to, between: false })
    }

    pub(crate) fn end(mut self) -> Done {
        self.to.write_all(b"],\"meta\":{\"next\":null}}\n")?;
        Ok(self.to.flush()?)
    }
}

impl<W: Write> Write for Listed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for (i, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            self.between |= i > 0;
            if line.is_empty() {
                continue;
            }
            if std::mem::take(&mut self.between) {
                self.to.write_all(b",")?;
            }
            self.to.write_all(line)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_a_list_wherever_they_are_cut() {
        for (text, expected) in [
            ("", "[]"),
            ("{\"a\":1}\n", "[{\"a\":1}]"),
            ("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n", "[{\"a\":1},{\"b\":2},{\"c\":3}]"),
        ] {
            for size in 1..=text.len().max(1) {
                let mut body = Vec::new();
                let mut listed = Listed::begin(&mut body).expect("begun");
                for part in text.as_bytes().chunks(size) {
                    listed.write_all(part).expect("written");
                }
                listed.end().expect("ended");
                let expected = format!("{{\"data\":{expected},\"meta\":{{\"next\":null}}}}\n");
                assert_eq!(String::from_utf8(body).expect("text"), expected, "{size}");
            }
        }
    }
}
