//! Values of a widget or of an item: the form, and what is sent of it.

use super::{
    super::{
        hold::{DraftView, OthersEdits},
        nodes,
    },
    back, fields, known, sent,
};
use crate::{calls::LONGEST, screens::prelude::*};

/// Reads the menu of its widget, then shows the form.
pub(super) fn open(seen: &DraftView, node: &Json) -> Step {
    let (seen, node) = (seen.clone(), node.clone());
    let name = node["widget"].as_str().unwrap_or_default().to_owned();
    known::one(&name).then(move |reply| {
        let menu = known::menu(&reply.data, node["kind"].as_str().unwrap_or_default());
        form(seen, node, menu.to_vec())
    })
}

fn form(seen: DraftView, node: Json, menu: Vec<Json>) -> Step {
    if menu.is_empty() {
        return Step::Tell(format!("{} asks for nothing.", nodes::name(&node)));
    }
    let title = format!("{} of {}", nodes::name(&node), seen.name());
    let fields = fields::fields(&menu, &node["data"]);
    Form::new(title, fields, move |values| submit(&seen, &node, &menu, values))
        .note("Only what you change is sent. Visitors see it after the next publication.")
        .step()
}

fn submit(seen: &DraftView, node: &Json, menu: &[Json], values: &Values) -> Step {
    let changed = fields::changed(menu, values);
    if changed.is_empty() {
        return Step::tell("Nothing was changed.");
    }
    let (page, of, wanted) = (seen.id(), node.clone(), changed);
    let is_read_back = !wanted.keys().any(|row| fields::is_password(menu, row));
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
        let undo = has_undo.then(|| back::values(page, of.clone(), now, before));
        Step::undoable(format!("{} is saved{others}", nodes::name(&of)), undo.map(back::one))
    };
    seen.change(move || sent::setting(&made, &written), done)
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

#[cfg(test)]
mod tests {
    use super::{super::super::nodes::tests::draft, *};

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
}
