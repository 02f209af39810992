//! What is doubtful about a new key, although the service makes it

use cms_core::{Clock, keys::NewApiKey, rfc3339};
use cms_http::{
    client::Client,
    wire::{
        NoBody, OneOrPage,
        keys::Read,
        parameters::{Limit, OneOrList},
    },
};

use crate::output::Done;

/// Sentences to warn with.
pub(super) async fn of(client: &Client, new: &NewApiKey) -> Done<Vec<String>> {
    let mut doubts = Vec::new();
    if new.rights.is_empty() {
        let grant = "cms keys rights KEY --grant RIGHT gives it one";
        doubts.push(format!("the key has no right, so it may call nothing; {grant}"));
    }
    // The day in UTC: the site's own may differ by some hours.
    let today = rfc3339(Clock::system().now());
    if let Some(day) = new.expires_on.as_deref().filter(|day| *day < &today[..10]) {
        doubts.push(format!("the key has expired already: it stopped at the start of {day}"));
    }
    if let Some(id) = namesake(client, &new.name).await {
        let name = &new.name;
        doubts.push(format!("the key {id} is named {name:?} too: use ids to tell them apart"));
    }
    Ok(doubts)
}

/// A key of the same name. A caller that may not list keys gets no warning.
async fn namesake(client: &Client, name: &str) -> Option<i64> {
    let mut asked = OneOrList::page(Limit(1), None);
    asked.list.filters.insert("filter[name]".to_owned(), name.to_owned());
    match client.call::<Read>(&asked, &NoBody).await {
        Ok(OneOrPage::Page(page)) => page.data.first().map(|key| key.id),
        _ => None,
    }
}
