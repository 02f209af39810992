//! The start page of the demo: a tree of widgets, with its texts in each language.

use std::collections::BTreeMap;

use cms_core::{
    Actor, Change, Cms, Error, Result,
    items::IfMatch,
    pages::builder::{NewNode, NodeKind, Parent},
};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::{LANGUAGES, pictures};

/// The page as rows of columns of widgets. A value is either the same in all languages or an
/// object with a value for each. The value of a picture is its name.
const HOME: &str = include_str!("../../../../demo/home.json");
/// The page of each language, by its id in `pages.jsonl`.
const PAGES: [i64; 2] = [1, 2];

type Values = Map<String, Json>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Placed {
    widget: String,
    data: Values,
    #[serde(default)]
    items: Vec<Values>,
}

/// A page that is being made.
struct Draft<'d> {
    cms: &'d Cms,
    change: &'d mut Change,
    language: &'static str,
    /// Paths of pictures by their names.
    pictures: &'d BTreeMap<String, String>,
    /// Rows written so far.
    written: u64,
}

/// Makes the page in each language, with its pictures, and publishes it. Returns the
/// number of rows.
pub(super) async fn publish(cms: &Cms) -> Result<u64> {
    let rows: Vec<Vec<Vec<Placed>>> = serde_json::from_str(HOME).map_err(Error::internal)?;
    let pictures = pictures::store(cms).await?;
    let mut written = pictures.len() as u64;
    let mut change = cms.change(Actor::System).await?;
    for (page, language) in PAGES.into_iter().zip(LANGUAGES) {
        let change = &mut change;
        let mut draft = Draft { cms, change, language, pictures: &pictures, written: 0 };
        for row in &rows {
            draft.row(page, row).await?;
        }
        written += draft.written;
        cms.pages().publish(draft.change, page, &IfMatch::Nothing).await?;
    }
    change.commit().await?;
    Ok(written)
}

impl Draft<'_> {
    async fn row(&mut self, page: i64, cols: &[Vec<Placed>]) -> Result<()> {
        let row = self.add(NodeKind::Row, page, None, None).await?;
        for col in cols {
            let id = self.add(NodeKind::Col, row, None, None).await?;
            for placed in col {
                let widget = Some(placed.widget.clone());
                let id = self.add(NodeKind::Widget, id, widget, Some(&placed.data)).await?;
                for item in &placed.items {
                    self.add(NodeKind::Item, id, None, Some(item)).await?;
                }
            }
        }
        Ok(())
    }

    async fn add(
        &mut self,
        kind: NodeKind,
        parent: i64,
        widget: Option<String>,
        data: Option<&Values>,
    ) -> Result<i64> {
        let mut new = NewNode::new(kind, Parent::of(kind, parent));
        new.widget = widget;
        new.data = data.map(|values| self.said(values));
        let added = self.cms.pages().add_node(self.change, &IfMatch::Nothing, &new).await?;
        self.written += 1;
        Ok(added.id)
    }

    /// The values for the language of the page, with paths in place of picture names.
    fn said(&self, values: &Values) -> Values {
        let said = |value: &Json| {
            let value = value.get(self.language).unwrap_or(value);
            let path = value.as_str().and_then(|name| self.pictures.get(name));
            path.map_or_else(|| value.clone(), |path| path.as_str().into())
        };
        values.iter().map(|(column, value)| (column.clone(), said(value))).collect()
    }
}
