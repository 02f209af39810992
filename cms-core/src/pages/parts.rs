//! The published pages inside a page, read level by level with one statement for each level,
//! within limits on their number and size.

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

/// How deep pages may be nested, not counting the outermost.
const DEEPEST: usize = 3;
/// Maximum number of pages inside a page, at all levels together.
const MOST_PARTS: usize = 20;

/// A page inside another page.
pub(super) struct Part {
    pub(super) id: i64,
    pub(super) tree: Tree,
    /// The content of its widgets, in order.
    pub(super) contents: Vec<Json>,
    /// Size of tree and content as JSON, in bytes.
    pub(super) bytes: usize,
}

/// The pages inside a page.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) all: Vec<Part>,
    /// By the id that a widget names: the version in the language of the page. `None`: no such
    /// version is published, or it is left out.
    named: BTreeMap<i64, Option<i64>>,
    /// Whether a page is missing that a later read may find.
    pub(super) lack: bool,
    /// Whether a page was left out because there are too many, or they are too large.
    pub(super) short: bool,
}

impl Pages {
    /// The published pages that a tree names, the pages that these name, and so on. Pages at a
    /// higher level come first; within a level, the order of the page decides.
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
                    tracing::warn!(page, ?error, "pages inside this page are missing");
                    parts.lack = true;
                    break;
                }
                Err(_) => {
                    tracing::warn!(page, "pages inside this page are missing: reading timed out");
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
                        tracing::warn!(page, id, %error, "a page inside this page is missing");
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

    /// The published versions, in a language, of the pages with these ids except `page`, in this
    /// order. Each row has the requested id, the id of the version, and its frozen tree; the tree
    /// is missing once the trees up to it exceed `room` bytes.
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
    /// The page that a widget shows. `None`: it is not published in this language, it would close
    /// a circle, or it is nested too deep. `chain`: the pages around the widget.
    pub(super) fn of(&self, placed: &PlacedWidget, chain: &[i64]) -> Option<&Part> {
        let id = named(placed).and_then(|id| *self.named.get(&id)?)?;
        let part = self.all.iter().find(|part| part.id == id)?;
        (!chain.contains(&id) && chain.len() <= DEEPEST).then_some(part)
    }

    /// Drops the pages that are not shown, so that their content is not made: they would close a
    /// circle, or there is no room for their trees.
    pub(super) fn keep_shown(&mut self, tree: &Tree, page: i64) {
        let ids = BTreeSet::new();
        let mut reach = Reach { parts: self, room: MOST_CONTENT, ids, short: self.short };
        reach.walk(tree, &[page]);
        let Reach { ids, short, .. } = reach;
        self.short = short;
        self.all.retain(|part| ids.contains(&part.id));
    }
}

/// Collects the pages that are shown somewhere.
struct Reach<'p> {
    parts: &'p Parts,
    /// Bytes that further pages may take.
    room: usize,
    ids: BTreeSet<i64>,
    /// Whether a page had no room.
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

/// The ids of the pages that a tree names, without duplicates, in their order on the page.
fn names(tree: &Tree) -> Vec<i64> {
    let mut seen = BTreeSet::new();
    elements(tree).filter_map(named).filter(|id| seen.insert(*id)).collect()
}

fn named(placed: &PlacedWidget) -> Option<i64> {
    let page = placed.data.get("page")?;
    page.as_i64().or_else(|| page.as_str()?.parse().ok())
}
