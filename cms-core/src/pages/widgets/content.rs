//! The content of placed widgets. All widgets of a page make their content concurrently, a limited
//! number at once, within a deadline and a size. Content that fails, panics, is late or is too
//! large becomes null and is logged; the page is shown all the same.

use std::{collections::BTreeSet, io, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use serde_json::{Map, Value as Json};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, timeout_at},
};
use tracing::Instrument as _;

use super::{Widgets, pictures};
use crate::plugins::{PlacedWidget, WidgetContent};

/// Time limit for all content of a page.
pub(in crate::pages) const DEADLINE: Duration = Duration::from_secs(2);
/// Providers that run at once for one page.
const AT_ONCE: usize = 16;
/// Maximum size of the content of a page as JSON, in bytes.
pub(in crate::pages) const MOST_BYTES: usize = 4 << 20;
/// Bytes around the pictures of a widget in JSON.
const MEMBER: usize = r#"{"pictures":}"#.len();
const NO_ROOM: &str = "the page would have more than 4 MiB of content";

impl Widgets {
    /// A widget on a page in this language; `items` holds the values of each item of a repeater.
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
        let (records, site) = (self.0.items.clone(), self.0.plugins.site());
        PlacedWidget { id, widget, language, data, items, records, site }
    }

    /// The content of the widgets of a page, in order; null for widgets without content. The
    /// second value says whether all content was made: a later call may succeed where this
    /// one failed.
    pub async fn contents(&self, placed: &[PlacedWidget], backend: bool) -> (Vec<Json>, bool) {
        self.contents_of(placed, backend, Instant::now() + DEADLINE).await
    }

    /// As [`Widgets::contents`].
    pub(in crate::pages) async fn contents_of(
        &self,
        placed: &[PlacedWidget],
        backend: bool,
        deadline: Instant,
    ) -> (Vec<Json>, bool) {
        let (mut running, mut open) = (JoinSet::new(), BTreeSet::new());
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        for (place, widget) in placed.iter().enumerate() {
            let Some(provider) = self.provider(&widget.widget) else { continue };
            let (widget, turns) = (widget.clone(), turns.clone());
            let made = async move { provider.content(&widget, backend).await };
            let made = AssertUnwindSafe(made.in_current_span()).catch_unwind();
            running.spawn(async move {
                let turn = turns.acquire_owned().await;
                // The turn ends when the content is received, which limits the content that waits.
                (place, made.await, turn)
            });
            open.insert(place);
        }
        let (mut contents, mut whole) = (vec![Json::Null; placed.len()], true);
        let mut room = MOST_BYTES;
        let taken = async {
            // Dropping the set ends the providers that still run.
            while let Ok(Some(Ok((place, made, _turn)))) =
                timeout_at(deadline, running.join_next()).await
            {
                open.remove(&place);
                let failed = match made {
                    Ok(Ok(content)) => match room.checked_sub(size(&content)) {
                        Some(rest) => {
                            (contents[place], room) = (content, rest);
                            continue;
                        }
                        None => NO_ROOM.to_owned(),
                    },
                    Ok(Err(error)) => format!("{error:?}"),
                    Err(_) => "its code panicked".to_owned(),
                };
                whole = false;
                warn_no_content(&placed[place], &failed);
            }
        };
        let pictures = timeout_at(deadline, pictures::of(self, placed));
        let (pictures, ()) = tokio::join!(pictures, taken);
        whole &= open.is_empty();
        for place in open {
            let why = "it took more than two seconds, or waited for others that did";
            warn_no_content(&placed[place], why);
        }
        whole &= matches!(pictures, Ok(Ok(_)));
        match pictures {
            Ok(Ok(pictures)) => {
                let some = pictures.into_iter().enumerate().filter(|(_, some)| !some.is_empty());
                for (place, pictures) in some {
                    let Some(rest) = room.checked_sub(size(&pictures) + MEMBER) else {
                        whole = false;
                        warn_no_content(&placed[place], NO_ROOM);
                        continue;
                    };
                    room = rest;
                    pictures::add(&mut contents[place], pictures);
                }
            }
            Ok(Err(error)) => tracing::warn!(?error, "pictures of widgets are shown without texts"),
            Err(_) => {
                tracing::warn!("pictures of widgets are shown without texts: it took too long")
            }
        }
        (contents, whole)
    }

    /// The content tables that pages with these widgets show; `None`: unknown.
    #[must_use]
    pub fn tables<'w>(&self, names: impl IntoIterator<Item = &'w str>) -> Option<BTreeSet<String>> {
        let mut tables = BTreeSet::new();
        for name in names {
            if let Some(provider) = self.provider(name) {
                tables.extend(provider.tables()?);
            }
            if pictures::has_picture_data(name) {
                tables.insert(pictures::TABLE.to_owned());
            }
        }
        Some(tables)
    }

    /// Adds a provider of the content of a built-in widget. A provider of a plugin replaces it.
    pub(crate) fn provide(&self, provider: impl WidgetContent) {
        let mut own = self.0.own.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        own.push(Arc::new(provider));
    }

    /// The provider of the content of a widget; code of a plugin comes first.
    pub(in crate::pages) fn provider(&self, name: &str) -> Option<Arc<dyn WidgetContent>> {
        if let Some(provider) = self.0.plugins.widget_content(name) {
            return Some(provider);
        }
        let own = self.0.own.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        own.iter().find(|one| one.name() == name).cloned()
    }
}

/// Bytes of a value as JSON.
pub(in crate::pages) fn size(value: &impl serde::Serialize) -> usize {
    struct Counter(usize);

    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(0);
    // Values that are shown can always be written.
    serde_json::to_writer(&mut counter, value).map_or(usize::MAX, |()| counter.0)
}

fn warn_no_content(widget: &PlacedWidget, why: &str) {
    let PlacedWidget { id, widget, .. } = widget;
    tracing::warn!(id, widget, why, "a widget lacks content");
}
