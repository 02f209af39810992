//! The API calls of screens, and their replies.
//!
//! A call is typed by its operation when it is made. The task that makes it also parses the reply
//! as that operation's type; screens see checked JSON.

use cms_http::{
    client::{Answer, Ask, ClientError},
    wire::{FieldProblem, Operation},
};
use serde_json::Value as Json;

/// Longer values in a list are cut, because lists only show them.
const LONGEST_IN_LIST: usize = 400;
/// Longer values of one record are cut, and forms do not offer them.
pub(crate) const LONGEST: usize = 256 << 10;

/// Turns an answer into a reply, in the task that made the call.
pub(crate) type Read = fn(&Answer) -> Result<Reply, Fault>;

/// A good reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reply {
    pub(crate) data: Json,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
    pub(crate) total: Option<i64>,
    /// How many rows are in each state, where the service counts them.
    pub(crate) counts: Json,
    pub(crate) etag: Option<String>,
    /// Values were cut.
    pub(crate) cut: bool,
}

/// Why there is no good reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fault {
    /// The code from the service; empty when nobody answered.
    pub(crate) code: String,
    pub(crate) detail: String,
    pub(crate) errors: Vec<FieldProblem>,
    /// How many rows the filter matches, after `count_moved`.
    pub(crate) matched: Option<u64>,
}

impl Fault {
    pub(crate) fn new(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..Self::default() }
    }

    /// What is wrong with one field of a form.
    pub(crate) fn at(field: &str, why: String) -> Self {
        let problem = FieldProblem::new(field, "format", &*why);
        Self { errors: vec![problem], ..Self::new(why) }
    }

    /// Whether the call failed because nobody answered.
    pub(crate) fn is_offline(&self) -> bool {
        self.code == "unreachable"
    }

    /// Whether the caller may not read this, or not any longer.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.code == "permission_denied" || self.code.starts_with("api_key_")
    }

    /// Whether the same call may succeed later, after the row was read again.
    pub(crate) fn may_pass(&self) -> bool {
        let codes =
            ["rate_limited", "unavailable", "timeout", "in_progress", "internal_error", "stale"];
        self.is_offline() || self.wants_login() || codes.contains(&self.code.as_str())
    }

    /// Whether the session is missing or has ended.
    pub(crate) fn wants_login(&self) -> bool {
        self.code == "login_required"
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        let detail = error.to_string();
        match &error {
            ClientError::Problem { code, document, .. } => Self {
                code: code.clone(),
                detail,
                errors: serde_json::from_value(document["errors"].clone()).unwrap_or_default(),
                matched: document["matched"].as_u64(),
            },
            ClientError::Unreachable(_) => {
                Self { code: "unreachable".to_owned(), ..Self::new(detail) }
            }
            _ => Self { code: "unexpected".to_owned(), ..Self::new(detail) },
        }
    }
}

/// A request, and how its answer is read.
pub(crate) type Made = (Ask, Read);

/// A request with its body.
pub(crate) fn made<O: Operation>(query: &O::Query, body: &O::Body) -> Result<Made, Fault> {
    Ok((Ask::of::<O>(query, body)?, read::<O>))
}

fn read<O: Operation>(answer: &Answer) -> Result<Reply, Fault> {
    Ok(short(whole::<O>(answer)?))
}

fn short(mut reply: Reply) -> Reply {
    let longest = if reply.data.is_array() { LONGEST_IN_LIST } else { LONGEST };
    reply.cut = shorten(&mut reply.data, longest);
    reply
}

/// A reply with whole values, because they are sent back.
pub(crate) fn whole<O: Operation>(answer: &Answer) -> Result<Reply, Fault> {
    answer.read::<O>()?;
    Ok(untyped(answer))
}

fn untyped(answer: &Answer) -> Reply {
    if answer.body.is_empty() {
        return Reply::default();
    }
    let mut body: Json = match serde_json::from_str(&answer.body) {
        Ok(body) => body,
        Err(_) => Json::String(answer.body.clone()),
    };
    let is_page = body["data"].is_array() && body.get("meta").is_some();
    let data = match body.get_mut("data") {
        Some(data) => data.take(),
        None => body.take(),
    };
    let mut reply = Reply {
        data,
        next: body["meta"]["next"].as_str().map(str::to_owned),
        total: body["meta"]["total"].as_i64(),
        counts: body.pointer_mut("/meta/counts").map(Json::take).unwrap_or_default(),
        etag: answer.etag.clone(),
        cut: false,
    };
    if !is_page && !body["meta"].is_null() && reply.data.is_object() {
        reply.data["meta"] = body["meta"].take();
    }
    reply
}

/// Cuts long strings. Returns whether one was.
fn shorten(value: &mut Json, longest: usize) -> bool {
    match value {
        Json::String(text) if text.len() > longest => {
            let end = text.floor_char_boundary(longest);
            let whole = text.len();
            text.truncate(end);
            text.push_str(&format!("… ({} KB)", whole / 1000));
            true
        }
        Json::Array(items) => {
            items.iter_mut().fold(false, |cut, item| shorten(item, longest) | cut)
        }
        Json::Object(members) => {
            members.values_mut().fold(false, |cut, member| shorten(member, longest) | cut)
        }
        _ => false,
    }
}

/// The text that is left of a cut value; None for a whole one.
pub(crate) fn uncut(seen: &str) -> Option<&str> {
    let (begin, size) = seen.rsplit_once("… (")?;
    size.ends_with(" KB)").then_some(begin)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_values_are_cut_and_told() {
        let mut value = json!({"a": ["ä".repeat(300)], "b": 1});
        assert!(shorten(&mut value, 401));
        assert_eq!(value["a"][0].as_str().map(str::len), Some(400 + "… (0 KB)".len()));
        assert!(!shorten(&mut json!({"a": "x"}), 400));
    }
}
