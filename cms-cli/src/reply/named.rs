//! Ids from names: people name things, the API takes ids.

use std::ops::ControlFlow;

use cms_http::{
    client::Client,
    wire::{NoBody, OneOrPage, OnlyId, Operation, inbox, item, keys, parameters::Limit, webhooks},
};

use super::{
    call::{Paged, list_query},
    list::each,
};
use crate::output::{Done, Exit, Failure};

/// Ids that are told of things with the same name.
const TOLD: usize = 5;

/// The id of a key, from its id or its name.
pub(crate) async fn key(client: &Client, key: &str) -> Done<i64> {
    let known = |key: &cms_core::keys::ApiKey| (key.id, key.name.clone());
    find::<keys::Read>(client, ("API key", "cms keys list"), key, list_query, known).await
}

/// As [`key`], of each.
pub(crate) async fn keys(client: &Client, named: &[String]) -> Done<Vec<i64>> {
    let mut ids = Vec::with_capacity(named.len());
    for one in named {
        ids.push(key(client, one).await?);
    }
    Ok(ids)
}

/// The id of a subscription, from its id or its name.
pub(crate) async fn webhook(client: &Client, webhook: &str) -> Done<i64> {
    let known = |webhook: &cms_core::webhooks::Subscription| (webhook.id, webhook.name.clone());
    let what = ("webhook", "cms webhooks list");
    find::<webhooks::Read>(client, what, webhook, list_query, known).await
}

/// As [`webhook`], of each.
pub(crate) async fn webhooks(client: &Client, named: &[String]) -> Done<Vec<i64>> {
    let mut ids = Vec::with_capacity(named.len());
    for one in named {
        ids.push(webhook(client, one).await?);
    }
    Ok(ids)
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

/// Ids of the records of a table whose column has this value, two at most: one is meant, more are
/// too many.
pub(crate) async fn records(
    client: &Client,
    table: &str,
    column: &str,
    value: &str,
) -> Done<Vec<i64>> {
    let asked = item::WhichItems {
        table: table.to_owned(),
        fields: Some("id".to_owned()),
        limit: Some("2".to_owned()),
        filters: [(format!("filter[{column}][eq]"), value.to_owned())].into(),
        ..item::WhichItems::default()
    };
    let OneOrPage::Page(page) = client.call::<item::Read>(&asked, &NoBody).await? else {
        return Err(Failure::unexpected("it holds one record instead of a list"));
    };
    let ids = page
        .data
        .iter()
        .map(|record| serde_json::from_str(record.json()).map(|OnlyId::<i64> { id }| id));
    ids.collect::<Result<_, _>>().map_err(Failure::unexpected)
}

/// A reference as the service writes it. Over the telephone case, dash and blanks get lost.
fn reference(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let is_one = text.len() == 8 && text.chars().all(|c| c.is_ascii_alphanumeric());
    is_one.then(|| format!("{}-{}", &text[..4], &text[4..]).to_uppercase())
}

/// The id of what a list calls so: with exactly this name, else in other letters' cases.
async fn find<O: Operation<Body = NoBody>>(
    client: &Client,
    what: (&str, &str),
    name: &str,
    query: impl Fn(Limit, Option<String>) -> O::Query,
    known: impl Fn(&<O::Reply as Paged>::Row) -> (i64, String),
) -> Done<i64>
where
    O::Reply: Paged,
{
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let (mut exact, mut alike) = (Found::default(), Found::default());
    each::<O>(client, query, |row| {
        let (id, called) = known(&row);
        if called == name {
            exact.add(id);
        } else if called.to_lowercase() == name.to_lowercase() {
            alike.add(id);
        }
        ControlFlow::Continue(())
    })
    .await?;
    let found = if exact.count > 0 { exact } else { alike };
    only(what, name, &found.ids, found.count)
}

/// Things with one name: their number, and the first ids.
#[derive(Default)]
struct Found {
    ids: Vec<i64>,
    count: usize,
}

impl Found {
    fn add(&mut self, id: i64) {
        self.count += 1;
        if self.ids.len() < TOLD {
            self.ids.push(id);
        }
    }
}

/// The only one that was found.
fn only((what, list): (&str, &str), name: &str, ids: &[i64], count: usize) -> Done<i64> {
    match ids {
        [] => {
            Err(Failure::new(Exit::NotFound, format!("there is no {what} named {name:?}"))
                .hint(list))
        }
        [id] => Ok(*id),
        ids => {
            let told: Vec<String> = ids.iter().take(TOLD).map(i64::to_string).collect();
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
