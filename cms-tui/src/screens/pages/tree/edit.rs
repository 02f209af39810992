//! Values of a widget or of an item: the form, and what is sent of it. Rows, columns, widgets and
//! items added to a draft.

use std::sync::{Arc, OnceLock};

use cms_http::wire::pagebuilder::Add;
use serde::{Deserialize, Serialize};

use super::{
    changes,
    widgets::{self, WidgetRegistry},
};
use crate::{
    calls::LONGEST,
    screens::{
        pages::{
            hold::{DraftView, OthersEdits},
            nodes,
        },
        prelude::*,
    },
};

/// Reads the menu of its widget, then shows the form.
pub(super) fn open(seen: &DraftView, node: &Json) -> Step {
    let (seen, node) = (seen.clone(), node.clone());
    let name = node["widget"].as_str().unwrap_or_default().to_owned();
    widgets::one(&name).then(move |reply| {
        let menu = widgets::menu(&reply.data, node["kind"].as_str().unwrap_or_default());
        form(seen, node, menu.to_vec())
    })
}

fn form(seen: DraftView, node: Json, menu: Vec<Json>) -> Step {
    if menu.is_empty() {
        return Step::Tell(format!("{} asks for nothing.", nodes::name(&node)));
    }
    let title = format!("{} of {}", nodes::name(&node), seen.name());
    let fields = widgets::fields(&menu, &node["data"]);
    Form::new(title, fields, move |values| submit(&seen, &node, &menu, values))
        .note("Only what you change is sent. Visitors see it after the next publication.")
        .step()
}

fn submit(seen: &DraftView, node: &Json, menu: &[Json], values: &Values) -> Step {
    let changed = widgets::changed(menu, values);
    if changed.is_empty() {
        return Step::tell("Nothing was changed.");
    }
    let (page, of, wanted) = (seen.id(), node.clone(), changed);
    let is_read_back = !wanted.keys().any(|row| widgets::is_password(menu, row));
    let (written, mine) = (wanted.clone(), wanted.clone());
    let (made, read) = (of.clone(), of.clone());
    let done = move |reply: &Reply, others: &OthersEdits| {
        let (rows, before) = (wanted.keys(), others.node_before(&of)["data"].take());
        // What others wrote meanwhile may be too long to be written back.
        let is_long = |value: &Json| value.as_str().is_some_and(|text| text.len() >= LONGEST);
        let of_rows = |data: &Json| -> Map<String, Json> {
            rows.clone().map(|row| (row.clone(), data[row.as_str()].clone())).collect()
        };
        let now = of_rows(&reply.data["data"]);
        let before = of_rows(&before);
        let has_undo = is_read_back && !before.values().any(is_long);
        let undo = has_undo.then(|| changes::values(page, of.clone(), now, before));
        Step::undoable(format!("{} is saved{others}", nodes::name(&of)), undo.map(changes::one))
    };
    seen.change(move || changes::setting(&made, &written), done)
        .merging(move |others, draft| clashes(&others.node_before(&read), &mine, draft))
        .step()
}

/// Values that both have changed, to different ones.
fn clashes(seen: &Json, mine: &Map<String, Json>, draft: &Json) -> Result<Vec<String>, Fault> {
    let (kind, id) = (seen["kind"].as_str().unwrap_or_default(), seen["id"].as_i64());
    let Some(now) = nodes::find(draft, kind, id.unwrap_or_default()) else {
        let name = nodes::name(seen);
        let why = format!("Somebody has removed {name}: nothing was written.");
        return Err(Fault::new(why));
    };
    let shown = |value: &Json| match value {
        Json::Null => "(not set)".to_owned(),
        value => cut(&plain_text(value), 22).into_owned(),
    };
    let line = |(row, value): (&String, &Json)| {
        let (was, theirs) = (&seen["data"][row.as_str()], &now["data"][row.as_str()]);
        let clashes = theirs != was && theirs != value;
        clashes.then(|| format!("{row}: theirs {} · yours {}", shown(theirs), shown(value)))
    };
    Ok(mine.iter().filter_map(line).collect())
}

const NOTE: &str = "What you leave empty is not set. Visitors see it after the next publication.";

/// Where something new stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Room {
    kind: String,
    /// What it stands in; None: a widget in a row and a column that are made for it.
    parent: Option<i64>,
    /// At the end without it.
    position: Option<i64>,
    /// Of widgets and items.
    widget: Option<String>,
}

/// What can be added at a node: in it, or behind it.
fn rooms(node: &Json, known: &WidgetRegistry) -> Vec<(String, Room)> {
    let number = |name: &str| node[name].as_i64();
    let kind = node["kind"].as_str().unwrap_or_default();
    let room = |kind: &str, parent, position| Room {
        kind: kind.to_owned(),
        parent,
        position,
        widget: None,
    };
    let within = |kind: &str| room(kind, number("id"), None);
    let behind = || room(kind, number("parent"), number("position").map(|at| at + 1));
    let widget = node["widget"].as_str().map(str::to_owned);
    let of = |room: Room| Room { widget: widget.clone(), ..room };
    let name = nodes::name(node);
    let say = |text: &str| format!("{text} {name}");
    match kind {
        "row" => vec![(say("a column in"), within("col")), (say("a row below"), behind())],
        "col" => vec![(say("a widget in"), within("widget")), (say("a column behind"), behind())],
        "widget" => {
            let has_items = widget.as_deref().and_then(|name| known.get(name));
            let has_items = has_items.is_some_and(|one| !widgets::menu(one, "item").is_empty());
            let item = has_items.then(|| (say("an item in"), of(within("item"))));
            item.into_iter().chain([(say("a widget below"), behind())]).collect()
        }
        "item" => vec![(say("an item below"), of(behind()))],
        "page" => vec![
            ("a widget in a row of its own, at the end".to_owned(), room("widget", None, None)),
            ("a row at the end".to_owned(), within("row")),
        ],
        _ => Vec::new(),
    }
}

pub(super) fn begin(seen: &DraftView, node: &Json, known: &WidgetRegistry) -> Step {
    let (entries, mut rooms): (Vec<_>, Vec<_>) = rooms(node, known).into_iter().unzip();
    if rooms.is_empty() {
        return Step::tell("Nothing can be added here.");
    }
    if rooms.len() == 1 {
        return at(seen, rooms.remove(0), known);
    }
    let (seen, known) = (seen.clone(), known.clone());
    Step::Menu(Menu::new("Add", entries, move |n| match rooms.into_iter().nth(n) {
        Some(room) => at(&seen, room, &known),
        None => Step::None,
    }))
}

fn at(seen: &DraftView, room: Room, known: &WidgetRegistry) -> Step {
    if room.kind == "widget" && room.widget.is_none() {
        return pick(room, known);
    }
    match room.widget.is_some() {
        true => filled(seen, room),
        false => added(seen, room, Map::new(), OwnRow::default()),
    }
}

/// Asks which widget; the screen goes on with it.
fn pick(room: Room, known: &WidgetRegistry) -> Step {
    let options = known.options();
    if options.is_empty() {
        let why = match known.has_failed {
            true => "The registry of widgets could not be read: try again (F5).",
            false => "The registry of widgets is not read yet.",
        };
        return Step::tell(why);
    }
    let field = Field::pick("widget", "Widget", options).required();
    Form::new("Which widget?", vec![field], move |values| {
        let name = widgets::name_in(&values.text("widget")).to_owned();
        let room = Room { widget: Some(name), ..room.clone() };
        Step::Set("place", serde_json::to_string(&room).unwrap_or_default())
    })
    .note("Type a part of its name, its title or its group; Enter takes it.")
    .step()
}

/// A widget was chosen.
pub(super) fn chosen(seen: &DraftView, room: &str, known: &WidgetRegistry) -> Step {
    match serde_json::from_str::<Room>(room) {
        Ok(room) if room.widget.as_deref().is_some_and(|name| known.get(name).is_some()) => {
            filled(seen, room)
        }
        _ => Step::Fault(Fault::new("Choose a widget.")),
    }
}

/// Reads its menu, then shows the form of its values.
fn filled(seen: &DraftView, room: Room) -> Step {
    let seen = seen.clone();
    let name = room.widget.clone().unwrap_or_default();
    widgets::one(&name).then(move |reply| {
        let menu = widgets::menu(&reply.data, &room.kind).to_vec();
        let own = OwnRow::default();
        let stays = match room.parent {
            Some(_) => "",
            None => " When it is refused, the row and the column made for it stay.",
        };
        if menu.is_empty() {
            return added(&seen, room, Map::new(), own);
        }
        let title = format!("New {} {} of {}", name, room.kind, seen.name());
        Form::new(title, widgets::fields(&menu, &Json::Null), move |values| {
            added(&seen, room.clone(), widgets::changed(&menu, values), own.clone())
        })
        .note(format!("{NOTE}{stays}"))
        .step()
    })
}

fn call(kind: &str, parent: i64, room: &Room, data: &Map<String, Json>) -> Result<Calling, Fault> {
    let mut body = json!({"kind": kind, "parent": nodes::parent(kind, parent)});
    if kind == room.kind {
        body["position"] = room.position.into();
        if kind == "widget" {
            body["widget"] = room.widget.clone().into();
        }
        if matches!(kind, "widget" | "item") {
            body["data"] = Json::Object(data.clone());
        }
    }
    send_json::<Add>(&NoQuery {}, body)
}

fn added(seen: &DraftView, room: Room, data: Map<String, Json>, own: OwnRow) -> Step {
    let parent = match room.parent {
        Some(parent) => parent,
        None if room.kind == "widget" => return in_own_row(seen, room, data, own),
        None => return Step::Fault(Fault::new("Select what it is to stand in.")),
    };
    let page = seen.id();
    let done = move |reply: &Reply, others: &OthersEdits| {
        let node = &reply.data;
        let back = match own.row.get() {
            Some((row, _)) => changes::added_in_row(page, *row, node.clone()),
            None => changes::added(page, node.clone()),
        };
        changes::edited(node, format!("{} is added{others}", nodes::name(node)), Some(back))
    };
    seen.change(move || call(&room.kind, parent, &room, &data), done).step()
}

/// The row and the column that were made for a widget, and the draft after each.
#[derive(Clone, Default)]
struct OwnRow {
    row: Arc<OnceLock<(i64, DraftView)>>,
    col: Arc<OnceLock<(i64, DraftView)>>,
}

/// A row, a column in it, the widget in that. What is refused or lost on the way is tried again
/// from there: what was made is made once.
fn in_own_row(seen: &DraftView, room: Room, data: Map<String, Json>, own: OwnRow) -> Step {
    let (kind, parent, now, made) = match (own.row.get(), own.col.get()) {
        (_, Some((col, now))) => {
            return added(&now.clone(), Room { parent: Some(*col), ..room }, data, own);
        }
        (Some((row, now)), None) => ("col", *row, now.clone(), own.col.clone()),
        (None, None) => ("row", seen.id(), seen.clone(), own.row.clone()),
    };
    let (of, known) = (room.clone(), now.clone());
    let make = move || call(kind, parent, &of, &Map::new());
    let done = move |reply: &Reply, _: &OthersEdits| {
        let _ = made.set((id(reply), after(&known, reply)));
        in_own_row(&known, room, data, own)
    };
    now.change(make, done).step()
}

fn id(reply: &Reply) -> i64 {
    reply.data["id"].as_i64().unwrap_or_default()
}

/// The draft after an edit of one's own, which the screen has not read.
fn after(seen: &DraftView, reply: &Reply) -> DraftView {
    let (etag, page, state) = (reply.etag.clone(), seen.page.clone(), seen.state.clone());
    DraftView { page, state, etag, is_empty: seen.is_empty, ..DraftView::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screens::pages::nodes::tests::draft;

    #[test]
    fn only_what_both_have_changed_clashes() {
        let seen = nodes::find(&draft(), "widget", 4).expect("a widget");
        let mine = |row: &str| Map::from_iter([(row.to_owned(), Json::from("mine"))]);
        let mut theirs = draft();
        theirs["rows"][0]["cols"][0]["widgets"][0]["data"] = json!({"level": "h1", "title": "T"});
        assert_eq!(
            clashes(&seen, &mine("title"), &theirs).expect("it is there"),
            ["title: theirs T · yours mine"]
        );
        assert!(clashes(&seen, &mine("level"), &theirs).expect("it is there").is_empty());
        assert!(clashes(&seen, &mine("title"), &draft()).expect("it is there").is_empty());
        let gone = json!({"page_id": 9, "rows": []});
        assert!(clashes(&seen, &mine("title"), &gone).is_err());
    }

    #[test]
    fn nothing_is_added_where_no_node_is() {
        let seen = DraftView::default();
        assert!(matches!(begin(&seen, &Json::Null, &WidgetRegistry::default()), Step::Tell(_)));
        let room = Room { kind: "row".to_owned(), parent: None, position: None, widget: None };
        assert!(matches!(at(&seen, room, &WidgetRegistry::default()), Step::Fault(_)));
    }

    #[test]
    fn what_can_be_added_follows_from_the_node() {
        let known = WidgetRegistry::of(json!([
            {"name": "title", "menu": [], "item_menu": []},
            {"name": "list", "menu": [], "item_menu": [{"row": "title"}]},
        ]));
        let at = |node: Json| {
            let found = rooms(&node, &known).into_iter();
            let said = |(_, room): (String, Room)| (room.kind, room.parent, room.position);
            found.map(said).collect::<Vec<_>>()
        };
        let own = |kind: &str, parent, position| (kind.to_owned(), parent, position);
        let col = json!({"kind": "col", "id": 2, "parent": 1, "position": 0});
        let expected = vec![own("widget", Some(2), None), own("col", Some(1), Some(1))];
        assert_eq!(at(col), expected);
        let widget = |name: &str| {
            let mut node = json!({"kind": "widget", "id": 4, "parent": 2, "position": 3});
            node["widget"] = name.into();
            node
        };
        let below = own("widget", Some(2), Some(4));
        assert_eq!(at(widget("title")), vec![below.clone()]);
        assert_eq!(at(widget("list")), [own("item", Some(4), None), below]);
        let page = at(json!({"kind": "page", "id": 9}));
        assert_eq!(page, [own("widget", None, None), own("row", Some(9), None)]);
        let item = json!({"kind": "item", "id": 6, "parent": 4, "position": 0, "widget": "list"});
        assert_eq!(at(item), [own("item", Some(4), Some(1))]);
    }
}
