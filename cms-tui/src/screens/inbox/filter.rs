//! The filter line of the inbox: translates words into conditions of the service, and back.

use cms_http::wire::inbox::{InboxAsked, InboxFilter};

use crate::screens::{
    filter_words::{Piece, since},
    prelude::*,
};

/// What the line says while it is typed.
pub(super) const TOKENS: &str = "text @me @nobody state:new visit:abandoned funnel:leads score:>5 \
    since:2d spam:no !word: not";

/// Values that a word may have.
const VALUES: [(&str, &[&str]); 2] =
    [("state", &super::STATES), ("visit", &["completed", "abandoned", "under-way"])];

/// What to type instead of `!funnel:name`.
const NOT_FUNNEL: &str =
    "type !funnel:7, or funnel_name:ne=NAME; a part of a name cannot be left out";

/// What to type instead of `visit:under-way,completed`.
const ALONE: &str = "under-way leaves out expired visits, so it stands alone: visit:under-way";

/// What `visit:under-way` also asks for: expiry after now.
const UNEXPIRED: (&str, &str) = ("expires_at", "gt");

/// A word, and the column that it is a condition on.
struct Token {
    word: &'static str,
    column: &'static str,
    op: &'static str,
}

const fn token(word: &'static str, column: &'static str, op: &'static str) -> Token {
    Token { word, column, op }
}

/// Words with a value. Those for times and for assignment are parsed separately.
const KNOWN: [Token; 15] = [
    token("state", "inbox_status", "in"),
    token("visit", "status", "in"),
    token("end", "end_kind", "in"),
    token("mail", "mail_status", "in"),
    token("spam", "is_spam", "eq"),
    token("test", "is_test", "eq"),
    token("lang", "language_short", "eq"),
    token("source", "utm_source", "eq"),
    token("medium", "utm_medium", "eq"),
    token("campaign", "utm_campaign", "eq"),
    token("ref", "reference", "eq"),
    token("company", "company", "contains"),
    token("mailto", "contact_email", "contains"),
    token("at", "last_node_id", "eq"),
    token("score", "score", "eq"),
];

/// Which submissions are asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conditions {
    /// Column, operator, value.
    pub(super) all: Vec<(String, String, String)>,
    pub(super) search: String,
}

impl Conditions {
    /// Reads the words of a filter.
    ///
    /// # Errors
    /// For an unknown word; the error names the known ones.
    pub(crate) fn read(filter: &str, now: i64, who: &str) -> Result<Self, Fault> {
        let (mut read, mut text) = (Self::default(), Vec::new());
        let pieces = pieces(filter);
        for piece in &pieces {
            let negated = piece.negated();
            let (not, rest) = (negated.is_some(), negated.as_ref().unwrap_or(piece));
            match rest.word() {
                Word::Text(name)
                    if !rest.is_quoted() && name.len() > 1 && name.starts_with('@') =>
                {
                    read.all.push(assigned(&name[1..], not, who)?);
                }
                Word::Text(_) if not => return Err(unknown(piece.text(), TOKENS)),
                Word::Text(_) => match column(rest) {
                    Some(condition) => read.all.push(condition),
                    None => text.push(piece.text()),
                },
                Word::Token(name, value) => {
                    read.all.push(condition(name, value, not, now, who)?);
                }
            }
        }
        read.search = text.join(" ");
        // A visit that expires stays in its state.
        let is_under_way = ("status", "in", "in_progress");
        let names = |one: &(String, String, String)| (&*one.0, &*one.1, &*one.2) == is_under_way;
        let is_given = read.all.iter().any(|(column, op, _)| (&**column, &**op) == UNEXPIRED);
        if read.all.iter().any(names) && !is_given {
            let (column, op) = UNEXPIRED;
            read.all.push((column.to_owned(), op.to_owned(), moment::text(now)));
        }
        Ok(read)
    }

    /// As the query of a list.
    pub(super) fn query(&self) -> InboxAsked {
        let name = |(column, op, value): &(String, String, String)| {
            (format!("filter[{column}][{op}]"), value.clone())
        };
        InboxAsked {
            search: (!self.search.is_empty()).then(|| self.search.clone()),
            filters: self.all.iter().map(name).collect(),
            ..InboxAsked::default()
        }
    }

    /// As the body of a change, or of a view.
    pub(super) fn body(&self) -> InboxFilter {
        let mut body = Map::new();
        for (column, op, value) in &self.all {
            let ops = body.entry(column.clone()).or_insert_with(|| json!({}));
            ops[op.as_str()] = match op.as_str() {
                "in" | "nin" => value.split(',').map(Json::from).collect(),
                _ => Json::from(value.clone()),
            };
        }
        if !self.search.is_empty() {
            body.insert("search".to_owned(), self.search.clone().into());
        }
        InboxFilter(body)
    }
}

fn assigned(name: &str, not: bool, who: &str) -> Result<(String, String, String), Fault> {
    let condition = |column: &str, op: &str, value: &str| {
        Ok((column.to_owned(), op.to_owned(), value.to_owned()))
    };
    match (name, who) {
        ("nobody", _) => condition("assigned_to", "null", if not { "false" } else { "true" }),
        ("me", "") => Err(Fault::new("nobody is logged in here: name the user, such as @ana")),
        ("me", who) => condition("assigned_name", if not { "ne" } else { "eq" }, who),
        (name, _) => condition("assigned_name", if not { "ne" } else { "eq" }, name),
    }
}

/// `column=value`, for any column.
fn column(piece: &Piece<'_>) -> Option<(String, String, String)> {
    let (name, value) = piece.split('=')?;
    is_name(name).then(|| (name.to_owned(), "eq".to_owned(), value.to_owned()))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

fn condition(
    name: &str,
    value: &str,
    not: bool,
    now: i64,
    who: &str,
) -> Result<(String, String, String), Fault> {
    let made = |column: &str, op: &str, value: &str| {
        Ok((column.to_owned(), op.to_owned(), value.to_owned()))
    };
    // Any column by its name: `column:op=value`.
    if let Some((op, value)) = value.split_once('=').filter(|(op, _)| is_name(op)) {
        return match opposite(op) {
            _ if !not => made(name, op, value),
            Some(op) => made(name, op, value),
            None => Err(Fault::new(format!("! does not go with {op}; type {name}:ne=VALUE"))),
        };
    }
    if value.is_empty() {
        return Err(Fault::new(format!("{name}: wants a value, such as {}", example(name))));
    }
    match name {
        "for" | "assigned" => return assigned(value, not, who),
        "since" | "before" => {
            let wrong = || unknown(value, "since:2d, before:12h or since:2026-11-21T09:30:00Z");
            let at = moment::text(since(value, now).ok_or_else(wrong)?);
            return made("started_at", if (name == "since") == not { "lt" } else { "gte" }, &at);
        }
        "funnel" => {
            return match (is_id(value), not) {
                (true, true) => made("funnel_id", "ne", value),
                (true, false) => made("funnel_id", "eq", value),
                // The service cannot negate a part of a name.
                (false, true) => Err(Fault::new(NOT_FUNNEL)),
                (false, false) => made("funnel_name", "contains", value),
            };
        }
        _ => {}
    }
    if let Some((_, values)) = VALUES.iter().find(|(word, _)| *word == name)
        && let Some(wrong) = value.split(',').find(|value| !values.contains(value))
    {
        return Err(unknown(wrong, &format!("{name}: with {}", values.join(", "))));
    }
    if name == "visit" && !not && value != "under-way" && value.contains("under-way") {
        return Err(Fault::new(ALONE));
    }
    let known = KNOWN.iter().find(|one| one.word == name);
    let known = known.ok_or_else(|| unknown(&format!("{name}:"), TOKENS))?;
    let value = match known.column {
        "status" => value.replace("under-way", "in_progress"),
        "is_spam" | "is_test" => match value {
            "yes" | "true" => "true".to_owned(),
            "no" | "false" => "false".to_owned(),
            _ => return Err(unknown(value, &format!("{name}:yes or {name}:no"))),
        },
        _ => value.to_owned(),
    };
    if known.column == "score" {
        let ops = [(">=", "gte"), ("<=", "lte"), (">", "gt"), ("<", "lt")];
        let said = ops.iter().find_map(|(sign, op)| Some((*op, value.strip_prefix(sign)?)));
        let (op, number) = said.unwrap_or(("eq", &value));
        if number.parse::<f64>().is_err() {
            return Err(unknown(number, "score:5, score:>5 or score:<=5"));
        }
        return made("score", opposite(op).filter(|_| not).unwrap_or(op), number);
    }
    match (known.op, not) {
        ("in", false) => made(known.column, "in", &value),
        ("in", true) => made(known.column, "nin", &value),
        ("eq", true) => made(known.column, "ne", &value),
        (_, true) => Err(unknown(&format!("!{name}:"), TOKENS)),
        (op, false) => made(known.column, op, &value),
    }
}

/// The operator for all other values; None: the service has none.
fn opposite(op: &str) -> Option<&'static str> {
    let pairs = [("eq", "ne"), ("gt", "lte"), ("lt", "gte"), ("in", "nin")];
    pairs.into_iter().find_map(|(one, other)| match op {
        op if op == one => Some(other),
        op if op == other => Some(one),
        _ => None,
    })
}

fn is_id(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_digit())
}

fn example(name: &str) -> &'static str {
    match name {
        "state" => "state:new or state:new,qualified",
        "visit" => "visit:completed, visit:abandoned or visit:under-way",
        "score" => "score:>5",
        "since" | "before" => "since:2d",
        "spam" | "test" => "spam:no",
        "funnel" => "funnel:leads",
        _ => "state:new",
    }
}

/// A filter of the service as words, for saved views.
pub(super) fn words(filter: &Json, now: i64) -> String {
    let mut words = Vec::new();
    let is_under_way = filter["status"]["in"] == json!(["in_progress"]);
    // `visit:under-way` replaces a time that is past; a later one says more.
    let is_implied = |column: &str, op: &str, at: &Json| {
        let at = at.as_str().and_then(moment::millis);
        is_under_way && (column, op) == UNEXPIRED && at.is_some_and(|at| at <= now)
    };
    for (column, given) in filter.as_object().into_iter().flatten() {
        let value = |value: &Json| match value {
            Json::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(","),
            other => plain(other),
        };
        if column == "search" {
            words.extend(plain(given).split_whitespace().map(|word| Word::Text(word).typed()));
            continue;
        }
        match given {
            Json::Object(ops) => {
                let ops = ops.iter().filter(|(op, of)| !is_implied(column, op, of));
                words.extend(ops.map(|(op, of)| word(column, op, &value(of))));
            }
            Json::Null => words.push(word(column, "null", "true")),
            Json::Array(_) => words.push(word(column, "in", &value(given))),
            _ => words.push(word(column, "eq", &value(given))),
        }
    }
    // The state comes first, as when it is chosen.
    words.sort_by_key(|word| !word.starts_with("state:"));
    words.join(" ")
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether `@value` is parsed as this user.
fn is_user(value: &str) -> bool {
    let is_special = |c: char| c.is_whitespace() || matches!(c, ':' | '"');
    !matches!(value, "" | "me" | "nobody") && !value.contains(is_special)
}

fn word(column: &str, op: &str, value: &str) -> String {
    let token = |name: &str, value: &str| Word::Token(name, value).typed();
    // A value such as `a=b` would be parsed as an operator with a value, and an empty
    // one as missing.
    let is_short = !value.is_empty() && value.split_once('=').is_none_or(|(op, _)| !is_name(op));
    let known = KNOWN.iter().find(|one| one.column == column && is_short);
    match (column, op, known) {
        ("assigned_to", "null", _) => {
            (if value == "false" { "!@nobody" } else { "@nobody" }).to_owned()
        }
        ("assigned_name", "eq", _) if is_user(value) => format!("@{value}"),
        ("funnel_id", "eq", _) if is_short => token("funnel", value),
        ("funnel_name", "contains", _) if is_short && !is_id(value) => token("funnel", value),
        ("started_at", "gte", _) if is_short => token("since", value),
        ("started_at", "lt", _) if is_short => token("before", value),
        ("score", op, _) if !matches!(op, "ne" | "in" | "nin" | "null") => {
            let signs = [("gte", ">="), ("lte", "<="), ("gt", ">"), ("lt", "<"), ("eq", "")];
            let sign = signs.iter().find(|(name, _)| *name == op).map_or("", |(_, sign)| sign);
            format!("score:{sign}{value}")
        }
        ("is_spam" | "is_test", "eq", Some(known)) => {
            format!("{}:{}", known.word, if value == "true" { "yes" } else { "no" })
        }
        // `visit:under-way` stands alone.
        ("status", "in", _) if value.contains("in_progress,") || value.contains(",in_progress") => {
            token(column, &format!("{op}={value}"))
        }
        (_, "in" | "eq" | "nin", Some(known)) if known.op == "in" => {
            let not = if op == "nin" { "!" } else { "" };
            let value = value.replace("in_progress", "under-way");
            token(&format!("{not}{}", known.word), &value)
        }
        (_, op, Some(known)) if known.op == op => token(known.word, value),
        (_, op, _) => token(column, &format!("{op}={value}")),
    }
}

#[cfg(test)]
mod tests;
