//! The one list of actions, and the keys that run them on each screen. Keys, footer, help,
//! palette and `:` commands are made from it.
//!
//! ```text
//! table  every action, one line each
//! scene  what an action looks at: where the user is, on what, with which rights
//! ```

mod scene;
mod table;

pub(crate) use scene::{Scene, quoted};
pub(crate) use table::ACTIONS;

use serde_json::Value as Json;

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
mod tests;
