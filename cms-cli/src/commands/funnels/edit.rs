//! `cms funnels edit`: the funnel as JSON in an editor, checked before it is saved

use std::{io::Write as _, path::Path, process::Command};

use cms_core::funnels::{FunnelDetail, Saved, WhichFunnel};
use cms_http::{
    client::{Client, ClientError},
    wire::funnels::{MayName, Save},
};
use serde_json::{Value as Json, json};

use super::{export::pretty, get, warned};
use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output},
    prompt, reply,
};

pub(super) async fn run(
    flags: &Flags,
    out: &Output,
    client: &Client,
    funnel: &str,
    file: Option<&Path>,
) -> Done {
    let found = get(client, funnel).await?;
    if let Some(file) = file {
        let saved = read(&input::text(file)?, &found)
            .map_err(|why| Failure::usage(format!("{}: {why}", file.display())))?;
        return save(out, client, saved).await;
    }
    prompt::expect_terminal(flags, "an editor", "a file behind the funnel")?;
    let text = pretty(&editable(&found)?)?;
    let mut draft = tempfile::Builder::new().prefix("funnel-").suffix(".json").tempfile()?;
    draft.write_all(text.as_bytes())?;
    draft.flush()?;
    loop {
        open(draft.path())?;
        let edited = std::fs::read_to_string(draft.path())?;
        if edited == text {
            out.note("Nothing was changed.");
            return Ok(());
        }
        let refused = match read(&edited, &found) {
            Err(why) => why,
            Ok(saved) => match tried(client, &saved).await {
                Ok(()) => return save(out, client, saved).await,
                Err(ClientError::Problem { code, detail, document, .. })
                    if code == "validation_failed" =>
                {
                    let told = document["errors"].as_array().cloned().unwrap_or_default();
                    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
                    let line = |one: &Json| {
                        format!("\n  {}: {}", text(&one["field"]), text(&one["message"]))
                    };
                    detail + &told.iter().map(line).collect::<String>()
                }
                Err(error) => return Err(kept(draft, Failure::from(error))),
            },
        };
        out.note(&refused);
        let again = prompt::ask("Edit again? [Y/n] ")?.to_lowercase();
        if !matches!(again.as_str(), "" | "y" | "yes") {
            return Err(kept(
                draft,
                Failure::new(Exit::Cancelled, "cancelled; nothing was changed"),
            ));
        }
    }
}

/// What was edited is not lost.
fn kept(draft: tempfile::NamedTempFile, failure: Failure) -> Failure {
    match draft.keep() {
        Ok((_, path)) => failure.hint(format!("what you wrote is in {}", path.display())),
        Err(_) => failure,
    }
}

/// The funnel as a save takes it.
pub(super) fn editable(funnel: &FunnelDetail) -> Done<Json> {
    let Json::Object(mut members) = serde_json::to_value(funnel).map_err(Failure::unexpected)?
    else {
        return Err(Failure::unexpected("it holds no funnel"));
    };
    let mut part = |name: &str| members.remove(name).unwrap_or_default();
    let [rev, nodes, edges, rules] = ["rev", "nodes", "edges", "email_routings"].map(&mut part);
    for name in ["id", "version", "published_at", "created_at", "updated_at"] {
        members.remove(name);
    }
    let mut nodes = nodes;
    for node in nodes.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
        let id = node.remove("id").unwrap_or_default();
        node.insert("client_id".to_owned(), id);
    }
    Ok(json!({
        "rev": rev, "funnel": members, "nodes": nodes, "edges": edges, "email_routings": rules,
    }))
}

/// What was written, as a save of this funnel. Without a `rev` it is of the state that was read.
pub(super) fn read(text: &str, found: &FunnelDetail) -> Result<Saved, String> {
    let mut saved: Saved = serde_json::from_str(text).map_err(|why| why.to_string())?;
    saved.id = Some(WhichFunnel::Id(found.funnel.id));
    saved.rev = saved.rev.or(Some(found.funnel.rev));
    Ok(saved)
}

async fn tried(client: &Client, saved: &Saved) -> Result<(), ClientError> {
    let tried = Saved { dry_run: true, ..saved.clone() };
    client.call::<Save>(&MayName::default(), &tried).await.map(drop)
}

async fn save(out: &Output, client: &Client, saved: Saved) -> Done {
    let (answer, done) = reply::call::<Save>(client, &MayName::default(), &saved).await?;
    if !out.json {
        warned(out, &done.data.warnings);
    }
    let note = format!(
        "The funnel {} is saved. Visitors see it when it is published: cms funnels publish {}",
        done.data.id, done.data.id
    );
    super::done(out, &answer.body, &note)
}

/// Opens the file in $VISUAL or $EDITOR, which may have arguments, and waits.
fn open(path: &Path) -> Done {
    let named = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|text| !text.trim().is_empty()));
    let editor = named.unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let ended = Command::new(program).args(words).arg(path).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(Exit::Failed, format!("{program} ended with {status}"))),
        Err(why) => Err(Failure::new(Exit::Failed, format!("{program}: {why}")).hint("set EDITOR")),
    }
}
