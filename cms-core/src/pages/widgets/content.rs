//! The content of placed widgets: all of a page side by side, each within a deadline. What fails,
//! panics or takes too long is null and in the log; the page is shown all the same.

use std::{collections::BTreeSet, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use serde_json::{Map, Value as Json};
use tokio::{task::JoinSet, time::Instant};
use tracing::Instrument as _;

use super::{Widgets, pictures};
use crate::plugins::{PlacedWidget, WidgetContent};

/// How long the content of a page may take.
const DEADLINE: Duration = Duration::from_secs(2);

impl Widgets {
    /// A widget on a page in this language; each item of a repeater as its values.
    #[must_use]
    pub fn placed(
        &self,
        id: i64,
        widget: &str,
        language: &str,
        data: Map<String, Json>,
        items: Vec<Map<String, Json>>,
    ) -> PlacedWidget {
        let (widget, language) = (widget.to_owned(), language.to_owned());
        PlacedWidget { id, widget, language, data, items, records: self.0.items.clone() }
    }

    /// The content of the widgets of a page, in their order; null for those that have none. And
    /// whether it is whole: what failed may come the next time.
    pub async fn contents(&self, placed: &[PlacedWidget], backend: bool) -> (Vec<Json>, bool) {
        let (mut running, mut open) = (JoinSet::new(), BTreeSet::new());
        for (place, widget) in placed.iter().enumerate() {
            let Some(provider) = self.provider(&widget.widget) else { continue };
            let widget = widget.clone();
            let made = async move { provider.content(&widget, backend).await };
            let made = AssertUnwindSafe(made.in_current_span()).catch_unwind();
            running.spawn(async move { (place, made.await) });
            open.insert(place);
        }
        let deadline = Instant::now() + DEADLINE;
        let pictures = tokio::time::timeout_at(deadline, pictures::of(self, placed)).await;
        let (mut contents, mut whole) = (vec![Json::Null; placed.len()], true);
        // What is still running when the set is dropped is ended.
        while let Ok(Some(Ok((place, made)))) =
            tokio::time::timeout_at(deadline, running.join_next()).await
        {
            open.remove(&place);
            match made {
                Ok(Ok(content)) => contents[place] = content,
                Ok(Err(error)) => {
                    whole = false;
                    lacks(&placed[place], &format!("{error:?}"));
                }
                Err(_) => {
                    whole = false;
                    lacks(&placed[place], "its code panicked");
                }
            }
        }
        whole &= open.is_empty();
        for place in open {
            lacks(&placed[place], "it took more than two seconds");
        }
        whole &= matches!(pictures, Ok(Ok(_)));
        match pictures {
            Ok(Ok(pictures)) => pictures::add(&mut contents, pictures),
            Ok(Err(error)) => tracing::warn!(?error, "pictures of widgets are shown without texts"),
            Err(_) => {
                tracing::warn!("pictures of widgets are shown without texts: it took too long")
            }
        }
        (contents, whole)
    }

    /// The content tables that pages with these widgets show; None: nobody can tell.
    #[must_use]
    pub fn tables<'w>(&self, names: impl IntoIterator<Item = &'w str>) -> Option<BTreeSet<String>> {
        let mut tables = BTreeSet::new();
        for name in names {
            if let Some(provider) = self.provider(name) {
                tables.extend(provider.tables()?);
            }
            if pictures::are_told_of(name) {
                tables.insert(pictures::TABLE.to_owned());
            }
        }
        Some(tables)
    }

    /// Adds what makes the content of a built-in widget. One of a plugin takes its place.
    pub(crate) fn provide(&self, provider: impl WidgetContent) {
        let mut own = self.0.own.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        own.push(Arc::new(provider));
    }

    /// What makes the content of a widget: code of a plugin first.
    pub(super) fn provider(&self, name: &str) -> Option<Arc<dyn WidgetContent>> {
        if let Some(provider) = self.0.plugins.widget_content(name) {
            return Some(provider);
        }
        let own = self.0.own.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        own.iter().find(|one| one.name() == name).cloned()
    }
}

fn lacks(widget: &PlacedWidget, why: &str) {
    let PlacedWidget { id, widget, .. } = widget;
    tracing::warn!(id, widget, why, "a widget has no content");
}
