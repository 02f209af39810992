//! Verifies deliveries, for receivers.

use super::sign::{decoded, hex_signature, standard_signature};

/// Seconds by which a delivery's time may differ from the receiver's clock.
pub const TOLERANCE_S: u64 = 300;

/// The headers that a signature covers, as they arrived.
#[derive(Clone, Copy, Debug)]
pub struct SignedHeaders<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`.
    pub timestamp: &'a str,
    /// `webhook-signature`.
    pub signature: &'a str,
}

/// Why a delivery was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The secret is empty or not base64.
    #[error("the secret is not whsec_ followed by base64")]
    Secret,
    /// The timestamp is not a number.
    #[error("webhook-timestamp is not a number")]
    Timestamp,
    /// The delivery's time differs by more than the tolerance.
    #[error(
        "the delivery is too old or from the future: somebody may be replaying it, or a clock is \
         wrong"
    )]
    Time,
    /// No signature matches the body.
    #[error("no signature matches the body: it was altered, or signed with another secret")]
    Signature,
}

/// Verifies a delivery by its Standard Webhooks headers. `body` is the body as it arrived, byte for
/// byte; `now_s` may differ from the delivery's time by [`TOLERANCE_S`].
///
/// ```
/// use cms_core::webhooks::{SignedHeaders, verify};
/// let headers = SignedHeaders {
///     id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
///     timestamp: "1614265330",
///     signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
/// };
/// let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// verify(secret, &headers, br#"{"test": 2432232314}"#, 1_614_265_331)?;
/// assert!(verify(secret, &headers, br#"{"test": 1}"#, 1_614_265_331).is_err());
/// # Ok::<(), cms_core::webhooks::VerifyError>(())
/// ```
///
/// # Errors
/// [`VerifyError`].
pub fn verify(
    secret: &str,
    received: &SignedHeaders<'_>,
    body: &[u8],
    now_s: i64,
) -> Result<(), VerifyError> {
    verify_within(secret, received, body, now_s, Some(TOLERANCE_S))
}

/// As [`verify`], with another tolerance in seconds. `None` accepts any age: for captured
/// deliveries only, because a receiver would accept replays years later.
///
/// # Errors
/// [`VerifyError`].
pub fn verify_within(
    secret: &str,
    received: &SignedHeaders<'_>,
    body: &[u8],
    now_s: i64,
    tolerance_s: Option<u64>,
) -> Result<(), VerifyError> {
    decoded(secret).ok_or(VerifyError::Secret)?;
    let digits = !received.timestamp.is_empty()
        && received.timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let time: i64 =
        received.timestamp.parse().ok().filter(|_| digits).ok_or(VerifyError::Timestamp)?;
    if tolerance_s.is_some_and(|tolerance_s| now_s.abs_diff(time) > tolerance_s) {
        return Err(VerifyError::Time);
    }
    let expected =
        standard_signature(secret, received.id, time, body).ok_or(VerifyError::Secret)?;
    // A rotation sends several signatures; unknown versions are skipped.
    let matches =
        received.signature.split(' ').fold(false, |matches, sent| matches | same(sent, &expected));
    if matches { Ok(()) } else { Err(VerifyError::Signature) }
}

/// Verifies a delivery by `X-Webhook-Signature` alone. The header carries no time, so replays pass.
#[must_use]
pub fn verify_hex(secret: &str, signature: &str, body: &[u8]) -> bool {
    !secret.is_empty() && same(signature, &hex_signature(secret, body))
}

/// Compares in constant time.
fn same(sent: &str, expected: &str) -> bool {
    sent.len() == expected.len()
        && sent.bytes().zip(expected.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const GOOD: SignedHeaders<'_> = SignedHeaders {
        id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp: "1614265330",
        signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };

    #[test]
    fn the_clock_may_be_off_by_five_minutes() {
        for (seconds, fine) in [(-301, false), (-300, true), (0, true), (300, true), (301, false)] {
            assert_eq!(
                verify(SECRET, &GOOD, BODY, 1_614_265_330 + seconds).is_ok(),
                fine,
                "{seconds}"
            );
        }
    }

    #[test]
    fn only_matching_signatures_pass() {
        let good = GOOD.signature;
        let (several, first, versions, twice) = (
            format!("v1,AAAA {good}"),
            format!("{good} v1,AAAA"),
            format!("v1a,xyz v2,abc {good}"),
            format!("{good} {good}"),
        );
        // Wrong in two places, by the same bit.
        let wrong_twice: String =
            good.chars().enumerate().map(|(at, c)| if at == 3 { 'f' } else { c }).collect();
        let wrong_twice = wrong_twice.replacen('M', "L", 1);
        for (signature, fine) in [
            (several.as_str(), true),
            (twice.as_str(), true),
            (wrong_twice.as_str(), false),
            (first.as_str(), true),
            (versions.as_str(), true),
            ("", false),
            ("v1,", false),
            ("v1,g0hM9SsE", false),
            ("12345", false),
            ("v1,12345", false),
            (&good[3..], false),
            ("v1,AAAA v1,BBBB", false),
            ("v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", false),
        ] {
            assert_eq!(
                verify(SECRET, &SignedHeaders { signature, ..GOOD }, BODY, 1_614_265_330).is_ok(),
                fine,
                "{signature}"
            );
        }
        for timestamp in ["", "Infinity", "1e9", "-1", "+1614265330", "1614265330.0"] {
            let outcome = verify(SECRET, &SignedHeaders { timestamp, ..GOOD }, BODY, 1_614_265_330);
            assert_eq!(outcome, Err(VerifyError::Timestamp), "{timestamp}");
        }
        assert_eq!(verify("", &GOOD, BODY, 1_614_265_330), Err(VerifyError::Secret));
        assert_eq!(verify(SECRET, &GOOD, b"tampered", 1_614_265_330), Err(VerifyError::Signature));
        assert_eq!(
            verify(SECRET, &SignedHeaders { id: "other", ..GOOD }, BODY, 1_614_265_330),
            Err(VerifyError::Signature)
        );
    }

    #[test]
    fn the_tolerance_is_chosen() {
        for (tolerance, seconds, fine) in [
            (Some(0), 0, true),
            (Some(0), 1, false),
            (Some(60), -60, true),
            (Some(60), -61, false),
            (None, 1 << 40, true),
        ] {
            assert_eq!(
                verify_within(SECRET, &GOOD, BODY, 1_614_265_330 + seconds, tolerance).is_ok(),
                fine,
                "{tolerance:?} {seconds}"
            );
        }
        assert_eq!(verify_within(SECRET, &GOOD, b"tampered", 0, None), Err(VerifyError::Signature));
    }

    #[test]
    fn the_simple_signature() {
        let body = br#"{"event":"charge.success","amount":1000,"currency":"NGN"}"#;
        let good = "244449b7f48cbc2709060c9dcdc2b3aa47a78f540430579015c579fb12defbb4";
        assert!(verify_hex("convoy-webhook-secret", good, body));
        for (secret, signature, body) in [
            ("convoy-webhook-secret", good, &body[1..]),
            ("convoy-webhook-secret", &good[..8], &body[..]),
            ("convoy-webhook-secret", "", &body[..]),
            ("convoy-webhook-secret", "12345", &body[..]),
            ("other", good, &body[..]),
            ("", good, &body[..]),
        ] {
            assert!(!verify_hex(secret, signature, body));
        }
    }

    proptest! {
        #[test]
        fn no_input_panics(
            secret in "\\PC{0,40}",
            id in "\\PC{0,20}",
            time in "[0-9+-]{0,22}",
            signature in "\\PC{0,60}",
            now: i64,
        ) {
            let received = SignedHeaders { id: &id, timestamp: &time, signature: &signature };
            prop_assert!(verify(&secret, &received, b"x", now).is_err());
        }
    }
}
