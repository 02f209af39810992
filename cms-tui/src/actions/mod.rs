//! The one list of actions, and the keys that run them on each screen. Keys, footer, help,
//! palette and `:` commands are made from it.
//!
//! ```text
//! table  every action, one line each
//! scene  what an action looks at: where the user is, on what, with which rights
//! ```

mod scene;
mod table;

use serde_json::Value as Json;

pub(crate) use scene::{Scene, quoted};
pub(crate) use table::ACTIONS;

use crate::keys::{Key, KeysFile, OwnCommand};

/// Why a read-only session refuses an action.
pub(crate) const READONLY: &str = "this is a read-only session";

/// Placeholders in the table, and the words for what the user chooses only after the key.
const CHOSEN: [(&str, &str); 3] =
    [("--grace 1h", "--grace GRACE"), ("--on 2027-01-01", "--on DAY"), ("ttl 300", "ttl SECONDS")];

/// Something a user can do.
#[derive(Debug)]
pub(crate) struct Action {
    /// `{noun}.{verb}`. The noun is that of a screen, `list` for all lists, `app` for everywhere,
    /// or `go` for opening a screen.
    pub(crate) name: &'static str,
    /// Its usual keys, separated by spaces.
    pub(crate) keys: &'static str,
    /// The description: a short label, and more text behind `:`, `,` or `;`.
    pub(crate) help: &'static str,
    /// The command line that does the same; empty for actions that only move within a screen.
    pub(crate) cli: &'static str,
    /// Further command lines, for other states or side effects; of a switch, the line
    /// that switches on.
    pub(crate) also: &'static [&'static str],
    pub(crate) needs: Needs,
    pub(crate) right: Right,
    /// Whether it changes something at the site.
    pub(crate) changes: bool,
    /// Why the state of the row under the cursor does not allow the action.
    pub(crate) state: Option<fn(&Json) -> Option<&'static str>>,
}

/// What must be under the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// One row.
    Row,
    /// The marked rows, else the one under the cursor.
    Rows,
}

/// Who may run an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    Free,
    /// The permission key of an area.
    Holds(&'static str),
    Admin,
    /// Only on the site's own machine.
    Local,
}

impl Right {
    /// Whether the holder of these rights may run the action; None: they hold everything,
    /// or are unknown.
    pub(crate) fn is_held(self, rights: Option<&[String]>) -> bool {
        match (self, rights) {
            (Self::Holds(key), Some(held)) => held.iter().any(|one| one == key),
            (Self::Admin | Self::Local, Some(_)) => false,
            _ => true,
        }
    }
}

impl Action {
    pub(crate) fn noun(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(noun, _)| noun)
    }

    pub(crate) fn verb(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(_, verb)| verb)
    }

    /// The label: the first words of the help, for lines with little room.
    pub(crate) fn label(&self) -> &'static str {
        self.help.split([':', ',', ';']).next().unwrap_or_default()
    }

    /// Whether the action exists on this screen.
    pub(crate) fn is_here(&self, scene: &Scene<'_>) -> bool {
        match self.noun() {
            "app" | "go" => true,
            "list" => scene.is_list && has_list_action(scene.noun, self.verb()),
            noun => noun == scene.noun,
        }
    }

    /// Whether the action is refused only for lack of a right that somebody can grant.
    pub(crate) fn lacks_right(&self, scene: &Scene<'_>) -> bool {
        let is_readonly = scene.readonly && self.changes;
        !is_readonly && self.right != Right::Local && scene.missing(self.right).is_some()
    }

    /// Why the action cannot be done now.
    pub(crate) fn disabled(&self, scene: &Scene<'_>) -> Option<String> {
        if scene.readonly && self.changes {
            return Some(READONLY.to_owned());
        }
        if let Some(missing) = scene.missing(self.right) {
            return Some(missing);
        }
        match self.needs {
            Needs::Nothing => {}
            Needs::Row if scene.row.is_none() => return Some("no row is selected".to_owned()),
            Needs::Rows if scene.row.is_none() && scene.marks.is_empty() => {
                return Some("no row is selected".to_owned());
            }
            _ => {}
        }
        let state = self.state?;
        scene.row.filter(|_| scene.marks.is_empty()).and_then(state).map(str::to_owned)
    }

    /// The command line that does the same to the rows under the cursor.
    pub(crate) fn command_line(&self, scene: &Scene<'_>) -> Option<String> {
        // Rows that match a filter have no ids here.
        if self.cli.is_empty() || (self.needs == Needs::Rows && scene.is_all) {
            return None;
        }
        let rows: Vec<_> = match self.needs {
            Needs::Rows => scene.rows(),
            _ => scene.row.into_iter().collect(),
        };
        let is_off = |row: &&Json| row["active"] == false || row["enabled"] == false;
        let is_switched_on = self.verb() == "toggle" && rows.first().is_some_and(is_off);
        let line = self.also.first().filter(|_| is_switched_on).unwrap_or(&self.cli);
        let mut line = scene.fill(line, &rows);
        for (example, word) in CHOSEN {
            line = line.replacen(example, word, 1);
        }
        let words = ["cms", scene.site, &line];
        Some(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
    }
}

/// Whether a list has this action. Some screens only use the list for walking.
fn has_list_action(noun: &str, verb: &str) -> bool {
    let walks = ["open", "down", "up", "half_down", "half_up", "first", "last"].contains(&verb);
    match noun {
        // These rows cannot be opened.
        "rights" | "submission" if verb == "open" => false,
        "home" | "rights" | "funnel" | "analytics" => walks,
        "submission" => walks || verb == "pane",
        "page" => walks || matches!(verb, "pane" | "zoom"),
        "delivery" => walks || matches!(verb, "mark" | "mark_all" | "range"),
        _ => true,
    }
}

/// The action of this name.
pub(crate) fn find(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.name == name)
}

/// The keys of all actions, the user's changes included.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyMap {
    keys: Vec<(Key, &'static Action)>,
    own: Vec<(Key, OwnCommand)>,
}

impl KeyMap {
    /// # Errors
    /// For an action or a key that does not exist; it names the place.
    pub(crate) fn new(file: &KeysFile) -> Result<Self, String> {
        if let Some(name) = file.keys.keys().find(|name| find(name).is_none()) {
            return Err(format!("keys.toml: there is no action {name:?}; ? lists all"));
        }
        let mut map = Self::default();
        for action in ACTIONS {
            let keys: Vec<&str> = match file.keys.get(action.name) {
                Some(keys) => keys.iter().map(String::as_str).collect(),
                None => action.keys.split(' ').filter(|key| !key.is_empty()).collect(),
            };
            for key in keys {
                let key = key.parse().map_err(|e| format!("keys.toml: {}: {e}", action.name))?;
                map.keys.push((key, action));
            }
        }
        for (name, command) in &file.commands {
            let key = command.key.parse().map_err(|e| format!("keys.toml: {name}: {e}"))?;
            map.own.push((key, command.clone()));
        }
        Ok(map)
    }

    /// The action of a key: one of the screen first, then one of lists, then any other.
    pub(crate) fn action(&self, key: Key, scene: &Scene<'_>) -> Option<&'static Action> {
        let rank = |action: &Action| match action.noun() {
            "app" | "go" => 2,
            "list" => 1,
            _ => 0,
        };
        let here = self.keys.iter().filter(|(one, action)| *one == key && action.is_here(scene));
        here.map(|(_, action)| *action).min_by_key(|action| rank(action))
    }

    /// Whether the key filters lists.
    pub(crate) fn filters(&self, key: Key) -> bool {
        self.keys.iter().any(|(one, action)| *one == key && action.name == "list.filter")
    }

    /// The user's own command of a key.
    pub(crate) fn own(&self, key: Key, scene: &Scene<'_>) -> Option<&str> {
        let here = |command: &OwnCommand| command.on.as_deref().is_none_or(|on| on == scene.noun);
        let (_, command) = self.own.iter().find(|(one, command)| *one == key && here(command))?;
        Some(&command.run)
    }

    /// The keys of an action, without those that other actions of this screen take.
    pub(crate) fn keys(&self, action: &Action, scene: &Scene<'_>) -> Vec<Key> {
        let of = self.keys.iter().filter(|(_, one)| one.name == action.name);
        of.map(|(key, _)| *key)
            .filter(|key| self.action(*key, scene).is_some_and(|one| one.name == action.name))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{ACTIONS, KeyMap, Right, Scene};
    use crate::keys::KeysFile;

    #[test]
    fn every_action_has_its_own_name_and_a_help_text() {
        let mut names = BTreeSet::new();
        for action in ACTIONS {
            assert!(names.insert(action.name), "{} stands twice", action.name);
            assert!(!action.help.is_empty() && !action.verb().is_empty(), "{}", action.name);
            // Whatever changes something at the site has a command line.
            assert!(action.right == Right::Free || !action.cli.is_empty(), "{}", action.name);
        }
    }

    /// A footer shows it, and the reason why something cannot be done begins with it.
    #[test]
    fn the_help_of_a_key_begins_with_a_short_label() {
        for action in ACTIONS.iter().filter(|one| !one.keys.is_empty()) {
            let is_screens = !["app", "go", "list"].contains(&action.noun());
            let label = action.label();
            assert!(!label.is_empty(), "{}", action.name);
            assert!(!is_screens || crate::text::width(label) <= 15, "{}: {label}", action.name);
        }
    }

    #[test]
    fn a_key_means_one_thing_on_a_screen() {
        let mut seen = BTreeMap::new();
        for action in ACTIONS {
            for key in action.keys.split(' ').filter(|key| !key.is_empty()) {
                let other = seen.insert((action.noun(), key), action.name);
                assert_eq!(other, None, "{key} of {}", action.name);
            }
        }
    }

    #[test]
    fn what_is_missing_is_told() {
        let held = vec!["keys_keys_view".to_owned()];
        let row = serde_json::json!({"id": 3, "active": true, "name": "it's"});
        let scene =
            Scene { noun: "keys", rights: Some(&held), row: Some(&row), ..Scene::default() };
        let why = |name: &str| super::find(name).expect("an action").disabled(&scene);
        assert_eq!(
            why("keys.rotate").as_deref(),
            Some("needs the right keys_keys_edit, which you do not hold")
        );
        assert_eq!(why("keys.show"), None);
        assert_eq!(why("go.users").as_deref(), Some("only administrators may"));
        let scene = Scene { noun: "webhooks", row: Some(&row), ..Scene::default() };
        let why = super::find("webhooks.activate").expect("an action").disabled(&scene);
        assert_eq!(why.as_deref(), Some("it is active already"));
        for (status, retry, cancel) in [
            ("retry", None, None),
            ("sending", Some("it is being sent"), Some("it is being sent")),
            ("held", Some("it is held until its webhook is on; press 2, then t"), None),
        ] {
            let row = serde_json::json!({"id": 3, "status": status});
            let scene = Scene { noun: "queue", row: Some(&row), ..Scene::default() };
            for (name, why) in [("queue.retry", retry), ("queue.cancel", cancel)] {
                let told = super::find(name).expect("an action").disabled(&scene);
                assert_eq!(told.as_deref(), why, "{name} {status}");
            }
        }
        let line = super::find("users.edit").expect("an action").command_line(&scene);
        assert_eq!(line.as_deref(), Some("cms users edit USERNAME --rename NAME"));
        assert_eq!(scene.fill("x {id} {name}", &[&row]), r"x 3 'it'\''s'");
    }

    #[test]
    fn a_read_only_session_looks_at_everything_and_changes_nothing() {
        let row = serde_json::json!({"id": 3, "active": false});
        for action in ACTIONS {
            let noun = action.noun();
            let scene = Scene {
                noun,
                row: Some(&row),
                readonly: true,
                is_operator: true,
                ..Scene::default()
            };
            let why = action.disabled(&scene);
            let is_refused = why.as_deref() == Some(super::READONLY);
            assert_eq!(is_refused, action.changes, "{}: {why:?}", action.name);
        }
        let changes = |name: &str| super::find(name).expect("an action").changes;
        for name in ["records.new", "records.edit", "records.set", "records.delete", "keys.toggle"]
        {
            assert!(changes(name), "{name}");
        }
        for name in ["go.webhooks", "go.keys", "webhooks.show", "keys.check", "keys.rights"] {
            assert!(!changes(name), "{name}");
        }
    }

    #[test]
    fn a_line_says_the_site_and_what_the_key_does() {
        let (one, two) =
            (serde_json::json!({"id": 1, "active": false}), serde_json::json!({"id": 2}));
        let scene = Scene {
            noun: "keys",
            row: Some(&one),
            marks: vec![&one, &two],
            site: "--context prod",
            ..Scene::default()
        };
        for (name, line) in [
            ("keys.delete", "cms --context prod keys delete 1"),
            ("keys.toggle", "cms --context prod keys enable 1 2"),
            ("keys.rotate", "cms --context prod keys rotate 1 --grace GRACE"),
            ("keys.expire", "cms --context prod keys expire 1 --on DAY"),
        ] {
            let action = super::find(name).expect("an action");
            assert_eq!(action.command_line(&scene).as_deref(), Some(line));
        }
    }

    #[test]
    fn a_value_is_one_word_of_a_command_and_never_an_option() {
        let words = |name: &str| {
            let row = serde_json::json!({"id": 3, "name": name});
            let scene = Scene { row: Some(&row), ..Scene::default() };
            let line = scene.fill("x {name}", &[&row]);
            (scene.own_words("x {id} n={name} '{\"a\": 1}' {name}"), line)
        };
        let (own, line) = words("a' --yes x '");
        let own = own.expect("words");
        assert_eq!(own, ["x", "3", "n=a' --yes x '", "{\"a\": 1}", "a' --yes x '"]);
        assert_eq!(line, r"x 'a'\'' --yes x '\'''");
        for wrong in ["--url=https://evil", "-x", "a\nb", "\u{1b}[2J"] {
            assert!(words(wrong).0.is_err(), "{wrong:?}");
        }
        assert_eq!(words("a\u{1b}[2J").1, "x NAME");
    }

    #[test]
    fn users_change_keys_and_add_commands() {
        let file = KeysFile::parse(
            "[keys]\n\"keys.rotate\" = [\"Ctrl-o\"]\n[commands]\nshow = {key = \"X\", \
         run = \"cms keys show {id}\", on = \"keys\"}",
        );
        let map = KeyMap::new(&file.expect("a file")).expect("keys");
        let row = serde_json::json!({"id": 3});
        let scene = Scene { noun: "keys", is_list: true, row: Some(&row), ..Scene::default() };
        let action =
            |key: &str| map.action(key.parse().expect("a key"), &scene).map(|one| one.name);
        assert_eq!(action("Ctrl-o"), Some("keys.rotate"));
        assert_eq!(action("S"), None);
        assert_eq!(action("j"), Some("list.down"));
        let own = map.own("X".parse().expect("a key"), &scene);
        let words = own.map(|own| scene.own_words(own));
        assert_eq!(words, Some(Ok(["cms", "keys", "show", "3"].map(str::to_owned).to_vec())));
        for wrong in ["[keys]\n\"keys.no\" = [\"x\"]", "[keys]\n\"keys.new\" = [\"xx\"]"] {
            assert!(KeyMap::new(&KeysFile::parse(wrong).expect("toml")).is_err(), "{wrong}");
        }
    }
}
