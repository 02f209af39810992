//! Edits of a draft. Each takes a fixed number of statements, whatever the size of the page.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{
    hold::note,
    sql,
    tree::{NodeKind, PlacedWidget, Spot, Tree, index, not_found},
    types::{Edited, Move, NewNode, Parent},
};
use crate::{
    Change, Error, Result,
    items::{IfMatch, NewPlaced, add_rows, set_row},
    pages::{
        Pages,
        widgets::{Menu, Widget, values},
    },
    plugins::manifest::FieldType,
};

/// A new node, checked.
struct CheckedNode {
    /// The name of a widget.
    name: Option<String>,
    /// The menu that its values must fit, if it may have values.
    menu: Option<Menu>,
    data: Map<String, Json>,
}

impl Pages {
    /// Adds a node to a draft.
    ///
    /// # Errors
    /// `not_found` for the parent; `stale`; `validation_failed` for a parent of another kind, an
    /// unknown widget, values that its menu does not accept, a position after the end, and a page
    /// that would become too large. As every write.
    pub async fn add_node(
        &self,
        change: &mut Change,
        if_match: &IfMatch,
        new: &NewNode,
    ) -> Result<Edited> {
        let kind = new.kind;
        let parent = fitting(&new.parent, kind)?;
        let held = self.hold(change, above(kind), parent, if_match).await?;
        let tree = self.tree_in(change, held.id).await?;
        let CheckedNode { name, menu, data } = self.check_node(&tree, new, parent)?;
        let data = stored(&data.into_iter().filter(|(_, value)| !value.is_null()).collect());
        tree.admit(Some(kind), parent, size(&data))?;
        let at = index(new.position, tree.siblings(kind, parent))?;
        let row = NewPlaced {
            id: None,
            parent,
            position: at as i64,
            name: (kind == NodeKind::Item).then(|| held.language.clone()).or(name.clone()),
            base: None,
            data: data.clone(),
        };
        let columns = self.widgets().columns();
        let added = add_rows(change, sql::table(kind), &columns, held.id, &[row]).await?;
        let id = added.first().map(|at| at.id).ok_or_else(|| Error::internal("no row added"))?;
        let shift = sql::shift(kind, 1, Spot { parent, at }, id);
        let written: Vec<&str> = data.keys().map(String::as_str).collect();
        note(change, &held, "added", Some((kind, id)), &written, vec![shift]).await?;
        Ok(Edited {
            kind,
            id,
            parent: Parent::of(kind, parent),
            position: at as i64,
            widget: name,
            data: menu.map(|menu| visible_values(&menu, &data)),
            page_id: held.id,
            rev: held.rev,
        })
    }

    /// Changes values of a widget or an item in a draft. Null clears a value; omitted values stay.
    ///
    /// # Errors
    /// `not_found`; `stale`; `validation_failed` for values that the menu does not accept. As
    /// every write.
    pub async fn set_node(
        &self,
        change: &mut Change,
        if_match: &IfMatch,
        (kind, id): (NodeKind, i64),
        data: &Map<String, Json>,
    ) -> Result<Edited> {
        let held = self.hold(change, Some(kind), id, if_match).await?;
        let tree = self.tree_in(change, held.id).await?;
        let spot = tree.spot(kind, id).ok_or_else(|| not_found(kind, id))?;
        let (widget, mut values) = match kind {
            NodeKind::Item => tree.item(id).map(|(widget, item)| (widget, item.data.clone())),
            _ => tree.widget(id).map(|widget| (widget, widget.data.clone())),
        }
        .ok_or_else(|| not_found(kind, id))?;
        let known = self.registered_widget(&widget.widget)?;
        let menu = if kind == NodeKind::Item { &known.item_menu } else { &known.menu };
        let checked = self.widgets().check(menu, data)?;
        let checked = stored(&checked);
        let replaced = values.iter().filter(|(column, _)| checked.contains_key(*column));
        let replaced: Map<String, Json> =
            replaced.map(|(column, value)| (column.clone(), value.clone())).collect();
        tree.admit(None, 0, size(&checked).saturating_sub(size(&replaced)))?;
        let shown = visible_values(menu, &checked);
        let is_secret = |column: &str| {
            menu.iter().any(|one| one.row == column && one.field_type == FieldType::Password)
        };
        // Passwords are not compared.
        let changed: Vec<&str> = checked
            .keys()
            .map(String::as_str)
            .filter(|column| is_secret(column) || shown.get(*column) != replaced.get(*column))
            .collect();
        values.retain(|column, _| !checked.contains_key(column));
        values.extend(shown);
        let rev = if checked.is_empty() {
            // Nothing was edited, so the entity tags that others hold stay valid.
            sql::release(change, held.id).await?;
            held.rev - 1
        } else {
            set_row(change, sql::table(kind), id, &checked).await?;
            note(change, &held, "changed", Some((kind, id)), &changed, Vec::new()).await?;
            held.rev
        };
        Ok(Edited {
            kind,
            id,
            parent: Parent::of(kind, spot.parent_of(kind, held.id)),
            position: spot.at as i64,
            widget: (kind == NodeKind::Widget).then(|| widget.widget.clone()),
            data: Some(values),
            page_id: held.id,
            rev,
        })
    }

    /// Removes a node from a draft, with all nodes in it. Returns the page and the rev of
    /// its draft.
    ///
    /// # Errors
    /// `not_found`; `stale`. As every write.
    pub async fn remove_node(
        &self,
        change: &mut Change,
        if_match: &IfMatch,
        (kind, id): (NodeKind, i64),
    ) -> Result<(i64, i64)> {
        let held = self.hold(change, Some(kind), id, if_match).await?;
        let tree = self.tree_in(change, held.id).await?;
        let spot = tree.spot(kind, id).ok_or_else(|| not_found(kind, id))?;
        let from = Spot { parent: spot.parent_of(kind, held.id), at: spot.at };
        let steps = vec![sql::delete(kind, id), sql::shift(kind, -1, from, id)];
        note(change, &held, "removed", Some((kind, id)), &[], steps).await?;
        Ok((held.id, held.rev))
    }

    /// Moves a node within its page.
    ///
    /// # Errors
    /// `not_found`; `stale`; `validation_failed` for a parent on another page or of another kind,
    /// and for a position after the end. As every write.
    pub async fn move_node(
        &self,
        change: &mut Change,
        if_match: &IfMatch,
        asked: &Move,
    ) -> Result<Edited> {
        let (kind, id) = (asked.kind, asked.id);
        let held = self.hold(change, Some(kind), id, if_match).await?;
        let tree = self.tree_in(change, held.id).await?;
        let spot = tree.spot(kind, id).ok_or_else(|| not_found(kind, id))?;
        let from = Spot { parent: spot.parent_of(kind, held.id), at: spot.at };
        let parent = match &asked.parent {
            Some(parent) => fitting(parent, kind)?,
            None => from.parent,
        };
        self.admit_parent(&tree, (kind, id), parent, held.id)?;
        let same = parent == from.parent;
        let siblings = tree.siblings(kind, parent) - usize::from(same);
        if !same && kind == NodeKind::Col {
            tree.admit(Some(kind), parent, 0)?;
        }
        let to = Spot { parent, at: index(asked.position, siblings)? };
        let steps = sql::moved(kind, id, from, to);
        note(change, &held, "moved", Some((kind, id)), &[], steps).await?;
        let nodes = tree.nodes(held.id);
        let node = nodes.iter().find(|node| node.kind == kind && node.id == id);
        Ok(Edited {
            kind,
            id,
            parent: Parent::of(kind, parent),
            position: to.at as i64,
            widget: node.and_then(|node| node.widget).map(str::to_owned),
            data: node.and_then(|node| node.data).cloned(),
            page_id: held.id,
            rev: held.rev,
        })
    }

    /// Checks the values of a new node.
    fn check_node(&self, tree: &Tree, new: &NewNode, parent: i64) -> Result<CheckedNode> {
        let kind = new.kind;
        if kind != NodeKind::Widget && new.widget.is_some() {
            let message = "only widgets have one";
            return Err(Error::invalid_field("widget", "unexpected", message));
        }
        let given = new.data.clone().unwrap_or_default();
        match kind {
            NodeKind::Widget => {
                let name = new.widget.as_deref().ok_or_else(|| {
                    let message = "the name of a widget, see GET /api/backend/pagebuilder/widgets";
                    Error::invalid_field("widget", "required", message)
                })?;
                let known = self.registered_widget(name)?;
                let data = self.widgets().check(&known.menu, &given)?;
                let (name, menu) = (Some(name.to_owned()), Some(known.menu.clone()));
                Ok(CheckedNode { name, menu, data })
            }
            NodeKind::Item => {
                let widget = tree.widget(parent).ok_or_else(|| not_found(kind, parent))?;
                let known = self.repeater(widget)?;
                let data = self.widgets().check(&known.item_menu, &given)?;
                Ok(CheckedNode { name: None, menu: Some(known.item_menu.clone()), data })
            }
            _ if given.is_empty() => Ok(CheckedNode { name: None, menu: None, data: given }),
            _ => Err(Error::invalid_field("data", "unexpected", "rows and columns hold no values")),
        }
    }

    fn registered_widget(&self, name: &str) -> Result<Arc<Widget>> {
        self.widgets().find(name).ok_or_else(|| {
            let message = format!("there is no widget {name:?}: cms widgets list names them");
            Error::invalid_field("widget", "unknown_widget", message)
        })
    }

    fn repeater(&self, widget: &PlacedWidget) -> Result<Arc<Widget>> {
        let known = self.registered_widget(&widget.widget)?;
        if known.is_repeater() {
            return Ok(known);
        }
        let message = format!("the widget {} has no items", widget.widget);
        Err(Error::invalid_field("parent.widget_id", "no_repeater", message))
    }

    /// Refuses a parent that is not on this page, and moving an item to another kind of widget.
    fn admit_parent(
        &self,
        tree: &Tree,
        (kind, id): (NodeKind, i64),
        parent: i64,
        page: i64,
    ) -> Result<()> {
        let Some(of) = above(kind) else {
            return match parent == page {
                true => Ok(()),
                false => Err(elsewhere(kind)),
            };
        };
        tree.spot(of, parent).ok_or_else(|| elsewhere(kind))?;
        if kind != NodeKind::Item {
            return Ok(());
        }
        let (from, to) = (tree.item(id).map(|(widget, _)| widget), tree.widget(parent));
        match (from, to) {
            (Some(from), Some(to)) if from.widget == to.widget => Ok(()),
            _ => {
                let message = "items move between widgets of the same name only";
                Err(Error::invalid_field("parent.widget_id", "no_repeater", message))
            }
        }
    }
}

impl Spot {
    /// The id of the parent; the parent of a row is the page.
    pub(super) fn parent_of(self, kind: NodeKind, page: i64) -> i64 {
        if kind == NodeKind::Row { page } else { self.parent }
    }
}

/// The kind of the parent; the parent of a row is the page, which has no kind.
fn above(kind: NodeKind) -> Option<NodeKind> {
    match kind {
        NodeKind::Row => None,
        NodeKind::Col => Some(NodeKind::Row),
        NodeKind::Widget => Some(NodeKind::Col),
        NodeKind::Item => Some(NodeKind::Widget),
    }
}

fn fitting(parent: &Parent, kind: NodeKind) -> Result<i64> {
    parent.fitting(kind).ok_or_else(|| {
        let message =
            format!("only {} is expected: the parent of a {}", kind.parent(), kind.as_str());
        Error::invalid_field("parent", "required", message)
    })
}

fn elsewhere(kind: NodeKind) -> Error {
    let message = "the parent is not on this page: nodes move within their page";
    Error::invalid_field(format!("parent.{}", kind.parent()), "unknown", message)
}

/// Texts of columns as a menu shows them, without passwords.
fn visible_values(menu: &Menu, texts: &Map<String, Json>) -> Map<String, Json> {
    let value = |(column, text): (&String, &Json)| {
        let value = values::shown(Some(menu), column, text.as_str()?);
        (!value.is_null()).then(|| (column.clone(), value))
    };
    texts.iter().filter_map(value).collect()
}

/// Approximate size of values as JSON, in bytes.
fn size(data: &Map<String, Json>) -> usize {
    data.iter().map(|(name, value)| name.len() + value.to_string().len() + 4).sum::<usize>() + 64
}

/// Values as their columns store them: as texts.
pub(super) fn stored(data: &Map<String, Json>) -> Map<String, Json> {
    let text = |value: &Json| match value {
        Json::Null | Json::String(_) => value.clone(),
        Json::Bool(true) => "1".into(),
        Json::Bool(false) => "0".into(),
        other => other.to_string().into(),
    };
    data.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_parent_fits_its_kind_alone() {
        let parent = |json| serde_json::from_value::<Parent>(json).expect("a parent");
        assert_eq!(fitting(&parent(json!({"row_id": 7})), NodeKind::Col).ok(), Some(7));
        for (given, kind) in [
            (json!({}), NodeKind::Row),
            (json!({"row_id": 7}), NodeKind::Widget),
            (json!({"row_id": 7, "col_id": 8}), NodeKind::Col),
        ] {
            assert!(fitting(&parent(given), kind).is_err());
        }
    }

    #[test]
    fn columns_hold_texts() {
        let data = json!({"a": "x", "b": 2.5, "c": true, "d": false, "e": null});
        let texts = json!({"a": "x", "b": "2.5", "c": "1", "d": "0", "e": null});
        assert_eq!(Json::Object(stored(data.as_object().expect("an object"))), texts);
    }
}
