//! Rows with names, and the plain verbs that all of them have: list, show, edit, switch on and off,
//! delete. People use names, the API takes ids.
//!
//! A number is an id. A number that is only a name is refused, with the id of that row.

use std::ops::ControlFlow;

use cms_http::{
    client::Client,
    wire::{
        NoBody, OneOrPage, OnlyId, Operation, inbox, item,
        parameters::{ById, OneOrList},
        webhooks,
    },
};
use serde::Serialize;
use serde_json::{Value as Json, json};
use unicode_normalization::UnicodeNormalization as _;

use super::{
    call::{Paged, Single, by_id, data, list_query, one},
    list::{Chosen, LARGEST_PAGE, chosen, each},
    record::{Cell, change, delete, plain, record_as},
};
use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output, listed},
};

/// Numbers that one request looks for: with their ids and names, its address stays below the 8 KiB
/// that common proxies take.
const MAX_NUMBERS: usize = 100;

/// How rows are found by their names and shown. `R` reads them.
pub(crate) struct Noun<R: Operation<Reply: Paged>> {
    /// What one is called.
    pub(crate) one: &'static str,
    /// What to type next when no row has the name.
    pub(crate) hint: &'static str,
    /// The member that holds the name.
    pub(crate) name: &'static str,
    pub(crate) id_and_name: fn(&<R::Reply as Paged>::Row) -> (i64, String),
    /// The columns of a list.
    pub(crate) columns: fn() -> Vec<&'static str>,
    pub(crate) cell: Cell<<R::Reply as Paged>::Row>,
}

impl<R: Operation<Reply: Paged>> Noun<R> {
    /// The plain verbs of the noun at a site.
    pub(crate) fn at<'a>(
        &'a self,
        flags: &'a Flags,
        out: &'a Output,
        client: &'a Client,
    ) -> Rows<'a, R> {
        Rows { noun: self, flags, out, client }
    }
}

impl<T, R> Noun<R>
where
    R: Operation<Query: From<OneOrList>, Body = NoBody, Reply = OneOrPage<T>>,
{
    /// The id of the row with this id or exactly this name, else with the name in other cases or
    /// composed otherwise.
    pub(crate) async fn id(&self, client: &Client, named: &str) -> Done<i64> {
        self.find(client, named).await.map(|(id, _)| id)
    }

    /// As [`Noun::id`], with what the row is called: `shop`, or `3 (shop)` where a number was
    /// given, because several rows may have one name. A row that the caller may not read is called
    /// as it was named.
    pub(crate) async fn find(&self, client: &Client, named: &str) -> Done<(i64, String)> {
        let rows = if is_number(named) {
            self.of_numbers(client, &[named]).await?
        } else {
            self.of_name(client, named).await?
        };
        self.only(named, &rows)
    }

    /// As [`Noun::id`], when a row is named.
    pub(crate) async fn maybe_id(&self, client: &Client, named: Option<&str>) -> Done<Option<i64>> {
        match named {
            Some(named) => self.id(client, named).await.map(Some),
            None => Ok(None),
        }
    }

    /// As [`Noun::id`], of each.
    pub(crate) async fn ids(&self, client: &Client, named: &[String]) -> Done<Vec<i64>> {
        let rows = self.find_all(client, named).await?;
        Ok(rows.into_iter().map(|(id, _)| id).collect())
    }

    /// As [`Noun::find`], of each row once. Numbers share requests.
    async fn find_all(&self, client: &Client, named: &[String]) -> Done<Vec<(i64, String)>> {
        let numbers: Vec<&str> =
            named.iter().map(String::as_str).filter(|text| is_number(text)).collect();
        let mut numbered = Vec::with_capacity(numbers.len());
        for numbers in numbers.chunks(MAX_NUMBERS) {
            numbered.extend(self.of_numbers(client, numbers).await?);
        }
        let mut all: Vec<(i64, String)> = Vec::with_capacity(named.len());
        for named in named {
            let rows: Vec<(i64, String)> = match named.parse::<i64>() {
                Ok(number) => {
                    let is_meant = |(id, name): &&(i64, String)| *id == number || name == named;
                    numbered.iter().filter(is_meant).cloned().collect()
                }
                Err(_) => self.of_name(client, named).await?,
            };
            let row = self.only(named, &rows)?;
            if all.iter().all(|(id, _)| *id != row.0) {
                all.push(row);
            }
        }
        Ok(all)
    }

    /// The rows that have one of these numbers as id or as name.
    async fn of_numbers(&self, client: &Client, numbers: &[&str]) -> Done<Vec<(i64, String)>> {
        let ids: Vec<i64> = numbers.iter().filter_map(|number| number.parse().ok()).collect();
        let either = json!({"or": [{"id": {"in": ids}}, { self.name: {"in": numbers} }]});
        match self.found(client, Some(either)).await {
            // Callers that may not read the rows may still act on them by id.
            Err(failure) if [Exit::NoRight, Exit::Failed].contains(&failure.exit) => Ok(Vec::new()),
            found => found,
        }
    }

    /// The rows with this name.
    async fn of_name(&self, client: &Client, named: &str) -> Done<Vec<(i64, String)>> {
        let is = |op: &str| json!({ self.name: { op: named } });
        let mut found = self.found(client, Some(is("eq"))).await?;
        if found.is_empty() {
            // The service composes nothing, and ignores case in ASCII only: other names are looked
            // for among all rows.
            found = self.found(client, named.is_ascii().then(|| is("contains"))).await?;
            let wanted = folded(named);
            found.retain(|(_, name)| folded(name) == wanted);
        }
        Ok(found)
    }

    /// The only one of these rows that is meant, and what it is called.
    fn only(&self, named: &str, rows: &[(i64, String)]) -> Done<(i64, String)> {
        let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
        let id = match named.parse() {
            Ok(id) => id_of_number(self.one, named, id, &ids)?,
            Err(_) => only((self.one, self.hint), named, &ids)?,
        };
        let called = match rows.iter().find(|(of, _)| *of == id) {
            Some((_, name)) if is_number(named) => format!("{id} ({name})"),
            Some((_, name)) => name.clone(),
            None => named.to_owned(),
        };
        Ok((id, called))
    }

    /// Ids and names of the rows that fulfil a condition, or of all without one.
    async fn found(&self, client: &Client, condition: Option<Json>) -> Done<Vec<(i64, String)>> {
        let filter = condition.map(|condition| condition.to_string());
        let query = |limit, cursor| {
            let mut asked = list_query(limit, cursor);
            asked.list.filter = filter.clone();
            R::Query::from(asked)
        };
        let mut found = Vec::new();
        each::<R>(client, query, |row| {
            found.push((self.id_and_name)(&row));
            ControlFlow::Continue(())
        })
        .await?;
        Ok(found)
    }
}

/// Rows of a noun at a site. Each is named by its id or its name. Where several may be named, `-`
/// alone takes them from standard input.
pub(crate) struct Rows<'a, R: Operation<Reply: Paged>> {
    noun: &'a Noun<R>,
    flags: &'a Flags,
    out: &'a Output,
    client: &'a Client,
}

impl<T, R> Rows<'_, R>
where
    T: Serialize,
    R: Operation<Query: From<OneOrList>, Body = NoBody, Reply = OneOrPage<T>>,
{
    pub(crate) async fn list(&self, which: &Chosen) -> Done {
        let columns = (self.noun.columns)();
        let query = |limit, cursor| R::Query::from(list_query(limit, cursor));
        chosen::<R>(self.out, self.client, which, (&columns, self.noun.cell), query).await
    }

    pub(crate) async fn show(&self, named: &str) -> Done {
        let query = R::Query::from(one(self.id(named).await?));
        record_as::<R>(self.out, self.client, &query, &NoBody, self.noun.cell).await
    }

    /// The row itself.
    pub(crate) async fn row(&self, named: &str) -> Done<T> {
        let query = R::Query::from(one(self.id(named).await?));
        data::<R>(self.client, &query, &NoBody).await
    }

    pub(crate) async fn id(&self, named: &str) -> Done<i64> {
        self.noun.id(self.client, named).await
    }

    /// The id, and what the row is called.
    pub(crate) async fn find(&self, named: &str) -> Done<(i64, String)> {
        self.noun.find(self.client, named).await
    }

    pub(crate) async fn edit<U>(&self, named: &str, patch: &U::Body) -> Done
    where
        U: Operation<Query = ById, Reply: Single<One = T>>,
    {
        let query = by_id(self.id(named).await?);
        record_as::<U>(self.out, self.client, &query, patch, self.noun.cell).await
    }

    /// Switches rows on or off.
    pub(crate) async fn switch<U>(&self, several: Vec<String>, active: bool) -> Done
    where
        U: Operation<Query = ById, Reply: Single<One = T>>,
    {
        let patch = json!({"active": active});
        let patch = serde_json::from_value(patch).map_err(Failure::unexpected)?;
        let ids = self.noun.ids(self.client, &input::named(several)?).await?;
        let columns = (self.noun.columns)();
        change::<U>(self.out, self.client, &ids, &patch, (&columns, self.noun.cell)).await
    }

    /// Deletes rows after the question `Delete 2 users: ana, bo`, which `end` completes.
    pub(crate) async fn delete<D>(&self, several: Vec<String>, end: &str) -> Done
    where
        D: Operation<Query = ById, Body = NoBody>,
    {
        let rows = self.noun.find_all(self.client, &input::named(several)?).await?;
        let (ids, names): (Vec<i64>, Vec<String>) = rows.into_iter().unzip();
        let what = (self.noun.one, end);
        delete::<D>(self.flags, self.out, self.client, (&ids, &names), what).await
    }
}

/// Subscriptions.
pub(crate) static WEBHOOKS: Noun<webhooks::Read> = Noun {
    one: "webhook",
    hint: "cms webhooks list",
    name: "name",
    id_and_name: |webhook| (webhook.id, webhook.name.clone()),
    columns: || vec!["id", "name", "url", "events", "active", "failure_count", "disabled_reason"],
    cell: plain,
};

/// As [`submission`], when one is named.
pub(crate) async fn maybe_submission(client: &Client, named: Option<&str>) -> Done<Option<i64>> {
    match named {
        Some(named) => submission(client, named).await.map(Some),
        None => Ok(None),
    }
}

/// The id of a submission, from its id or the reference that its visitor got, such as `F7K2-9QXM`.
pub(crate) async fn submission(client: &Client, named: &str) -> Done<i64> {
    if let Ok(id) = named.parse() {
        return Ok(id);
    }
    let reference = reference(named).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("{named:?} is no id and no reference of a submission"))
            .hint("write a reference as F7K2-9QXM; cms inbox list --search TEXT finds others")
    })?;
    let filter = ("filter[reference][eq]".to_owned(), reference.clone());
    let asked = inbox::InboxAsked { filters: [filter].into(), ..inbox::InboxAsked::default() };
    let found = client.call::<inbox::Submissions>(&asked, &NoBody).await?.data;
    let ids: Vec<i64> = found.iter().map(|one| one.submission_id).collect();
    only(("submission", "cms inbox list --search TEXT"), &reference, &ids)
}

/// Ids of the records of a table whose column has this value. More than one is too many; then not
/// all ids are returned. A number is an id.
pub(crate) async fn records(
    client: &Client,
    table: &str,
    column: &str,
    value: &str,
) -> Done<Vec<i64>> {
    let all = item::WhichItems {
        table: table.to_owned(),
        fields: Some("id".to_owned()),
        limit: Some(LARGEST_PAGE.to_string()),
        ..item::WhichItems::default()
    };
    let Ok(id) = value.parse::<i64>() else {
        let filters = [(format!("filter[{column}][eq]"), value.to_owned())].into();
        return ids(client, &item::WhichItems { filters, ..all }).await;
    };
    let either = json!({"or": [{"id": {"eq": id}}, { column: {"eq": value} }]}).to_string();
    let found = match ids(client, &item::WhichItems { filter: Some(either), ..all }).await {
        // Callers that may not read records may still act on them by id.
        Err(failure) if failure.exit == Exit::NoRight => Vec::new(),
        found => found?,
    };
    id_of_number(&format!("record of {table}"), value, id, &found).map(|id| vec![id])
}

async fn ids(client: &Client, asked: &item::WhichItems) -> Done<Vec<i64>> {
    let OneOrPage::Page(page) = client.call::<item::Read>(asked, &NoBody).await? else {
        return Err(Failure::unexpected("it holds one record instead of a list"));
    };
    let ids = page
        .data
        .iter()
        .map(|record| serde_json::from_str(record.json()).map(|OnlyId::<i64> { id, .. }| id));
    ids.collect::<Result<_, _>>().map_err(Failure::unexpected)
}

/// A reference in the form of the service. Over the telephone, case, dash and blanks get lost.
fn reference(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let is_one = text.len() == 8 && text.chars().all(|c| c.is_ascii_alphanumeric());
    is_one.then(|| format!("{}-{}", &text[..4], &text[4..]).to_uppercase())
}

fn is_number(text: &str) -> bool {
    text.parse::<i64>().is_ok()
}

/// A name composed (NFC) and in lower case.
fn folded(name: &str) -> String {
    name.nfc().collect::<String>().to_lowercase()
}

/// The id itself, unless it is only a name. `found`: ids of the things with this id or name. If
/// there are none, the service reports it.
fn id_of_number(what: &str, text: &str, id: i64, found: &[i64]) -> Done<i64> {
    match found {
        [other, ..] if !found.contains(&id) => {
            let why =
                format!("no {what} has the id {text}; the one named {text} has the id {other}");
            Err(Failure::new(Exit::NotFound, why))
        }
        _ => Ok(id),
    }
}

/// The only id, or a failure that names some of the ids.
fn only((what, hint): (&str, &str), name: &str, ids: &[i64]) -> Done<i64> {
    match ids {
        [] => {
            Err(Failure::new(Exit::NotFound, format!("there is no {what} named {name:?}"))
                .hint(hint))
        }
        [id] => Ok(*id),
        ids => {
            let told: Vec<String> = ids.iter().map(i64::to_string).collect();
            let why = format!("{} {what}s are named {name:?}: {}", ids.len(), listed(&told));
            Err(Failure::new(Exit::NotFound, why).hint("name one of them by its id"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_they_are_heard() {
        for text in ["F7K2-9QXM", "f7k2-9qxm", "f7k29qxm", " F7K2 9QXM "] {
            assert_eq!(reference(text).as_deref(), Some("F7K2-9QXM"), "{text}");
        }
        for text in ["", "F7K2", "F7K2-9QXM-1", "F7K2-9QX!", "ääääääää"] {
            assert_eq!(reference(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_alike_in_any_case_and_composition() {
        for name in ["Zo\u{eb}", "zoe\u{308}", "ZO\u{cb}", "ZOE\u{308}"] {
            assert_eq!(folded(name), "zo\u{eb}", "{name:?}");
        }
        assert_ne!(folded("zoe"), folded("zo\u{eb}"));
    }

    #[test]
    fn a_number_is_an_id() {
        for found in [&[7][..], &[], &[7, 12], &[12, 7]] {
            assert_eq!(id_of_number("webhook", "7", 7, found).expect("one"), 7, "{found:?}");
        }
        let named = id_of_number("webhook", "7", 7, &[12, 13]).expect_err("only a name");
        let told = "no webhook has the id 7; the one named 7 has the id 12";
        assert_eq!((named.exit, named.what.as_str()), (Exit::NotFound, told));
    }

    #[test]
    fn one_is_meant_or_the_failure_says_which_there_are() {
        let what = ("API key", "cms keys list");
        assert_eq!(only(what, "shop", &[3]).expect("one"), 3);
        let none = only(what, "shop", &[]).expect_err("none");
        assert_eq!(none.what, "there is no API key named \"shop\"");
        let many = only(what, "shop", &[1, 2, 3, 4, 5, 6, 7]).expect_err("many");
        assert_eq!(many.what, "7 API keys are named \"shop\": 1, 2, 3, 4, 5 and 2 more");
        assert_eq!((none.exit, many.exit), (Exit::NotFound, Exit::NotFound));
    }
}
