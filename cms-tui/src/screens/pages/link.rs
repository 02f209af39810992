//! A link that shows a draft without a login, for a while.

use cms_http::wire::pagebuilder::{LinkFor, MakeLink, MayName};
use serde_json::Value as Json;

use super::{address, page_id, wording::WIDE};
use crate::{
    screens::cells::plain_text,
    step::{Form, Step, send},
    text::wrapped,
    widgets::{field::Field, form::Values, viewer::Viewer},
};

/// For how long, and in seconds.
const TTLS: [(&str, i64); 4] =
    [("1 hour", 3_600), ("1 day", 86_400), ("7 days", 604_800), ("30 days", 2_592_000)];

/// Asks for whom and for how long, then shows the link.
pub(super) fn begin(page: &Json) -> Step {
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
    let call = send::<MakeLink>(&MayName::default(), &body);
    // The list of links has one more.
    call.map(|call| {
        call.then(move |reply| {
            Step::Several(vec![Step::View(shown(title, &reply.data)), Step::Look])
        })
    })
    .into()
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
