//! `cms inbox erase`

use std::collections::BTreeMap;

use cms_core::erasure::EraseReceipt;
use cms_http::{
    client::Client,
    wire::{
        inbox::{AskedErasure, Erase},
        parameters::NoQuery,
    },
};

use crate::{
    flags::Flags,
    output::{Done, Output},
    prompt, reply,
};

pub(super) async fn run(
    flags: &Flags,
    out: &Output,
    client: &Client,
    email: String,
    dry_run: bool,
) -> Done {
    if !dry_run {
        let what = format!("Erase everything that was sent as {email}, for good?");
        prompt::confirm(flags, &what)?;
    }
    let asked = AskedErasure { email, dry_run };
    let (answer, done) = reply::call::<Erase>(client, &NoQuery {}, &asked).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    for line in lines(&done.data) {
        out.line(&line)?;
    }
    Ok(())
}

/// The receipt for people, a fact a line.
fn lines(receipt: &EraseReceipt) -> Vec<String> {
    let (goes, went) = if receipt.dry_run { ("would go", "looked") } else { ("gone", "erased") };
    let by = format!("{went} {} by {}", receipt.erased_at, receipt.erased_by);
    let mut lines = vec![by, format!("digest {}", receipt.digest)];
    for (kind, rows) in receipt.removed.iter().flatten() {
        let more = if rows.ids.len() as u64 == rows.count { "" } else { " ..." };
        lines.push(format!("{goes}: {} {kind} {}{more}", rows.count, rows.ids.join(" ")));
    }
    if receipt.removed.as_ref().is_some_and(BTreeMap::is_empty) {
        lines.push("nothing holds this address".to_owned());
    }
    if !receipt.dry_run {
        lines.push(format!("database: {}", receipt.database));
    }
    lines.extend(receipt.copies.iter().flatten().map(|file| format!("still held by: {file}")));
    lines.extend(receipt.unread.iter().flatten().map(|file| format!("not looked into: {file}")));
    lines
}
