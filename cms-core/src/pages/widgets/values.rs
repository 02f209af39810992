//! Checks values of a placed widget or its item against the menu. All problems are reported
//! at once.
//!
//! | type | in JSON | as text of its column |
//! |---|---|---|
//! | `checkbox` | true, false | `1`, `0` |
//! | `number` | a number | in digits |
//! | `select` | the `id` or `value` of its option; from a table: text | as text |
//! | `password` | never shown | sealed |
//! | all others | text | the text |

use serde_json::{Map, Number, Value as Json};

use super::Menu;
use crate::{
    Address, Error, FieldError, Result, Vault,
    content::{Column, ColumnDeclaration, check as content_check},
    db::{Dialect, Kind},
    ground::nearest,
    plugins::manifest::{FieldType, MenuEntry},
};

/// Maximum length of a line, in characters.
const LINE: usize = 1000;
/// Maximum length of a long text, in characters.
const LONG: usize = 100_000;
/// Maximum number of options in an error message.
const SHOWN: usize = 20;

/// Returns values in canonical form. Null clears a value, and empty text is null.
pub(crate) fn check(menu: &Menu, data: &Map<String, Json>) -> Result<Map<String, Json>> {
    let (mut values, mut faults) = (Map::new(), Vec::new());
    for (row, sent) in data {
        let entry = menu.iter().find(|entry| entry.row == *row);
        match entry.map_or_else(|| Err(unknown(menu, row)), |entry| value(entry, sent)) {
            Ok(value) => drop(values.insert(row.clone(), value)),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(values) } else { Err(Error::invalid(faults)) }
}

/// A stored text as JSON. The menu may lack `column`, because it may have changed since.
pub(crate) fn shown(menu: Option<&Menu>, column: &str, text: &str) -> Json {
    let entry = menu.and_then(|menu| menu.iter().find(|entry| entry.row == column));
    let Some(entry) = entry else {
        // The column may have been a password.
        return if Vault::is_sealed(text) { Json::Null } else { text.into() };
    };
    match entry.field_type {
        FieldType::Checkbox => matches!(text, "1" | "true").into(),
        FieldType::Number => text.parse().map_or_else(|_| text.into(), number),
        FieldType::Select => chosen(entry, text).unwrap_or_else(|| text.into()),
        FieldType::Password => Json::Null,
        _ => text.into(),
    }
}

/// The values, with those of passwords sealed.
pub(super) fn sealed(
    menu: &Menu,
    data: Map<String, Json>,
    vault: &Vault,
) -> Result<Map<String, Json>> {
    let is_secret = |row: &str| {
        menu.iter().any(|entry| entry.row == row && entry.field_type == FieldType::Password)
    };
    let seal = |(row, value): (String, Json)| match value.as_str() {
        Some(text) if is_secret(&row) => {
            let sealed = vault.seal(&format!("page_widgets.{row}"), text.as_bytes())?;
            Ok((row, sealed.into()))
        }
        _ => Ok((row, value)),
    };
    data.into_iter().map(seal).collect()
}

fn unknown(menu: &Menu, row: &str) -> FieldError {
    let rows = menu.iter().map(|entry| entry.row.as_str());
    let message = match nearest(row, rows.clone()) {
        Some(near) => format!("there is no field {row:?}; did you mean {near:?}?"),
        None => format!("there is no field {row:?}: write {}", rows.collect::<Vec<_>>().join(", ")),
    };
    FieldError { field: row.to_owned(), code: "unknown_column", message }
}

/// A value in its canonical form.
fn value(entry: &MenuEntry, sent: &Json) -> Result<Json, FieldError> {
    let wrong = |code, message: &str| FieldError {
        field: entry.row.clone(),
        code,
        message: message.to_owned(),
    };
    if sent.is_null() || sent.as_str().is_some_and(str::is_empty) {
        return Ok(Json::Null);
    }
    if entry.field_type == FieldType::Select {
        return option(entry, sent);
    }
    let column = column(entry);
    let checked = content_check::value(&column, Dialect::STRICTEST, sent)?;
    let text = checked.as_str().unwrap_or_default();
    let is_line = matches!(entry.field_type, FieldType::Text | FieldType::Password);
    if is_line && text.chars().any(char::is_control) {
        return Err(wrong("format", "one line without control characters is expected"));
    }
    let most = if matches!(column.kind, Kind::Text) && !is_line { LONG } else { LINE };
    if text.chars().count() > most {
        return Err(wrong("range", &format!("at most {most} characters")));
    }
    content_check::permitted(&column, sent, &checked)?;
    Ok(checked.as_f64().filter(|_| checked.is_f64()).map_or(checked, number))
}

/// The entry as a column of records, which has the same types.
fn column(entry: &MenuEntry) -> Column {
    let named = entry.field_type.name();
    let field_type = if is_link(entry) { "link" } else { named }.to_owned();
    let declared =
        ColumnDeclaration { field_type: Some(field_type.clone()), ..ColumnDeclaration::default() };
    let kind = declared.kind().unwrap_or(Kind::Text);
    Column { field_type, ..Column::declared(&entry.row, kind) }
}

/// A whole number, written without a decimal point.
fn number(number: f64) -> Json {
    let is_whole = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    if is_whole { (number as i64).into() } else { Number::from_f64(number).into() }
}

/// Whether a field holds a link. Its row decides, because menus have no type for links.
fn is_link(entry: &MenuEntry) -> bool {
    let row = entry.row.as_str();
    let is_named =
        ["link", "url"].contains(&row) || row.ends_with("_link") || row.ends_with("_url");
    entry.field_type == FieldType::Text && is_named
}

/// The kind of address that a field holds; `None`: the field holds something else.
#[must_use]
pub fn address(entry: &MenuEntry) -> Option<Address> {
    Address::of_type(&column(entry).field_type)
}

/// The values that a select accepts; `None`: they come from a table.
fn options(entry: &MenuEntry) -> Option<Vec<&Json>> {
    if let Some(choices) = &entry.options {
        return Some(choices.iter().map(|choice| &choice.id).collect());
    }
    let fixed = entry.select_value.as_ref()?.options.as_ref()?;
    Some(fixed.iter().map(|option| &option.value).collect())
}

/// A value as the text that is stored of it.
pub(super) fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The option that a stored text selects.
fn chosen(entry: &MenuEntry, text: &str) -> Option<Json> {
    options(entry)?.into_iter().find(|one| text_of(one) == text).cloned()
}

fn option(entry: &MenuEntry, sent: &Json) -> Result<Json, FieldError> {
    let wrong = |code, message| FieldError { field: entry.row.clone(), code, message };
    let is_single = sent.is_string() || sent.is_number() || sent.is_boolean();
    let text = text_of(sent);
    let Some(options) = options(entry) else {
        // Not looked up, because a record may be removed at any time.
        let fits = is_single && text.chars().count() <= LINE && !text.chars().any(char::is_control);
        let told = || wrong("type", "text or a number is expected".to_owned());
        return if fits { Ok(text.into()) } else { Err(told()) };
    };
    match chosen(entry, &text).filter(|_| is_single) {
        Some(chosen) => Ok(chosen),
        None => {
            let known: Vec<_> = options.iter().take(SHOWN).map(|one| one.to_string()).collect();
            Err(wrong("enum", format!("one of {} is expected", known.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests;
