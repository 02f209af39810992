//! The links that show the draft of a page without a login: for whom, until when. One is made for a
//! while, and can be taken back.

use cms_http::wire::pagebuilder::{LinkFor, Links, MakeLink, MayName, Unlink, WhichLinks};

use super::{address, page_id, who, wording::WIDE};
use crate::screens::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    preview: |row, _, _, now| preview(row, now),
    empty: "No link shows this draft: n makes one.",
    ..Spec::new("links", title, columns, list, act)
};

fn title(page: &Json) -> String {
    format!("Links to the draft of {}", address(page))
}

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    get::<Links>(&WhichLinks {
        page_id: page_id(asked.subject),
        limit: Limit(PAGE),
        cursor: asked.cursor.clone(),
        count: None,
    })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("FOR", "note", 0, |row, _, _| whom(row)),
        column("BY", "actor", 12, who),
        column("MADE", "created_at", 6, age),
        column("UNTIL (UTC)", "expires_at", 16, |row, name, _| {
            (row[name].as_str().map(moment::minute).unwrap_or_default(), Role::Plain)
        }),
        column("ENDS", "expires_at", 7, age),
    ]
}

fn whom(row: &Json) -> Cell {
    match plain_text(&row["note"]) {
        note if note.is_empty() => ("(not said)".to_owned(), Role::Quiet),
        note => (note, Role::Plain),
    }
}

fn preview(row: &Json, now: i64) -> Lines {
    let mut lines = vec![(Role::Title, whom(row).0)];
    lines.extend(members(row, &[("Made", "created_at"), ("Ends", "expires_at")], now));
    lines.push((Role::Plain, format!("{:<12} {}", "By", who(row, "actor", now).0)));
    let kept = "The address is not stored. If somebody loses it, make a new link (n).";
    lines.push((Role::Quiet, kept.to_owned()));
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    match verb {
        "new" => make_link(&scene.subject),
        "delete" => take_back(&scene.row.cloned().unwrap_or_default()),
        _ => Step::None,
    }
}

fn take_back(row: &Json) -> Step {
    let said = match plain_text(&row["note"]) {
        note if note.is_empty() => format!("link {}", acts::id(row)),
        note => format!("the link for {note}"),
    };
    let text = format!("Take back {said}? People with this link can no longer see the draft.");
    let which = acts::by_id(row);
    Step::Confirm(Confirm::new(text, move || {
        get::<Unlink>(&which).did(format!("{said} is taken back"))
    }))
}

/// For how long, and in seconds.
const TTLS: [(&str, i64); 4] =
    [("1 hour", 3_600), ("1 day", 86_400), ("7 days", 604_800), ("30 days", 2_592_000)];

/// Asks for whom and for how long, then shows the link.
pub(super) fn make_link(page: &Json) -> Step {
    let page = page.clone();
    let hint = "for those who see the list of links; may stay empty";
    let fields = vec![
        Field::text("note", "For whom", "").hint(hint),
        Field::one("ttl_s", "For how long", &TTLS.map(|(label, _)| label), 1),
    ];
    let title = format!("A link to the draft of {}", address(&page));
    let note = "Who has it may read the draft without a login; w lists links and takes them back.";
    Form::new(title, fields, move |values| make(&page, values)).note(note).step()
}

fn make(page: &Json, values: &Values) -> Step {
    let chosen = values.text("ttl_s");
    let ttl_s = TTLS.iter().find(|(label, _)| *label == chosen).map(|(_, seconds)| *seconds);
    let note = Some(values.text("note")).filter(|note| !note.trim().is_empty());
    let body = LinkFor { page_id: Some(page_id(page)), ttl_s, note };
    let title = format!("The draft of {}", address(page));
    // The list of links has one more.
    send::<MakeLink>(&MayName::default(), &body).then(move |reply| {
        Step::Several(vec![Step::View(shown(title, &reply.data)), Step::Refresh])
    })
}

fn shown(title: String, link: &Json) -> Viewer {
    let url = plain_text(&link["url"]);
    let until = plain_text(&link["expires_at"]);
    let text = format!(
        "{}\n\nWho has it may read the draft until {until}, without a login.\n\
         Ctrl-y copies the link alone.",
        wrapped(&url, WIDE).join("\n")
    );
    let mut viewer = Viewer::text(title, &text);
    viewer.copy = Some(url);
    viewer
}
