//! The paths of an operation: what `?action=` and `?id=` select has a path of its own, and an
//! endpoint that answers with one thing or with a list is two operations. Generators of clients
//! know one operation for a method and path, and one type for a reply.

use serde_json::Value as Json;

use super::types::Shapes;
use crate::describe::{Described, is_named_by};

/// What names one published page.
const OF_PAGE: [&str; 3] = ["id", "view", "url"];
/// Also names one user; no path has it.
const OTHER_NAME: &str = "username";

/// An operation at one path.
pub(super) struct Form<'d> {
    pub(super) path: String,
    pub(super) described: &'d Described,
    pub(super) summary: String,
    pub(super) tag: String,
    pub(super) query: Json,
    /// Parameters beside those of the query's type.
    pub(super) filters: Vec<Json>,
    pub(super) body: Json,
    pub(super) reply: Json,
    /// A body to send.
    pub(super) example: Option<Json>,
}

impl<'d> Form<'d> {
    pub(super) fn new(described: &'d Described, path: String, shapes: &Shapes) -> Self {
        let [query, body, reply] = [&shapes.query, &shapes.body, &shapes.reply].map(Json::clone);
        let example = body.pointer("/examples/0").cloned();
        let summary = described.types.summary.trim().to_owned();
        let tag = described.resource.to_owned();
        let filters = Vec::new();
        Self { path, described, summary, tag, query, filters, body, reply, example }
    }

    /// Its parameters, without those of which `keep` is false.
    pub(super) fn asking(mut self, keep: impl Fn(&str) -> bool) -> Self {
        if let Some(members) = self.query["properties"].as_object_mut() {
            members.retain(|name, _| keep(name));
        }
        if let Some(required) = self.query["required"].as_array_mut() {
            required.retain(|name| name.as_str().is_some_and(&keep));
        }
        self
    }

    pub(super) fn answering(self, reply: Json) -> Self {
        Self { reply, ..self }
    }

    /// The name that clients call it by: `get_backend_keys_id`.
    pub(super) fn id(&self) -> String {
        let path = self.path.trim_start_matches("/api/");
        let words =
            path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        [&self.described.method.to_ascii_lowercase(), "_", &words.join("_")].concat()
    }
}

/// The operation at each of its paths.
pub(super) fn of<'d>(described: &'d Described, shapes: &Shapes) -> Vec<Form<'d>> {
    let action = described.action.map(|action| format!("/{action}")).unwrap_or_default();
    let start = format!("{}{action}", described.path);
    let tail = described.tails.last().copied().unwrap_or_default();
    let named = tail.trim_matches(['/', '{', '}']);
    let form = |path: String| Form::new(described, path, shapes);
    if let Some((list, one)) = halves(&shapes.reply) {
        debug_assert!(!tail.is_empty(), "{} has no path for one thing", described.path);
        let names_one = |name: &str| match named {
            "one" => OF_PAGE.contains(&name),
            named => name == named || name == OTHER_NAME,
        };
        let shows_one = |name: &str| {
            (names_one(name) && name != OTHER_NAME) || (named == "one" && name == "language")
        };
        return vec![
            form(start.clone()).asking(|name| !names_one(name)).answering(list),
            form(start + tail).asking(shows_one).answering(one),
        ];
    }
    match is_named_by(tail, described.method, &shapes.query) {
        true => vec![form(start + tail)],
        false => vec![form(start)],
    }
}

/// The two types of a reply that is a page of a list, or one thing of it.
pub(super) fn halves(reply: &Json) -> Option<(Json, Json)> {
    match reply["anyOf"].as_array()?.as_slice() {
        [list, one] if list["properties"]["meta"].is_object() => Some((list.clone(), one.clone())),
        _ => None,
    }
}
