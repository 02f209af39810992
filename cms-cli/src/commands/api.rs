//! `cms api`: calls any endpoint, and prints its reply as it is

use std::{io::Write as _, path::PathBuf, time::Duration};

use clap::Args;
use cms_http::client::{Ask, Client, ClientError};
use futures_util::StreamExt as _;

use crate::{
    flags::Flags,
    input,
    output::{Done, Failure, Output, Visible},
    site,
};

/// How often a call is repeated after the limiter has refused it.
const WAITS: u32 = 5;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms api GET '/api/backend/item?table=blog&limit=5' | jq '.data[].title'
  echo '{\"name\":\"Ada\"}' | cms api POST '/api/backend/item?table=authors' -
  cms api GET /api/openapi.json --context prod > openapi.json

Nobody needs to be logged in for what everybody may read.

The body of the reply goes to standard output as it comes. A refusal goes to standard error as a
problem document, and the exit code says what it means: cms help exit-codes")]
pub(crate) struct ApiArgs {
    /// Method, such as GET, POST, PATCH or DELETE
    method: String,
    /// Path and query, percent-encoded
    path: String,
    /// File with the body, which is JSON; - for standard input
    file: Option<PathBuf>,
    /// Only if the record still has this entity tag
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
}

pub(crate) async fn run(flags: &Flags, out: &Output, args: ApiArgs) -> Done {
    let ask = Ask::raw(&args.method.to_uppercase(), &args.path)
        .map_err(|why| Failure::usage(why.to_string()))?
        .if_match(args.if_match);
    let ask = match &args.file {
        Some(file) => ask.text(input::text(file)?),
        None => ask,
    };
    site::with_anybody(flags, out, async |site| call(out, &site.client, &ask).await).await
}

async fn call(out: &Output, client: &Client, ask: &Ask) -> Done {
    let mut waits = 0;
    let mut parts = loop {
        let error = match client.stream(ask).await {
            Ok(parts) => break parts,
            Err(error) => error,
        };
        match error.come_again().filter(|_| waits < WAITS) {
            Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
            None => return Err(refused(out, error)),
        }
        waits += 1;
    };
    let (mut to, mut last) = (Visible::stdout(out), b'\n');
    while let Some(part) = parts.next().await {
        let part = part?;
        to.write_all(&part)?;
        to.flush()?;
        last = part.last().copied().unwrap_or(last);
    }
    if out.table && last != b'\n' {
        writeln!(to)?;
    }
    Ok(to.flush()?)
}

/// Prints the problem document of a refusal, with `--json` or without.
fn refused(out: &Output, error: ClientError) -> Failure {
    let is_refusal = matches!(error, ClientError::Problem { .. });
    let failure = Failure::from(error);
    if !is_refusal {
        return failure;
    }
    out.always(&failure.document().to_string());
    Failure::silent(failure.exit)
}
