//! A link that shows a draft without a login, for a while.

use cms_http::wire::pagebuilder::{MakeLink, MayName};
use serde_json::{Value as Json, json};

use super::{address, page_id, told::WIDE};
use crate::{
    screens::cells::plain_text,
    step::{Menu, Step, send},
    text::wrapped,
    widgets::viewer::Viewer,
};

/// For how long, and in seconds.
const TTLS: [(&str, i64); 4] =
    [("1 hour", 3_600), ("1 day", 86_400), ("7 days", 604_800), ("30 days", 2_592_000)];

pub(super) fn begin(page: &Json) -> Step {
    let entries = TTLS.map(|(label, _)| label.to_owned()).to_vec();
    let page = page.clone();
    let title = format!("A link to the draft of {}, for how long?", address(&page));
    Step::Menu(Menu::new(title, entries, move |n| {
        let ttl_s = TTLS.get(n).map(|(_, seconds)| *seconds);
        let body = json!({"page_id": page_id(&page), "ttl_s": ttl_s});
        let title = format!("The draft of {}", address(&page));
        send::<MakeLink>(&MayName::default(), body)
            .map(|call| call.then(move |reply| Step::View(shown(title, &reply.data))))
            .into()
    }))
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
