//! The published pages that stand in a page: read level by level, one statement for each, as far as
//! their number and their size allow.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use tokio::time::{Instant, timeout_at};

use super::{
    Pages,
    builder::{PlacedWidget, Tree},
    sql,
    widgets::{ELEMENT, MOST_CONTENT},
};
use crate::{Error, Result, db::args};

/// Pages that stand in one another at most, the outermost not counted.
const DEEPEST: usize = 3;
/// Other pages that stand in a page at most, with those that stand in these.
const MOST_PARTS: usize = 20;

/// A page that stands in another.
pub(super) struct Part {
    pub(super) id: i64,
    pub(super) tree: Tree,
    /// The content of its widgets, in their order.
    pub(super) contents: Vec<Json>,
    /// Bytes of tree and content as JSON.
    pub(super) bytes: usize,
}

/// The pages that stand in a page.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) all: Vec<Part>,
    /// By the id that a widget names: the version in the language of the page. None: it is not
    /// published, or is left out.
    named: BTreeMap<i64, Option<i64>>,
    /// Whether one is missing that may come the next time.
    pub(super) lack: bool,
    /// Whether one was left out because there are too many, or too large ones.
    pub(super) short: bool,
}

impl Pages {
    /// The published pages that a tree names, those that these name, and so on: what stands nearer
    /// comes first, then what stands higher on its page.
    pub(super) async fn parts(
        &self,
        tree: &Tree,
        (page, language): (i64, &str),
        deadline: Instant,
    ) -> Parts {
        let (mut parts, mut wanted) = (Parts::default(), names(tree));
        let mut room = MOST_CONTENT;
        for _ in 0..DEEPEST {
            wanted.retain(|id| !parts.named.contains_key(id));
            if wanted.is_empty() {
                break;
            }
            let most = MOST_PARTS - parts.all.len();
            let read = self.level(page, &wanted, language, room, most + 1);
            let found = match timeout_at(deadline, read).await {
                Ok(Ok(found)) => found,
                Ok(Err(error)) => {
                    tracing::warn!(page, ?error, "pages that stand in it are missing");
                    parts.lack = true;
                    break;
                }
                Err(_) => {
                    tracing::warn!(page, "pages that stand in it are missing: it took too long");
                    parts.lack = true;
                    break;
                }
            };
            parts.named.extend(wanted.iter().map(|id| (*id, None)));
            let mut further = Vec::new();
            for (n, (named, id, frozen)) in found.into_iter().enumerate() {
                let Some(frozen) = frozen.filter(|_| n < most) else {
                    parts.short = true;
                    continue;
                };
                parts.named.insert(named, Some(id));
                if parts.all.iter().any(|one| one.id == id) {
                    continue;
                }
                let tree: Tree = match serde_json::from_str(&frozen) {
                    Ok(tree) => tree,
                    Err(error) => {
                        tracing::warn!(page, id, %error, "a page that stands in it is missing");
                        parts.lack = true;
                        continue;
                    }
                };
                further.extend(names(&tree));
                room = room.saturating_sub(frozen.len());
                let contents = Vec::new();
                parts.all.push(Part { id, tree, contents, bytes: frozen.len() });
            }
            wanted = further;
        }
        parts
    }

    /// The published versions in a language of the pages with these ids, other than `page`, in this
    /// order: the id that was asked for, their own, and what was frozen, unless those as far as it
    /// have more than `room` bytes.
    async fn level(
        &self,
        page: i64,
        wanted: &[i64],
        language: &str,
        room: usize,
        most: usize,
    ) -> Result<Vec<(i64, i64, Option<String>)>> {
        let named = |(at, id): (usize, &i64)| serde_json::json!({"id": id, "at": at});
        let named: Vec<_> = wanted.iter().enumerate().map(named).collect();
        let named = serde_json::to_string(&named).map_err(Error::internal)?;
        let db = self.base().db();
        let args = args![named, language, room as i64, most as i64, page];
        db.all(db.dialect().of(&sql::PARTS), args).await
    }
}

impl Parts {
    /// The page that a widget shows. None: it is not published in this language, or a circle would
    /// close, or it stands too deep. `chain`: the pages that the widget stands in.
    pub(super) fn of(&self, placed: &PlacedWidget, chain: &[i64]) -> Option<&Part> {
        let id = named(placed).and_then(|id| *self.named.get(&id)?)?;
        let part = self.all.iter().find(|part| part.id == id)?;
        (!chain.contains(&id) && chain.len() <= DEEPEST).then_some(part)
    }

    /// Leaves out the pages that are shown nowhere, so that nobody makes their content: because a
    /// circle would close, or because there is no room for their trees.
    pub(super) fn keep_shown(&mut self, tree: &Tree, page: i64) {
        let ids = BTreeSet::new();
        let mut reach = Reach { parts: self, room: MOST_CONTENT, ids, short: self.short };
        reach.walk(tree, &[page]);
        let Reach { ids, short, .. } = reach;
        self.short = short;
        self.all.retain(|part| ids.contains(&part.id));
    }
}

/// The pages that are shown somewhere.
struct Reach<'p> {
    parts: &'p Parts,
    /// Bytes that further ones may still take.
    room: usize,
    ids: BTreeSet<i64>,
    /// Whether there was no room for one.
    short: bool,
}

impl Reach<'_> {
    fn walk(&mut self, tree: &Tree, chain: &[i64]) {
        let parts = self.parts;
        for part in elements(tree).filter_map(|placed| parts.of(placed, chain)) {
            let Some(rest) = self.room.checked_sub(part.bytes) else {
                self.short = true;
                continue;
            };
            self.room = rest;
            self.ids.insert(part.id);
            self.walk(&part.tree, &[chain, &[part.id]].concat());
        }
    }
}

fn elements(tree: &Tree) -> impl Iterator<Item = &PlacedWidget> {
    tree.widgets().filter(|one| one.widget == ELEMENT)
}

/// The ids of the pages that a tree names, each once, in their order on the page.
fn names(tree: &Tree) -> Vec<i64> {
    let mut seen = BTreeSet::new();
    elements(tree).filter_map(named).filter(|id| seen.insert(*id)).collect()
}

fn named(placed: &PlacedWidget) -> Option<i64> {
    let page = placed.data.get("page")?;
    page.as_i64().or_else(|| page.as_str()?.parse().ok())
}
