//! `cms webhooks verify`: checks whether a saved delivery is genuine. The command line takes no
//! secrets, because other users can see it

use std::path::{Path, PathBuf};

use clap::Args;
use cms_core::{
    Clock, Secret,
    webhooks::{
        SignedHeaders, TOLERANCE_S, VerifyError, standard_signature, verify_hex, verify_within,
    },
};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use super::subscriptions::header_line;
use crate::{
    environment,
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output, table},
    prompt,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms webhooks verify body.json --headers headers.txt --secret-file secret.txt --no-tolerance
  cms webhooks verify - --header 'x-webhook-signature: 2444…' --secret-file secret.txt < body.json

It checks webhook-signature (with webhook-id and webhook-timestamp) and X-Webhook-Signature, if they
are there. Exit code 0: all of them are right; 1: one is wrong.")]
pub(crate) struct VerifyArgs {
    /// File with the body, byte for byte as it arrived; - for standard input
    file: PathBuf,
    /// A header as it arrived, NAME: VALUE; may be repeated
    #[arg(long = "header", value_name = "HEADER", value_parser = header_line)]
    headers: Vec<(String, String)>,
    /// File with such headers, one a line; a request line at its top is skipped
    #[arg(long = "headers", value_name = "FILE")]
    headers_file: Option<PathBuf>,
    #[command(flatten)]
    secrets: SecretArgs,
    /// How much the time of the delivery may differ from now
    #[arg(long, value_name = "SECONDS", default_value_t = TOLERANCE_S)]
    tolerance: u64,
    /// Accept a delivery of any age
    #[arg(long, conflicts_with = "tolerance")]
    no_tolerance: bool,
}

pub(super) fn run(flags: &Flags, out: &Output, args: &VerifyArgs) -> Done {
    let headers = headers(args)?;
    let secrets = secrets(flags, args)?;
    let body = input::bytes(&args.file)?;
    let tolerance_s = (!args.no_tolerance).then_some(args.tolerance);
    let checks = checks(&secrets, &headers, &body, tolerance_s);
    if checks.is_empty() {
        return Err(Failure::usage("the headers hold no signature").hint(
            "give webhook-id, webhook-timestamp and webhook-signature, or X-Webhook-Signature, \
             with --header or --headers",
        ));
    }
    show(out, &checks)?;
    let Some(fault) = checks.iter().find_map(|check| check.fault.as_ref()) else { return Ok(()) };
    if out.json {
        return Err(Failure::silent(Exit::Failed));
    }
    let hint = if fits_without_line_end(&secrets, &headers, &body) {
        "give the body as it arrived: the signature is right without the line end of the file"
    } else {
        fault.hint
    };
    Err(Failure::new(Exit::Failed, "the delivery is not genuine").hint(hint))
}

fn show(out: &Output, checks: &[Check]) -> Done {
    if out.json {
        let checks: Vec<_> = checks
            .iter()
            .map(|Check { header, fault }| {
                let fault = fault.as_ref();
                let (code, message) =
                    fault.map(|fault| (fault.code, fault.message.as_str())).unzip();
                json!({
                    "header": header,
                    "valid": fault.is_none(),
                    "code": code,
                    "message": message,
                })
            })
            .collect();
        let valid = checks.iter().all(|check| check["valid"] == true);
        return Ok(out.data(&json!({"valid": valid, "checks": checks}))?);
    }
    let row = |Check { header, fault }: &Check| {
        let why = fault
            .as_ref()
            .map_or_else(|| "ok".to_owned(), |fault| format!("wrong: {}", fault.message));
        (*header, why)
    };
    Ok(table::pairs(out, &checks.iter().map(row).collect::<Vec<_>>())?)
}

/// Whether the signatures fit once the line end is removed that editors add to a file.
fn fits_without_line_end(secrets: &[Secret], headers: &HeaderMap, body: &[u8]) -> bool {
    let Some(body) = body.strip_suffix(b"\n").map(|body| body.strip_suffix(b"\r").unwrap_or(body))
    else {
        return false;
    };
    checks(secrets, headers, body, None).iter().all(|check| check.fault.is_none())
}

fn headers(args: &VerifyArgs) -> Done<HeaderMap> {
    let mut given = args.headers.clone();
    if let Some(file) = &args.headers_file {
        given.extend(lines(file, &input::text(file)?)?);
    }
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let no_header = || {
            Failure::usage(format!("{name:?} is not a header"))
                .hint("write it as NAME: VALUE, as it arrived")
        };
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| no_header())?,
            HeaderValue::from_str(&value).map_err(|_| no_header())?,
        );
    }
    Ok(headers)
}

fn lines(file: &Path, text: &str) -> Done<Vec<(String, String)>> {
    let is_request_line = |at: usize, line: &str| at == 0 && line.contains(" HTTP/");
    let lines = text
        .lines()
        .map(str::trim)
        .enumerate()
        .filter(|(at, line)| !line.is_empty() && !is_request_line(*at, line));
    let read = |(at, line): (usize, &str)| {
        header_line(line)
            .map_err(|why| Failure::usage(format!("{}, line {}: {why}", file.display(), at + 1)))
    };
    lines.map(read).collect()
}

fn secrets(flags: &Flags, args: &VerifyArgs) -> Done<Vec<Secret>> {
    let given = args.secrets.given()?;
    if !given.is_empty() {
        return Ok(given);
    }
    prompt::expect_terminal(
        flags,
        "the secret",
        "--secret-file FILE, or CMS_WEBHOOK_SECRET in the environment",
    )?;
    let typed = prompt::secret("Secret: ")?;
    Ok(vec![checked(Secret::new(typed.expose().trim()), "the typed text")?])
}

const VARIABLE: &str = "CMS_WEBHOOK_SECRET";

/// Flags that tell where the secrets are.
#[derive(Args, Debug)]
pub(super) struct SecretArgs {
    /// File with the secret; with several while one replaces another, one a line. Without it:
    /// CMS_WEBHOOK_SECRET in the environment
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl SecretArgs {
    /// The given secrets; empty when none are given.
    pub(super) fn given(&self) -> Done<Vec<Secret>> {
        let (text, place) = match (&self.secret_file, environment::variable(VARIABLE)) {
            (Some(file), _) => (input::text(file)?, file.display().to_string()),
            (None, Some(text)) => (text, VARIABLE.to_owned()),
            (None, None) => return Ok(Vec::new()),
        };
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let secrets: Vec<Secret> =
            lines.map(|line| checked(Secret::new(line), &place)).collect::<Done<_>>()?;
        if secrets.is_empty() {
            return Err(no_secret(&place));
        }
        Ok(secrets)
    }
}

/// Returns the secret if its form is right.
fn checked(secret: Secret, place: &str) -> Done<Secret> {
    match standard_signature(secret.expose(), "", 0, b"") {
        Some(_) => Ok(secret),
        None => Err(no_secret(place)),
    }
}

/// Leaves the text out of the failure: it may be another secret.
fn no_secret(place: &str) -> Failure {
    Failure::usage(format!("{place} holds no secret of a subscription"))
        .hint("write it as cms webhooks create or rotate-secret printed it: whsec_ and base64")
}

const STANDARD: &str = "webhook-signature";
const SIMPLE: &str = "x-webhook-signature";

/// The check of one signature.
pub(super) struct Check {
    /// The header that holds it.
    header: &'static str,
    /// None when the signature is right.
    pub(super) fault: Option<Fault>,
}

/// What is wrong with a signature, and how to mend it.
pub(super) struct Fault {
    code: &'static str,
    pub(super) message: String,
    hint: &'static str,
}

/// Checks each signature header; one of the secrets must fit. Empty if the delivery has none.
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
