//! Signatures: the service's own, and those of Standard Webhooks (standardwebhooks.com, symmetric
//! `v1`).

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
    pub(in crate::webhooks) fn new(random: &Random) -> Result<Self> {
        let bytes = Zeroizing::new(random.bytes::<32>()?);
        Ok(Self(Secret::new(format!("{PREFIX}{}", BASE64.encode(&*bytes)))))
    }

    /// Reads a stored secret; `None` when it is not base64.
    pub(in crate::webhooks) fn parse(text: &Secret) -> Option<Self> {
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
pub(in crate::webhooks) fn decoded(secret: &str) -> Option<Zeroizing<Vec<u8>>> {
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

#[cfg(test)]
mod tests {
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
}
