//! A file, or the requested part of it (RFC 9110, 14), and the name that it is saved under.

use std::io::SeekFrom;

use bytes::{Bytes, BytesMut};
use cms_core::{Code, Error, Result, media::Remote};
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, Method, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::{PastEnd, Reply};
use crate::{
    body::{Body, Parts},
    request::Canonical,
};

/// Bytes that are read at once.
const STEP: usize = 64 << 10;

/// The content of a file.
pub(crate) enum Content {
    /// A file on this machine.
    File(tokio::fs::File),
    /// Reads a number of bytes from an offset on.
    Remote(Remote),
}

/// A file to reply with.
pub(crate) struct File {
    pub(crate) content: Content,
    pub(crate) length: u64,
    pub(crate) media_type: HeaderValue,
    /// A strong entity tag, with its quotes.
    pub(crate) etag: HeaderValue,
    /// The name to save the file under; None: browsers show the file.
    pub(crate) save_as: Option<String>,
}

impl File {
    /// The reply: 200, or 206 with a part.
    ///
    /// # Errors
    /// `range_not_satisfiable` for a part that begins after the end.
    pub(crate) async fn reply(self, request: &Canonical) -> Result<Reply> {
        let (status, first, length) = match self.range(request)? {
            ByteRange::Whole => (StatusCode::OK, 0, self.length),
            ByteRange::Part(first, last) => (StatusCode::PARTIAL_CONTENT, first, last - first + 1),
            ByteRange::Beyond => {
                let length = self.length;
                let why = format!("The file has {length} bytes: Range asks for some behind them.");
                let error = Error::new(Code::RangeNotSatisfiable, why);
                return Err(error.caused_by(PastEnd(length)));
            }
        };
        let mut reply = Reply::new(status, self.media_type.clone(), Bytes::new())
            .with(header::ACCEPT_RANGES, "bytes")
            .with(header::CONTENT_LENGTH, &length.to_string())
            .with(header::CONTENT_DISPOSITION, &self.disposition());
        reply.headers.insert(header::ETAG, self.etag.clone());
        if status == StatusCode::PARTIAL_CONTENT {
            let range = format!("bytes {first}-{}/{}", first + length - 1, self.length);
            reply = reply.with(header::CONTENT_RANGE, &range);
        }
        if length > 0 {
            let parts = match self.content {
                Content::File(mut file) => {
                    file.seek(SeekFrom::Start(first)).await.map_err(Error::internal)?;
                    bytes(file, length)
                }
                Content::Remote(read) => read(first, length),
            };
            reply.body = Body::streamed(parts);
        }
        Ok(reply)
    }

    fn range(&self, request: &Canonical) -> Result<ByteRange> {
        // A part of another version of the file is of no use.
        let of_this_state = match request.headers.get(header::IF_RANGE) {
            None => true,
            Some(state) => *state == self.etag,
        };
        let conditional = request.headers.contains_key(header::IF_NONE_MATCH);
        match request.header(&header::RANGE)? {
            Some(range) if request.method == Method::GET && of_this_state && !conditional => {
                Ok(ByteRange::parse(range, self.length))
            }
            _ => Ok(ByteRange::Whole),
        }
    }

    fn disposition(&self) -> String {
        self.save_as.as_deref().map_or_else(|| "inline".to_owned(), attachment)
    }
}

/// The next `length` bytes of a file. If the file ends early, the reply breaks off, so that
/// nobody takes it for complete.
fn bytes(file: tokio::fs::File, length: u64) -> Parts {
    stream::try_unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(STEP);
        let mut part = BytesMut::zeroed(room);
        let read = file.read(&mut part).await.map_err(Error::internal)?;
        if read == 0 {
            tracing::error!(left, "a file ended before its reply");
            return Err(Error::internal("the file has become shorter"));
        }
        part.truncate(read);
        Ok(Some((part.freeze(), (file, left - read as u64))))
    })
    .boxed()
}

/// The range that `Range` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteRange {
    /// The whole file; also for several ranges at once and for an unreadable header.
    Whole,
    /// From the first byte to the last one, both included.
    Part(u64, u64),
    /// A range that begins after the end.
    Beyond,
}

impl ByteRange {
    /// Parses the value of `Range` for a file of this length.
    pub(crate) fn parse(range: &str, length: u64) -> Self {
        let Some((unit, part)) = range.split_once('=') else { return Self::Whole };
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return Self::Whole;
        }
        let Some((first, last)) = part.trim().split_once('-') else { return Self::Whole };
        // A number of more than 64 bits is beyond the end of every file.
        let number = |digits: &str| {
            let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            all.then(|| digits.parse().unwrap_or(u64::MAX))
        };
        match (number(first), number(last)) {
            (Some(first), Some(last)) if last < first => Self::Whole,
            (Some(first), last) if last.is_some() || part.trim().ends_with('-') => {
                if first >= length {
                    return Self::Beyond;
                }
                Self::Part(first, last.unwrap_or(u64::MAX).min(length - 1))
            }
            // The last `count` bytes.
            (None, Some(count)) if first.is_empty() => match (count, length) {
                (0, _) | (_, 0) => Self::Beyond,
                _ => Self::Part(length.saturating_sub(count), length - 1),
            },
            _ => Self::Whole,
        }
    }
}

/// Characters that stay unescaped in `filename*` (RFC 8187, 3.2.1).
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// The value of `Content-Disposition` (RFC 6266), with the exact name and a plain one
/// for old clients.
pub(crate) fn attachment(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_ ".contains(c) { c } else { '_' };
    let (old, exact): (String, _) =
        (name.chars().map(plain).collect(), utf8_percent_encode(name, NAME));
    format!("attachment; filename=\"{old}\"; filename*=UTF-8''{exact}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ByteRange::*, *};

    #[test]
    fn parts_are_read_as_the_standard_says() {
        for (range, expected) in [
            ("bytes=0-0", Part(0, 0)),
            ("bytes=2-5", Part(2, 5)),
            ("bytes=2-", Part(2, 9)),
            ("bytes=-3", Part(7, 9)),
            ("bytes=-99", Part(0, 9)),
            ("bytes=9-99", Part(9, 9)),
            ("Bytes = 1-2", Part(1, 2)),
            ("bytes=10-", Beyond),
            ("bytes=99999999999999999999-", Beyond),
            ("bytes=-0", Beyond),
            ("bytes=5-2", Whole),
            ("bytes=0-1,3-4", Whole),
            ("bytes=a-b", Whole),
            ("bytes=+1-2", Whole),
            ("bytes=1-x", Whole),
            ("bytes=-", Whole),
            ("lines=0-1", Whole),
            ("bytes", Whole),
            ("", Whole),
        ] {
            assert_eq!(ByteRange::parse(range, 10), expected, "{range}");
        }
        assert_eq!(ByteRange::parse("bytes=0-", 0), Beyond);
        assert_eq!(ByteRange::parse("bytes=-1", 0), Beyond);
    }

    proptest! {
        #[test]
        fn a_part_lies_within_the_file(range in "(bytes=)?[0-9a, -]{0,24}", length in 0u64..5000) {
            if let Part(first, last) = ByteRange::parse(&range, length) {
                prop_assert!(first <= last && last < length);
            }
        }

        #[test]
        fn every_part_can_be_asked_for(first in 0u64..5000, count in 1u64..5000) {
            let (last, length) = (first + count - 1, first + count);
            let read = |range: String| ByteRange::parse(&range, length);
            prop_assert_eq!(read(format!("bytes={first}-{last}")), Part(first, last));
            prop_assert_eq!(read(format!("bytes=-{count}")), Part(first, last));
            prop_assert_eq!(read(format!("bytes={length}-")), Beyond);
        }
    }
}
