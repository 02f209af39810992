//! Checks the two signatures of a delivery

use cms_core::{
    Clock, Secret,
    webhooks::{SignedHeaders, VerifyError, verify_hex, verify_within},
};
use http::HeaderMap;

const STANDARD: &str = "webhook-signature";
const SIMPLE: &str = "x-webhook-signature";

/// The check of one signature.
pub(super) struct Check {
    /// The header that holds it.
    pub(super) header: &'static str,
    /// None when the signature is right.
    pub(super) fault: Option<Fault>,
}

/// What is wrong with a signature, and how to mend it.
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) hint: &'static str,
}

/// Checks each signature that is there: one of the secrets must fit. Empty when the delivery has no
/// signature.
pub(super) fn checks(
    secrets: &[Secret],
    headers: &HeaderMap,
    body: &[u8],
    tolerance_s: Option<u64>,
) -> Vec<Check> {
    let mut checks = Vec::new();
    if ["webhook-id", "webhook-timestamp", STANDARD].iter().any(|name| headers.contains_key(*name))
    {
        checks.push(Check {
            header: STANDARD,
            fault: standard(secrets, headers, body, tolerance_s).err(),
        });
    }
    if headers.contains_key(SIMPLE) {
        checks.push(Check { header: SIMPLE, fault: simple(secrets, headers, body).err() });
    }
    checks
}

fn standard(
    secrets: &[Secret],
    headers: &HeaderMap,
    body: &[u8],
    tolerance_s: Option<u64>,
) -> Result<(), Fault> {
    let received = SignedHeaders {
        id: single(headers, "webhook-id")?,
        timestamp: single(headers, "webhook-timestamp")?,
        signature: single(headers, STANDARD)?,
    };
    let now_s = Clock::system().now() / 1000;
    let outcomes = secrets
        .iter()
        .map(|secret| verify_within(secret.expose(), &received, body, now_s, tolerance_s));
    outcomes.reduce(Result::or).unwrap_or(Err(VerifyError::Secret)).map_err(Fault::from)
}

fn simple(secrets: &[Secret], headers: &HeaderMap, body: &[u8]) -> Result<(), Fault> {
    let signature = single(headers, SIMPLE)?;
    let fits = secrets.iter().any(|secret| verify_hex(secret.expose(), signature, body));
    if fits { Ok(()) } else { Err(VerifyError::Signature.into()) }
}

/// The value of a header that must be there exactly once.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<&'a str, Fault> {
    let fault = |code, what| Fault {
        code,
        message: format!("the header {name} {what}"),
        hint: "give all headers as they arrived",
    };
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => {
            value.to_str().map_err(|_| fault("format", "holds other characters than visible ASCII"))
        }
        (Some(_), Some(_)) => Err(fault("repeated", "stands there more than once")),
        (None, _) => Err(fault("missing", "is missing")),
    }
}

impl From<VerifyError> for Fault {
    fn from(error: VerifyError) -> Self {
        let (code, hint) = match error {
            VerifyError::Secret => {
                ("secret", "give the secret as it was printed: whsec_ and base64")
            }
            VerifyError::Timestamp => {
                ("timestamp", "give the timestamp as it arrived: seconds since 1970")
            }
            VerifyError::Time => {
                ("time", "add --no-tolerance for a saved delivery, else compare the clocks")
            }
            _ => (
                "signature",
                "give the body byte for byte as it arrived, and the secret valid at that time",
            ),
        };
        Self { code, message: error.to_string(), hint }
    }
}
