//! `cms funnels edit` opens a funnel as JSON in an editor, and checks it before it is saved;
//! `export` writes it without the ids of its site, always as the same text, and `apply` takes that

use std::{collections::HashMap, io::Write as _, path::Path, process::Command};

use cms_core::funnels::{FunnelDetail, FunnelNode, NewFunnel, Saved, WhichFunnel};
use cms_http::{
    client::{Client, ClientError},
    wire::{
        FieldProblem, NoBody, Problem,
        funnels::{List, MayName, Save, WhichFunnels},
    },
};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::{create, get, warned};
use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output, WholeFile},
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
                    let told = serde_json::from_value(document);
                    let errors = told.map_or_else(|_| Vec::new(), |told: Problem| told.errors);
                    let line =
                        |error: &FieldProblem| format!("\n  {}: {}", error.field, error.message);
                    detail + &errors.iter().map(line).collect::<String>()
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

/// Keeps the edited file, and names it in the failure.
fn kept(draft: tempfile::NamedTempFile, failure: Failure) -> Failure {
    match draft.keep() {
        Ok((_, path)) => failure.hint(format!("what you wrote is in {}", path.display())),
        Err(_) => failure,
    }
}

/// The funnel in the form that a save takes. JSON, not a type: a person edits it, and a save
/// takes only the members that are there.
pub(super) fn editable(found: &FunnelDetail) -> Done<Json> {
    let FunnelDetail { funnel, nodes, edges, email_routings, .. } = found;
    let mut members = object(funnel)?;
    for name in ["id", "rev", "version", "published_at", "created_at", "updated_at"] {
        members.remove(name);
    }
    let mut drawn = Vec::with_capacity(nodes.len());
    for node in nodes {
        let mut members = object(node)?;
        members.remove("id");
        members.insert("client_id".to_owned(), node.id.into());
        drawn.push(members);
    }
    Ok(json!({
        "rev": funnel.rev, "funnel": members, "nodes": drawn, "edges": edges,
        "email_routings": email_routings,
    }))
}

/// The members of a value by their names.
fn object(part: &impl Serialize) -> Done<Map<String, Json>> {
    let json = serde_json::to_value(part).and_then(serde_json::from_value);
    json.map_err(Failure::unexpected)
}

/// Reads the edited text as a save of this funnel. Without a `rev`, it counts as an edit of the
/// state that was read.
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
    let id = done.data.id;
    let note = match saved.dry_run {
        true => format!("The funnel {id} stays as it is."),
        false => format!(
            "The funnel {id} is saved. Mail rules count at once; visitors see the rest after: cms \
             funnels publish {id}"
        ),
    };
    out.told(&answer.body, &note)
}

/// Opens the file in `$VISUAL` or `$EDITOR`, which may have arguments, and waits for its end.
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

/// Members of a funnel that belong to its site.
const OF_SITE: [&str; 8] =
    ["id", "base_id", "rev", "status", "version", "published_at", "created_at", "updated_at"];

pub(super) fn export(out: &Output, funnel: &FunnelDetail, file: Option<&Path>) -> Done {
    let exported = exported(funnel)?;
    if file.is_none() && out.json {
        return Ok(out.data(&exported)?);
    }
    let text = pretty(&exported)?;
    let Some(path) = file else { return Ok(out.line(&text)?) };
    let mut file = WholeFile::create(path)?;
    writeln!(file, "{text}")?;
    file.done()?;
    let slug = &funnel.funnel.slug;
    let note = format!("The funnel {slug} is in {}.", path.display());
    out.done(&json!({"funnel": slug, "file": path}), &note)
}

fn pretty(json: &Json) -> Done<String> {
    serde_json::to_string_pretty(json).map_err(Failure::unexpected)
}

/// Nodes are numbered -1, -2, … in their order; edges and mail rules have no ids.
pub(super) fn exported(funnel: &FunnelDetail) -> Done<Json> {
    let numbers: HashMap<i64, i64> =
        funnel.nodes.iter().zip(1..).map(|(node, number)| (node.id, -number)).collect();
    let new = |id: &Json| {
        id.as_i64().and_then(|id| numbers.get(&id)).map_or(Json::Null, |id| (*id).into())
    };
    let Json::Object(mut members) = serde_json::to_value(funnel).map_err(Failure::unexpected)?
    else {
        return Err(Failure::unexpected("it holds no funnel"));
    };
    for name in OF_SITE {
        members.remove(name);
    }
    if let Some(start) = members.get_mut("start_node_id") {
        *start = new(start);
    }
    each(&mut members, "nodes", |node| {
        let id = node.remove("id").unwrap_or_default();
        node.insert("client_id".to_owned(), new(&id));
    });
    each(&mut members, "edges", |edge| {
        edge.remove("id");
        for end in ["from_node_id", "to_node_id"] {
            let id = edge.get(end).map(new).unwrap_or_default();
            edge.insert(end.to_owned(), id);
        }
    });
    each(&mut members, "email_routings", |rule| drop(rule.remove("id")));
    Ok(Json::Object(members))
}

fn each(members: &mut Map<String, Json>, name: &str, change: impl Fn(&mut Map<String, Json>)) {
    let list = members.get_mut(name).and_then(Json::as_array_mut);
    list.into_iter().flatten().filter_map(Json::as_object_mut).for_each(change);
}

/// Reads a file that [`export`] wrote. Drops ids of mail rules, which an edited file may have: they
/// belong to its site.
pub(super) fn exported_in(file: &Path) -> Done<NewFunnel> {
    let mut members = input::object(file)?;
    each(&mut members, "email_routings", |rule| drop(rule.remove("id")));
    serde_json::from_value(Json::Object(members))
        .map_err(|why| Failure::usage(format!("{}: {why}", file.display())))
}

/// Saves an exported funnel over the funnel of its slug and language, or makes it.
pub(super) async fn apply(out: &Output, client: &Client, file: &Path) -> Done {
    let new = exported_in(file)?;
    let text = |name: &str| new.members.get(name).and_then(Json::as_str);
    let slug = text("slug")
        .ok_or_else(|| Failure::usage(format!("{}: slug is missing", file.display())))?;
    let mut asked = WhichFunnels { language: Some("*".to_owned()), ..WhichFunnels::default() };
    let language = text("language_short").unwrap_or_default();
    for (column, value) in [("slug", slug), ("language_short", language)] {
        asked.list.filters.insert(format!("filter[{column}]"), value.to_owned());
    }
    let (_, found) = reply::call::<List>(client, &asked, &NoBody).await?;
    // The filter finds `de` and `DE`.
    let exact = found.data.iter().find(|one| one.language_short == language);
    match exact.or(found.data.first()) {
        None => create(out, client, new).await,
        Some(found) => {
            let found = get(client, &found.id.to_string()).await?;
            // An unchanged funnel is only checked, so that it keeps its `rev`.
            let dry_run = is_unchanged(&found, &new)?;
            save(out, client, Saved { dry_run, ..over(&found, new) }).await
        }
    }
}

/// Whether the given funnel equals an export of the stored one.
fn is_unchanged(found: &FunnelDetail, new: &NewFunnel) -> Done<bool> {
    let mut stored = exported(found)?;
    stored["strict"] = new.strict.into();
    Ok(serde_json::to_value(new).map_err(Failure::unexpected)? == stored)
}

/// A save after which the stored funnel equals the given one. A node keeps the id, and with it the
/// statistics, of a stored node of its type and name; a mail rule keeps the id of a stored rule of
/// its event and subject.
fn over(found: &FunnelDetail, new: NewFunnel) -> Saved {
    let NewFunnel { mut members, mut nodes, mut edges, mut email_routings, strict, .. } = new;
    let (mut left, mut ids) = (Vec::from_iter(&found.nodes), HashMap::new());
    for node in &nodes {
        let same = |known: &&FunnelNode| node["type"] == known.kind && node["name"] == known.name;
        if let (Some(sent), Some(at)) = (node["client_id"].as_i64(), left.iter().position(same)) {
            ids.insert(sent, left.remove(at).id);
        }
    }
    let put = |part: &mut Map<String, Json>, name: &str| {
        if let Some(id) = part.get(name).and_then(Json::as_i64).and_then(|sent| ids.get(&sent)) {
            part.insert(name.to_owned(), (*id).into());
        }
    };
    put(&mut members, "start_node_id");
    nodes.iter_mut().filter_map(Json::as_object_mut).for_each(|node| put(node, "client_id"));
    for edge in edges.iter_mut().filter_map(Json::as_object_mut) {
        put(edge, "from_node_id");
        put(edge, "to_node_id");
    }
    let mut left = Vec::from_iter(&found.email_routings);
    for rule in email_routings.iter_mut().filter_map(Json::as_object_mut) {
        let text = |name: &str| rule.get(name).and_then(Json::as_str);
        let event = text("trigger_event").unwrap_or("completed");
        let subject = text("subject").unwrap_or_default();
        let same = left.iter().position(|at| at.trigger_event == event && at.subject == subject);
        if let Some(at) = same {
            rule.insert("id".to_owned(), left.remove(at).id.into());
        }
    }
    Saved {
        id: Some(WhichFunnel::Id(found.funnel.id)),
        rev: Some(found.funnel.rev),
        funnel: members,
        nodes: Some(nodes),
        edges: Some(edges),
        email_routings: Some(email_routings),
        strict,
        dry_run: false,
    }
}
