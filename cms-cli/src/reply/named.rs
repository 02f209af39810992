//! Ids from names: people use names, the API takes ids.
//!
//! A number is an id. One request first asks whether the number is only a name; then the failure
//! tells the id of that thing.

use std::{collections::BTreeMap, ops::ControlFlow};

use cms_core::{keys::ApiKey, webhooks::Subscription};
use cms_http::{
    client::Client,
    wire::{
        NoBody, OneOrPage, OnlyId, Operation, inbox, item, keys, parameters::OneOrList, webhooks,
    },
};
use serde_json::json;

use super::{
    call::{Paged, list_query},
    list::{LARGEST_PAGE, each},
};
use crate::output::{Done, Exit, Failure};

/// The most ids that a failure names.
const MAX_IDS: usize = 5;
/// The most numbers in one request, so that its line stays short.
const MAX_NUMBERS: usize = 100;

/// Things with names.
struct Kind<T> {
    /// One of them, and how to list all.
    what: (&'static str, &'static str),
    id_and_name: fn(&T) -> (i64, String),
}

const KEYS: Kind<ApiKey> =
    Kind { what: ("API key", "cms keys list"), id_and_name: |key| (key.id, key.name.clone()) };
const WEBHOOKS: Kind<Subscription> = Kind {
    what: ("webhook", "cms webhooks list"),
    id_and_name: |webhook| (webhook.id, webhook.name.clone()),
};

/// The id of a key, from its id or its name.
pub(crate) async fn key(client: &Client, key: &str) -> Done<i64> {
    Ok(keys(client, &[key.to_owned()]).await?[0])
}

/// As [`key`], of each.
pub(crate) async fn keys(client: &Client, named: &[String]) -> Done<Vec<i64>> {
    find::<keys::Read>(client, &KEYS, named).await
}

/// The id of a subscription, from its id or its name.
pub(crate) async fn webhook(client: &Client, webhook: &str) -> Done<i64> {
    Ok(webhooks(client, &[webhook.to_owned()]).await?[0])
}

/// As [`webhook`], of each.
pub(crate) async fn webhooks(client: &Client, named: &[String]) -> Done<Vec<i64>> {
    find::<webhooks::Read>(client, &WEBHOOKS, named).await
}

/// As [`webhook`], when one is named.
pub(crate) async fn maybe_webhook(client: &Client, named: Option<&str>) -> Done<Option<i64>> {
    match named {
        Some(named) => webhook(client, named).await.map(Some),
        None => Ok(None),
    }
}

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
    only(("submission", "cms inbox list --search TEXT"), &reference, &ids, ids.len())
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
        .map(|record| serde_json::from_str(record.json()).map(|OnlyId::<i64> { id }| id));
    ids.collect::<Result<_, _>>().map_err(Failure::unexpected)
}

/// A reference in the form of the service. Over the telephone, case, dash and blanks get lost.
fn reference(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let is_one = text.len() == 8 && text.chars().all(|c| c.is_ascii_alphanumeric());
    is_one.then(|| format!("{}-{}", &text[..4], &text[4..]).to_uppercase())
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

/// The ids of the things with exactly these names, else with these names in other cases. One
/// request asks for many numbers.
async fn find<O: Operation<Query = OneOrList, Body = NoBody, Reply: Paged>>(
    client: &Client,
    kind: &Kind<<O::Reply as Paged>::Row>,
    named: &[String],
) -> Done<Vec<i64>> {
    let names: Vec<&str> = named.iter().map(String::as_str).collect();
    let rows = numbered::<O>(client, &names, kind).await?;
    let mut ids = Vec::with_capacity(named.len());
    for name in names {
        ids.push(among::<O>(client, kind, name, &rows).await?);
    }
    Ok(ids)
}

/// Ids and names of the rows that have one of these numbers as id or name.
async fn numbered<O: Operation<Query = OneOrList, Body = NoBody, Reply: Paged>>(
    client: &Client,
    names: &[&str],
    kind: &Kind<<O::Reply as Paged>::Row>,
) -> Done<BTreeMap<i64, String>> {
    let numbers = names.iter().filter_map(|name| Some((*name, name.parse::<i64>().ok()?)));
    let numbers: Vec<(&str, i64)> = numbers.collect();
    let mut rows = BTreeMap::new();
    for some in numbers.chunks(MAX_NUMBERS) {
        let (names, ids): (Vec<&str>, Vec<i64>) = some.iter().copied().unzip();
        let filter = json!({"or": [{"id": {"in": ids}}, {"name": {"in": names}}]}).to_string();
        let query = |limit, cursor| {
            let mut asked = list_query(limit, cursor);
            asked.list.filter = Some(filter.clone());
            asked
        };
        let read = each::<O>(client, query, |row| {
            rows.extend([(kind.id_and_name)(&row)]);
            ControlFlow::Continue(())
        });
        match read.await {
            // Callers that may not read the rows may still act on them by id.
            Err(failure) if [Exit::NoRight, Exit::Failed].contains(&failure.exit) => {
                return Ok(BTreeMap::new());
            }
            read => read?,
        }
    }
    Ok(rows)
}

/// As [`find`]. `rows` comes from [`numbered`].
async fn among<O: Operation<Query = OneOrList, Body = NoBody, Reply: Paged>>(
    client: &Client,
    kind: &Kind<<O::Reply as Paged>::Row>,
    name: &str,
    rows: &BTreeMap<i64, String>,
) -> Done<i64> {
    if let Ok(id) = name.parse::<i64>() {
        let fits = rows.iter().filter(|(known, called)| **known == id || *called == name);
        let found: Vec<i64> = fits.map(|(known, _)| *known).collect();
        return id_of_number(kind.what.0, name, id, &found);
    }
    let mut found = NameMatches::default();
    called::<O>(client, Some("eq"), name, |row| found.add((kind.id_and_name)(&row).0)).await?;
    if found.count == 0 {
        // The service ignores case in ASCII only: for other names all rows are read.
        let op = name.is_ascii().then_some("contains");
        let alike = |row| {
            let (id, called) = (kind.id_and_name)(&row);
            if called.to_lowercase() == name.to_lowercase() {
                found.add(id);
            }
        };
        called::<O>(client, op, name, alike).await?;
    }
    only(kind.what, name, &found.ids, found.count)
}

/// Passes the rows whose name compares so, or all without an operator, to `see`.
async fn called<O: Operation<Query = OneOrList, Body = NoBody, Reply: Paged>>(
    client: &Client,
    op: Option<&str>,
    name: &str,
    mut see: impl FnMut(<O::Reply as Paged>::Row),
) -> Done {
    let query = |limit, cursor| {
        let mut asked = list_query(limit, cursor);
        let filter = op.map(|op| (format!("filter[name][{op}]"), name.to_owned()));
        asked.list.filters.extend(filter);
        asked
    };
    each::<O>(client, query, |row| {
        see(row);
        ControlFlow::Continue(())
    })
    .await
}

/// Things with one name: their number, and the first ids.
#[derive(Default)]
struct NameMatches {
    ids: Vec<i64>,
    count: usize,
}

impl NameMatches {
    fn add(&mut self, id: i64) {
        self.count += 1;
        if self.ids.len() < MAX_IDS {
            self.ids.push(id);
        }
    }
}

/// The only id, or a failure that names some of the ids.
fn only((what, list): (&str, &str), name: &str, ids: &[i64], count: usize) -> Done<i64> {
    match ids {
        [] => {
            Err(Failure::new(Exit::NotFound, format!("there is no {what} named {name:?}"))
                .hint(list))
        }
        [id] => Ok(*id),
        ids => {
            let told: Vec<String> = ids.iter().take(MAX_IDS).map(i64::to_string).collect();
            let more = if count > told.len() { " and more" } else { "" };
            let why = format!("{count} {what}s are named {name:?}: {}{more}", told.join(", "));
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
        assert_eq!(only(what, "shop", &[3], 1).expect("one"), 3);
        let none = only(what, "shop", &[], 0).expect_err("none");
        assert_eq!(none.what, "there is no API key named \"shop\"");
        let many = only(what, "shop", &[1, 2, 3, 4, 5], 7).expect_err("many");
        assert_eq!(many.what, "7 API keys are named \"shop\": 1, 2, 3, 4, 5 and more");
        assert_eq!((none.exit, many.exit), (Exit::NotFound, Exit::NotFound));
    }
}
