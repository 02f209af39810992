//! Moments as people type them, for `--since` and `--until`.

use cms_core::{Clock, Millis, parse_rfc3339};
use cms_http::wire::parameters::Moment;

use super::duration::seconds;

/// Reads a date-time such as `2026-11-21T09:30:00Z`, or a span back from now such as `2h`.
pub(crate) fn moment(text: &str) -> Result<Moment, String> {
    read(text, Clock::system().now()).map(Moment).ok_or_else(|| {
        "write a date-time such as 2026-11-21T09:30:00Z, or a span back such as 30m, 2h or 7d"
            .to_owned()
    })
}

fn read(text: &str, now: Millis) -> Option<Millis> {
    if let Some(at) = parse_rfc3339(text) {
        return Some(at);
    }
    // A number alone is no span: it may be the beginning of a date.
    let span = seconds(text).ok().filter(|_| text.ends_with(['s', 'm', 'h', 'd']))?;
    now.checked_sub(span.checked_mul(1000)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_date_times_or_spans_back() {
        let now = 1_800_000_000_000;
        for (text, expected) in [
            ("2026-11-21T09:30:00Z", Some(1_795_253_400_000)),
            ("2026-11-21T10:30:00+01:00", Some(1_795_253_400_000)),
            ("30s", Some(now - 30_000)),
            ("2h", Some(now - 7_200_000)),
            ("2d", Some(now - 172_800_000)),
            ("2026", None),
            ("2026-11-21", None),
            ("-2h", None),
            ("2w", None),
            ("yesterday", None),
            ("", None),
            ("9999999999999999d", None),
        ] {
            assert_eq!(read(text, now), expected, "{text}");
        }
    }
}
