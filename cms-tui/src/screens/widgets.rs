//! Widgets: the registry that pages are made of, and the components of their templates.

use cms_http::wire::widgets::{Read, ShowComponents, WhichWidgets};

use super::{browser::by_id, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    rows: |_, data| by_id(data, "name"),
    preview: |row, _, _, _| about(row),
    empty: "No widget.",
    ..Spec::new("widgets", |_| "Widgets".to_owned(), columns, list, act)
};

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let cursor = asked.cursor.clone();
    get::<Read>(&WhichWidgets { limit: Limit(PAGE), cursor, ..WhichWidgets::default() })
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("WIDGET", "name", 0, plain),
        column("TITLE", "title", 0, plain),
        column("GROUP", "group_title", 0, plain),
        column("TEMPLATE", "template", 0, plain).from(84),
        column("PLUGIN", "plugin", 10, plugin).from(60),
        column("FIELDS", "menu", 6, fields),
    ]
}

fn plugin(row: &Json, name: &str, _: i64) -> Cell {
    match row[name].as_str() {
        Some(plugin) => (plain_text(&plugin.into()), Role::Plain),
        None => ("built in".to_owned(), Role::Quiet),
    }
}

/// How many a widget asks for, and each of its items.
fn fields(row: &Json, name: &str, _: i64) -> Cell {
    let entries = |name: &str| items(&row[name]).len();
    let text = match entries("item_menu") {
        0 => entries(name).to_string(),
        items => format!("{}+{items}", entries(name)),
    };
    (text, Role::Plain)
}

fn about(row: &Json) -> Lines {
    let text = |name: &str| plain_text(&row[name]);
    let mut lines = paragraph(Role::Quiet, "", &text("subtitle"), 60);
    let mut say = |label: &str, text: String| {
        lines.push((Role::Plain, format!("{label:<12} {text}")));
    };
    say("Group", text("group_title"));
    say("Template", text("template"));
    say("Plugin", plugin(row, "plugin", 0).0);
    say("Version", text("version"));
    if row["has_content"] == true {
        say("Content", "computed when the page is read".to_owned());
    }
    if let Some(action) = row["pending"].as_str() {
        let say = format!("◐ {action}: not yet as its plugin declares it, see plugins diff");
        lines.push((Role::Warn, plain_text(&say.into())));
    }
    for (name, title) in [("menu", "It asks for"), ("item_menu", "Each of its items asks for")] {
        let entries = items(&row[name]);
        if !entries.is_empty() {
            lines.push((Role::Title, title.to_owned()));
            lines.extend(entries.iter().map(|entry| (Role::Plain, menu_line(entry))));
        }
    }
    lines
}

/// `title           text           Headline`.
fn menu_line(entry: &Json) -> String {
    let [row, kind, label] = ["row", "type", "label"].map(|name| plain_text(&entry[name]));
    let options = entry["options"].as_array().filter(|all| !all.is_empty());
    let options = options.map(|all| format!(" ({})", count(all.len(), "option")));
    format!("{row:<16} {kind:<16} {label}{}", options.unwrap_or_default())
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    match verb {
        "show" => {
            let row = scene.row.cloned().unwrap_or_default();
            let name = row["name"].as_str().map(str::to_owned);
            let title = format!("Widget {}", plain_text(&row["name"]));
            get::<Read>(&WhichWidgets { widget: name, ..WhichWidgets::default() }).view(title)
        }
        "rebuild" => {
            get::<ShowComponents>(&NoQuery {}).then(|reply| Step::View(components(&reply.data)))
        }
        _ => Step::None,
    }
}

/// Which component shows each template; Ctrl-y copies it as a front end's build reads it.
fn components(found: &Json) -> Viewer {
    let missing = items(&found["missing"]);
    let mut lines = Vec::new();
    if !missing.is_empty() {
        let say = format!("✗ {} without template/index.vue:", count(missing.len(), "widget"));
        lines.push((Role::Bad, say));
        lines.extend(missing.iter().map(|name| (Role::Bad, format!("  {}", plain_text(name)))));
    }
    lines.push((Role::Quiet, "Ctrl-y copies them as JSON.".to_owned()));
    for (template, path) in found["components"].as_object().into_iter().flatten() {
        let template = plain_text(&template.as_str().into());
        lines.push((Role::Plain, format!("{template:<24} {}", plain_text(path))));
    }
    let mut viewer = Viewer::new("Templates and their components", lines);
    viewer.copy = serde_json::to_string_pretty(&found["components"]).ok();
    viewer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_without_a_file_come_first() {
        let found = json!({"components": {"title": "base/widgets/title/template/index.vue"},
            "missing": ["shopCart"]});
        let viewer = components(&found);
        let said: Vec<_> = viewer.lines.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(said[..2], ["✗ 1 widget without template/index.vue:", "  shopCart"]);
        assert!(viewer.copy.expect("JSON").contains("\"title\""));
    }
}
