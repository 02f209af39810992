//! Funnels: the list, what can be done with them, and their nodes, edges and conditions in words.
//!
//! ```text
//! graph  the screen of one: nodes to walk through, counts on its edges, what is wrong with it
//! lanes  how a graph is drawn
//! ```

mod graph;
mod lanes;

use cms_http::wire::funnels::{
    Create, Delete, Deletion, Duplicate, Duplicated, Get, List, MayName, OneFunnel, Publication,
    Publish, Save, WhichFunnel, WhichFunnels,
};

pub(super) use graph::Graph;

use super::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    detail: Some(|row, _| whole(row)),
    preview: |row, detail, _, now| preview(row, detail, now),
    tokens: Some(|_| TOKENS.to_owned()),
    open: Some(|row, _| Step::Open(Place::about("funnel", row))),
    empty: "No funnel yet: n makes one.",
    sorts: sorted::<List>,
    ..Spec::new("funnels", |_| "Funnels".to_owned(), columns, list, act)
};

const TOKENS: &str = "status:published (draft archived) lang:de TEXT";

/// A funnel as it is drawn.
fn whole(row: &Json) -> Result<Calling, Fault> {
    get::<Get>(&OneFunnel { id: acts::id(row).to_string() })
}

/// Of all languages, unless the filter names one. The first word that is a state is one, unless a
/// token names the state; other words are searched for.
fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let mut which = WhichFunnels {
        language: Some("*".to_owned()),
        list: asked.page(),
        ..WhichFunnels::default()
    };
    let state = |value: &str| serde_json::from_value(value.into());
    let (pieces, mut texts) = (pieces(asked.filter), Vec::new());
    for piece in &pieces {
        match piece.word() {
            Word::Token("lang", value) => which.language = Some(value.to_owned()),
            Word::Token("status", value) => {
                which.status = Some(state(value).map_err(|_| unknown(value, TOKENS))?);
            }
            Word::Text(value) => texts.push(value),
            Word::Token(name, _) => return Err(unknown(name, TOKENS)),
        }
    }
    let mut searched = Vec::new();
    for value in texts {
        match state(value) {
            Ok(status) if which.status.is_none() => which.status = Some(status),
            _ => searched.push(value),
        }
    }
    which.list.search = Some(searched.join(" ")).filter(|searched| !searched.is_empty());
    get::<List>(&which)
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NAME", "name", 0, plain),
        column("SLUG", "slug", 0, plain),
        column("LANG", "language_short", 4, plain),
        column("STATE", "status", 14, state),
        column("SAVED", "updated_at", 6, age),
    ]
}

fn state(row: &Json, name: &str, _: i64) -> Cell {
    let version = row["version"].as_i64().map(|version| format!(" {version}")).unwrap_or_default();
    match row[name].as_str() {
        Some("published") => (format!("● published{version}"), Role::Good),
        Some("draft") => ("○ draft".to_owned(), Role::Warn),
        other => (format!("⊘ {}", other.unwrap_or_default()), Role::Quiet),
    }
}

fn preview(row: &Json, detail: Option<&Json>, now: i64) -> Lines {
    let (said, role) = state(row, "status", now);
    let mut lines = vec![(role, said)];
    lines.extend(members(row, &[("Published", "published_at"), ("Saved", "updated_at")], now));
    let kept = match (row["save_abandoned"].as_i64(), row["abandon_after_min"].as_i64()) {
        (Some(1), Some(minutes)) => format!("abandoned after {minutes} minutes of rest"),
        _ => "visits that end early are not marked".to_owned(),
    };
    lines.push((Role::Plain, format!("{:<12} {kept}", "Visits")));
    let Some(detail) = detail else {
        lines.push(loading());
        return lines;
    };
    lines.push((Role::Title, "Nodes".to_owned()));
    for node in graph::drawn(detail) {
        lines.push((Role::Plain, node));
    }
    for (at, rule) in items(&detail["email_routings"]).iter().enumerate() {
        if at == 0 {
            lines.push((Role::Title, "Mail rules".to_owned()));
        }
        lines.push((Role::Plain, mail_rule(rule)));
    }
    lines
}

fn name(row: &Json) -> String {
    plain_text(&row["name"])
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "graph" => Step::Open(Place::about("funnel", &row)),
        "new" => new(),
        _ => shared(verb, &row),
    }
}

/// Acts that the list and the screen of one funnel share.
fn shared(verb: &str, funnel: &Json) -> Step {
    match verb {
        "show" => whole(funnel).view(format!("Funnel {}", name(funnel))),
        "inbox" => Step::Open(Place::of("inbox").filtered(format!("funnel:{}", acts::id(funnel)))),
        "analytics" => Step::Open(Place::about("analytics", funnel)),
        "check" => check(funnel),
        "publish" => publish(funnel.clone()),
        "archive" => archive(funnel.clone()),
        "duplicate" => duplicate(funnel),
        "delete" => delete(funnel.clone()),
        _ => Step::None,
    }
}

/// An empty draft.
fn new() -> Step {
    let fields = vec![
        Field::text("name", "Name", "").hint("such as Lead funnel").required(),
        Field::text("slug", "Slug", "").hint("for addresses; made from the name when it is empty"),
    ];
    let note = "It begins as an empty draft. cms funnels edit draws its steps.";
    Form::new("A new funnel", fields, make).note(note).step()
}

fn make(values: &Values) -> Step {
    let mut funnel = json!({"name": values.text("name")});
    let slug = values.text("slug");
    if !slug.trim().is_empty() {
        funnel["slug"] = slug.trim().into();
    }
    send_json::<Create>(&NoQuery {}, funnel).then(|reply| {
        let (name, slug) = (name(&reply.data), plain_text(&reply.data["slug"]));
        Step::did(format!("{name} is made as a draft: cms funnels edit {slug} draws it"))
    })
}

fn which(funnel: &Json) -> Option<WhichFunnel> {
    Some(WhichFunnel::Id(acts::id(funnel)))
}

fn publication(funnel: &Json, rev: Option<i64>) -> Publication {
    Publication { id: which(funnel), rev, strict: false, dry_run: false }
}

/// Checks whether the funnel could be published. Stores nothing.
fn judging(funnel: &Json) -> Result<Calling, Fault> {
    let body = Publication { dry_run: true, ..publication(funnel, None) };
    send::<Publish>(&MayName::default(), &body)
}

/// All problems and warnings: whether each prevents publishing, where it is, and what it says.
fn problems(judged: &Result<Reply, Fault>) -> Vec<(bool, String, Option<i64>, String)> {
    match judged {
        Ok(reply) => {
            let warnings = items(&reply.data["warnings"]).iter();
            let one = |one: &Json| {
                let [path, message] = ["path", "message"].map(|name| plain_text(&one[name]));
                (false, path, one["node"].as_i64(), message)
            };
            warnings.map(one).collect()
        }
        Err(fault) => {
            let one = |one: &cms_http::wire::FieldProblem| {
                (true, one.field.clone(), None, one.message.clone())
            };
            fault.errors.iter().map(one).collect()
        }
    }
}

fn check(funnel: &Json) -> Step {
    let title = format!("Check of {}", name(funnel));
    judging(funnel).ending(move |judged| match &judged {
        Err(fault) if fault.code != "not_publishable" => Step::Fault(fault.clone()),
        _ => Step::View(Viewer::new(title, problem_lines(&judged))),
    })
}

fn problem_lines(judged: &Result<Reply, Fault>) -> Lines {
    let found = problems(judged);
    let refused = found.iter().filter(|(is_bad, ..)| *is_bad).count();
    let mut lines = vec![match (refused, found.len()) {
        (0, 0) => (Role::Good, "✓ It can be published.".to_owned()),
        (0, n) => (Role::Good, format!("✓ It can be published: {}.", count(n, "warning"))),
        (n, _) => (Role::Bad, format!("✗ It cannot be published: {}.", count(n, "problem"))),
    }];
    for (is_bad, path, _, message) in found {
        let (sign, role) = if is_bad { ("✗", Role::Bad) } else { ("◐", Role::Warn) };
        lines.push((role, format!("{sign} {path}")));
        lines.extend(paragraph(Role::Plain, "    ", &message, 74));
    }
    lines
}

/// Publishes the funnel only in the state that its author has seen.
fn publish(funnel: Json) -> Step {
    let text = format!(
        "Publish {}? New visits begin with it as it is drawn; those under way keep their version.",
        name(&funnel)
    );
    Step::Confirm(Confirm::new(text, move || {
        let body = publication(&funnel, funnel["rev"].as_i64());
        send::<Publish>(&MayName::default(), &body).ending(move |outcome| match outcome {
            Ok(reply) => {
                let version = plain_text(&reply.data["version"]);
                Step::did(format!("{} is published as version {version}", name(&funnel)))
            }
            Err(fault) if fault.code == "not_publishable" => {
                let title = format!("Check of {}", name(&funnel));
                Step::View(Viewer::new(title, problem_lines(&Err(fault))))
            }
            Err(fault) => Step::Fault(moved(fault)),
        })
    }))
}

/// The message for a funnel that somebody has saved since.
fn moved(fault: Fault) -> Fault {
    match fault.code.as_str() {
        "rev_conflict" => Fault {
            detail: "Somebody has saved it since: look again (F5). Nothing was done.".to_owned(),
            ..fault
        },
        _ => fault,
    }
}

fn archive(funnel: Json) -> Step {
    let text =
        format!("Archive {}? No visit begins any more; those under way go on.", name(&funnel));
    Step::Confirm(Confirm::new(text, move || {
        let funnel_id = acts::id(&funnel);
        let body = json!({"id": funnel_id, "rev": funnel["rev"], "funnel": {"status": "archived"}});
        ended(
            send_json::<Save>(&MayName::default(), body),
            format!("{} is archived", name(&funnel)),
        )
    }))
}

fn duplicate(funnel: &Json) -> Step {
    let body = Duplicated { id: which(funnel), ..Duplicated::default() };
    ended(
        send::<Duplicate>(&MayName::default(), &body),
        format!("{} is copied; the copy is a draft", name(funnel)),
    )
}

fn delete(funnel: Json) -> Step {
    let text = format!(
        "Delete {} for good, with all that visitors sent through it? This cannot be taken back.",
        name(&funnel)
    );
    let typed = plain_text(&funnel["slug"]);
    let ask = Confirm::new(text, move || {
        let body = Deletion { id: which(&funnel), rev: funnel["rev"].as_i64() };
        ended(send::<Delete>(&MayName::default(), &body), format!("{} is deleted", name(&funnel)))
    });
    Step::Confirm(ask.typing(typed))
}

fn ended(call: Result<Calling, Fault>, done: String) -> Step {
    call.ending(move |outcome| match outcome {
        Ok(_) => Step::did(done),
        Err(fault) => Step::Fault(moved(fault)),
    })
}

/// Nested groups of conditions that are told; none that is stored is deeper.
const DEEPEST: usize = 8;

/// The sign of a node.
fn sign(node: &Json) -> char {
    match node["type"].as_str() {
        Some("step") => '■',
        Some("condition") => '◆',
        _ => '●',
    }
}

/// A condition as people read it.
fn condition(of: &Json, depth: usize) -> String {
    let list = |name: &str| items(&of[name]);
    let rule = |rule: &Json| {
        let value = rule.get("value").map(|value| format!(" {value}")).unwrap_or_default();
        let op = plain_text(&rule["op"]).replace('_', " ");
        format!("{} {op}{value}", plain_text(&rule["field"]))
    };
    let groups = if depth < DEEPEST { list("groups") } else { &[] };
    let groups = groups.iter().map(|group| format!("({})", condition(group, depth + 1)));
    let parts: Vec<_> = list("rules").iter().map(rule).chain(groups).collect();
    let joint = if of["operator"] == "OR" { " or " } else { " and " };
    if parts.is_empty() { "always".to_owned() } else { parts.join(joint) }
}

/// What a branch is called.
fn branch(edge: &Json) -> &'static str {
    match edge["branch_label"].as_str() {
        Some("true") => "yes",
        Some("false") => "no",
        _ => "",
    }
}

/// What a step asks, what a condition reads, how an end ends.
fn about(node: &Json, cells: usize) -> Lines {
    let config = &node["config_json"];
    let plain = |line: String| (Role::Plain, line);
    match node["type"].as_str() {
        Some("step") => {
            let fields = items(&config["fields"]).iter();
            let line = |field: &Json| {
                let [id, kind, label] =
                    ["id", "type", "label"].map(|name| plain_text(&field[name]));
                let needed = if field["required"] == true { " *" } else { "" };
                plain(format!("{id:<16} {kind:<14} {label}{needed}"))
            };
            fields.map(line).collect()
        }
        Some("condition") => {
            let said = condition(&config["rules"], 0);
            paragraph(Role::Plain, "", &safe(&said), cells)
        }
        _ => {
            let kind = config.get("end_kind").or(config.get("kind")).map(plain_text);
            let kind = kind.filter(|kind| !kind.is_empty()).unwrap_or("thank_you".to_owned());
            let mut lines = vec![plain(kind.replace('_', " "))];
            let to = plain_text(&config["redirect_url"]);
            lines.extend((!to.is_empty()).then(|| plain(format!("leads to {to}"))));
            lines
        }
    }
}

/// A mail rule in a line.
fn mail_rule(rule: &Json) -> String {
    let when = match &rule["condition_json"] {
        Json::Null => "always".to_owned(),
        of => condition(of, 0),
    };
    let off = if rule["is_active"] == 0 { ", off" } else { "" };
    let reply = if rule["auto_reply_enabled"] == 0 { "" } else { ", with a reply" };
    let trigger = plain_text(&rule["trigger_event"]);
    format!("✉ {trigger}, {when}: {}{reply}{off}", plain_text(&rule["recipients"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_state_or_is_searched_for() {
        let line = |filter: &str| SPEC.asks(&Json::Null, filter);
        let table: [(&str, &[&str], &str); 4] = [
            ("", &["language=%2A"], "search"),
            ("lang:de draft", &["language=de", "status=draft"], "search"),
            ("status:archived my bike", &["status=archived", "search=my%20bike"], "draft"),
            ("draft status:published", &["status=published", "search=draft"], "status=draft"),
        ];
        for (filter, asks, other) in table {
            let asked = line(filter).expect("a call");
            assert!(asks.iter().all(|ask| asked.contains(ask)), "{filter}: {asked}");
            assert!(!asked.contains(other), "{filter}: {asked}");
        }
        for wrong in ["status:gone", "colour:red"] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }
}
