//! Signatures: the service's own, and those of Standard Webhooks (standardwebhooks.com, symmetric
//! `v1`); and their verification, for receivers. Pure.

use std::fmt;

use data_encoding::{BASE64, HEXLOWER};
use zeroize::Zeroizing;

use crate::{
    Random, Result,
    ground::{Secret, crypto::hmac_sha256},
};

/// The prefix of secrets.
const PREFIX: &str = "whsec_";

/// The secret of a subscription: `whsec_` and the base64 of 32 random bytes. Shown once, at
/// creation or rotation.
pub struct WebhookSecret(Secret);

impl WebhookSecret {
    pub(super) fn new(random: &Random) -> Result<Self> {
        let bytes = Zeroizing::new(random.bytes::<32>()?);
        Ok(Self(Secret::new(format!("{PREFIX}{}", BASE64.encode(&*bytes)))))
    }

    /// Reads a stored secret; `None` when it is not base64.
    pub(super) fn parse(text: &Secret) -> Option<Self> {
        decoded(text.expose()).map(|_| Self(text.clone()))
    }

    /// The text itself, to show it once.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(***)")
    }
}

/// The key of Standard Webhooks: the text after the prefix, decoded. `None` when it is empty or not
/// base64.
fn decoded(secret: &str) -> Option<Zeroizing<Vec<u8>>> {
    let encoded = secret.strip_prefix(PREFIX).unwrap_or(secret);
    BASE64.decode(encoded.as_bytes()).ok().filter(|key| !key.is_empty()).map(Zeroizing::new)
}

/// `X-Webhook-Signature`: lower-case hex of the HMAC-SHA256 of the raw body, keyed with the
/// secret's text as it was shown.
///
/// ```
/// let body = br#"{"event":"charge.success","amount":1000,"currency":"NGN"}"#;
/// let signature = cms_core::webhooks::hex_signature("convoy-webhook-secret", body);
/// assert_eq!(signature, "244449b7f48cbc2709060c9dcdc2b3aa47a78f540430579015c579fb12defbb4");
/// ```
#[must_use]
pub fn hex_signature(secret: &str, body: &[u8]) -> String {
    HEXLOWER.encode(&hmac_sha256(secret.as_bytes(), body))
}

/// `webhook-signature`: `v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body`, keyed with
/// the decoded secret. `None` when the secret is not base64.
#[must_use]
pub fn standard_signature(secret: &str, id: &str, timestamp_s: i64, body: &[u8]) -> Option<String> {
    let key = decoded(secret)?;
    let message = [id.as_bytes(), b".", timestamp_s.to_string().as_bytes(), b".", body].concat();
    Some(format!("v1,{}", BASE64.encode(&hmac_sha256(&key, &message))))
}

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

    /// Vectors from GitHub's documentation, Convoy and RFC 4231.
    #[test]
    fn hex_vectors() {
        for (secret, body, expected) in [
            (
                "It's a Secret to Everybody",
                "Hello, World!",
                "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
            ),
            (
                "convoy-webhook-secret",
                r#"{"event":"charge.success","amount":1000,"currency":"NGN"}"#,
                "244449b7f48cbc2709060c9dcdc2b3aa47a78f540430579015c579fb12defbb4",
            ),
            (
                "Jefe",
                "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                "secret",
                "1636936200.hello !",
                "1b3d69df55f1e52f05224ba94a5162abeb17ef52cd7f4948c390f810d6a87e98",
            ),
            (
                "test-secret",
                "1234567890.{\"hello\":\"world\"}",
                "7054f74dae9f73e82b56ca73e8f81450097c698eeda0b00bb8728e89796baf2d",
            ),
        ] {
            assert_eq!(hex_signature(secret, body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn rfc_4231() {
        let counting: Vec<u8> = (1..=25).collect();
        let long = "This is a test using a larger than block-size key and a larger than \
                    block-size data. The key needs to be hashed before being used by the HMAC \
                    algorithm.";
        for (key, message, expected) in [
            (
                vec![0x0b; 20],
                b"Hi There".to_vec(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                vec![0xaa; 20],
                vec![0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                counting,
                vec![0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                vec![0xaa; 131],
                long.as_bytes().to_vec(),
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ] {
            assert_eq!(HEXLOWER.encode(&hmac_sha256(&key, &message)), expected);
        }
    }

    /// Vectors from the Standard Webhooks libraries.
    #[test]
    fn standard_vectors() {
        for (secret, id, time, body, expected) in [
            (
                "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                "msg_p5jXN8AQM9LWM0D4loKWxJek",
                1_614_265_330,
                r#"{"test": 2432232314}"#,
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
            (
                "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
                "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
                1_649_367_553,
                r#"{"email":"test@example.com","username":"test_user"}"#,
                "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
            ),
        ] {
            assert_eq!(
                standard_signature(secret, id, time, body.as_bytes()).as_deref(),
                Some(expected)
            );
            assert_eq!(
                standard_signature(&secret[6..], id, time, body.as_bytes()).as_deref(),
                Some(expected),
                "without prefix"
            );
        }
        assert!(
            standard_signature("whsec_", "id", 0, b"").is_none()
                && standard_signature("whsec_!", "id", 0, b"").is_none()
        );
    }

    #[test]
    fn a_new_secret_parses_and_does_not_print() {
        let secret = WebhookSecret::new(&Random::seeded(5)).expect("secret");
        assert_eq!(decoded(secret.expose()).expect("key").len(), 32);
        assert_eq!(
            WebhookSecret::parse(&Secret::new(secret.expose())).expect("parsed").expose(),
            secret.expose()
        );
        assert_eq!(format!("{secret:?}"), "WebhookSecret(***)");
    }

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
