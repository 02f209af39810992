//! A version of a record in a language that it lacks.

use cms_http::wire::item::{Create, Read, Table, WhichItems as Query};

use super::{choices, edit, id_of, name, one};
use crate::{screens::prelude::*, widgets::field::Kind};

/// Asks for the language, then shows a form with the values of this version.
pub(super) fn begin(table: &Json, row: &Json) -> Step {
    if items(&table["languages"]).is_empty() {
        return Step::tell("This table has no languages.");
    }
    let (table, row) = (table.clone(), row.clone());
    versions(&table, &row).then(move |reply| choose(table, row, &there_of(&reply)))
}

/// The versions of a record share its `base_id`.
fn versions(table: &Json, row: &Json) -> Result<Calling, Fault> {
    let base = if row["base_id"].is_null() { &row["id"] } else { &row["base_id"] };
    let mut query = Query { table: name(table), ..Query::default() };
    query.fields = Some("id,language_short".to_owned());
    query.limit = Some("500".to_owned());
    query.filters.insert("filter[base_id][eq]".to_owned(), base.to_string());
    get::<Read>(&query)
}

/// The languages in which there is a version.
fn there_of(reply: &Reply) -> Vec<String> {
    let rows = items(&reply.data).iter();
    rows.filter_map(|row| row["language_short"].as_str()).map(str::to_owned).collect()
}

fn choose(table: Json, row: Json, there: &[String]) -> Step {
    let known = texts(&table["languages"]);
    let missing: Vec<String> =
        known.filter(|one| !there.iter().any(|is| is == one)).map(str::to_owned).collect();
    match &missing[..] {
        [] => Step::tell("It has a version in every language."),
        [only] => open(table, &row, only.clone()),
        _ => {
            let title = format!("{} {} in which language?", name(&table), id_of(&table, &row));
            Step::Menu(Menu::new(title, missing.clone(), move |n| {
                open(table, &row, missing.into_iter().nth(n).unwrap_or_default())
            }))
        }
    }
}

/// Reads the record whole and the choices, then shows the form.
fn open(table: Json, row: &Json, language: String) -> Step {
    one(&table, row).map(Calling::whole::<Read>).then(move |reply| {
        let known = table.clone();
        choices::read(&known, move |choices| form(&table, &reply.data, language, &choices).step())
    })
}

fn form(table: &Json, record: &Json, language: String, choices: &choices::Choices) -> Form {
    let base = if record["base_id"].is_null() { &record["id"] } else { &record["base_id"] };
    let base = base.clone();
    let mut fields = edit::fields(table, record, true, choices);
    fields.retain(|field| field.name != "base_id" && field.name != "language_short");
    let mut copied = Map::new();
    for field in &mut fields {
        let Kind::Fixed(text) = &mut field.kind else { continue };
        let value = &record[field.name.as_str()];
        *text = text.replace(edit::TOO_LONG, "copied as it is");
        copied.insert(field.name.clone(), value.clone());
    }
    let title = format!("{} {} in {}", name(table), id_of(table, record), safe(&language));
    let table = table.clone();
    Form::new(title, fields, move |values| {
        let mut body = copied.clone();
        body.extend(values.all.clone().into_iter().filter(|(_, value)| !value.is_null()));
        body.insert("language_short".to_owned(), language.clone().into());
        body.insert("base_id".to_owned(), base.clone());
        let said = format!("{} {} is made in {language}", name(&table), base);
        send_json::<Create>(&Table { table: name(&table), no_events: None }, Json::Object(body))
            .did(said)
    })
    .note("A new version of the same record, with the values of the one you came from.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_languages_that_are_missing_are_offered() {
        let table = json!({"name": "posts", "languages": ["en", "de", "fr"]});
        let row = json!({"id": 7, "base_id": 3});
        let line = versions(&table, &row).expect("a call").ask.line();
        assert!(line.contains("filter%5Bbase%5Fid%5D%5Beq%5D=3"), "{line}");
        match choose(table.clone(), row.clone(), &["en".to_owned()]) {
            Step::Menu(menu) => assert_eq!(menu.entries, ["de", "fr"]),
            _ => panic!("no question"),
        }
        let two = ["en", "de"].map(str::to_owned);
        assert!(matches!(choose(table.clone(), row.clone(), &two), Step::Call(_)));
        let all = ["en", "de", "fr"].map(str::to_owned);
        assert!(matches!(choose(table, row, &all), Step::Tell(_)));
    }
}
