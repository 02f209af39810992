//! New recovery codes, which a reply shows once.

use std::path::PathBuf;

use cms_http::{
    client::Client,
    wire::{Data, Operation, users::RecoveryCodes},
};
use serde_json::json;

use super::call;
use crate::output::{Done, Output, SecretFile};

/// Makes new codes for the user, and writes them into a new file or prints them.
pub(crate) async fn renew<O: Operation<Reply = Data<RecoveryCodes>>>(
    out: &Output,
    client: &Client,
    (query, body): (&O::Query, &O::Body),
    file: Option<PathBuf>,
    (id, user): &(i64, String),
) -> Done {
    let file = file.map(SecretFile::reserve).transpose()?;
    let (answer, codes) = match call::<O>(client, query, body).await {
        Ok((answer, reply)) => (answer, reply.data.recovery_codes),
        Err(failure) => return Err(SecretFile::given_up(file, failure)),
    };
    if let Some(mut file) = file {
        file.write(&codes)?;
        out.note(&format!(
            "The recovery codes of {user} are in {}; they are shown nowhere else.",
            file.path().display()
        ));
        return if out.json { Ok(out.data(&json!({"user": id}))?) } else { Ok(()) };
    }
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    out.note(&format!("Recovery codes of {user}, shown this once; each works once."));
    Ok(out.raw(&codes.iter().map(|code| format!("{code}\n")).collect::<String>())?)
}
