//! Which part of a file is asked for (RFC 9110, 14): pure.

/// What `Range` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteRange {
    /// Everything. So are several parts at once, and what cannot be read.
    Whole,
    /// From one byte to another, both included.
    Part(u64, u64),
    /// A part that begins after the end.
    Beyond,
}

impl ByteRange {
    /// Reads the value of `Range` for a file of this length.
    pub(crate) fn parse(range: &str, length: u64) -> Self {
        let Some((unit, part)) = range.split_once('=') else { return Self::Whole };
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return Self::Whole;
        }
        let Some((first, last)) = part.trim().split_once('-') else { return Self::Whole };
        // A number of more than 64 bits lies beyond every file.
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
            // The last so many bytes.
            (None, Some(count)) if first.is_empty() => match (count, length) {
                (0, _) | (_, 0) => Self::Beyond,
                _ => Self::Part(length.saturating_sub(count), length - 1),
            },
            _ => Self::Whole,
        }
    }
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
