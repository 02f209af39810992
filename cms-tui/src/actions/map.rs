//! Which key means which action, here.

use super::{ACTIONS, Action, Scene, find};
use crate::keys::{Key, KeysFile, OwnCommand};

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

    /// The action of a key: those of the screen first, then those of lists, then all others.
    pub(crate) fn action(&self, key: Key, scene: &Scene<'_>) -> Option<&'static Action> {
        let rank = |action: &Action| match action.noun() {
            "app" | "go" => 2,
            "list" => 1,
            _ => 0,
        };
        let here = self.keys.iter().filter(|(one, action)| *one == key && action.is_here(scene));
        here.map(|(_, action)| *action).min_by_key(|action| rank(action))
    }

    /// The user's own command of a key.
    pub(crate) fn own(&self, key: Key, scene: &Scene<'_>) -> Option<&str> {
        let here = |command: &OwnCommand| command.on.as_deref().is_none_or(|on| on == scene.noun);
        let (_, command) = self.own.iter().find(|(one, command)| *one == key && here(command))?;
        Some(&command.run)
    }

    /// The keys of an action that nothing on this screen covers.
    pub(crate) fn keys(&self, action: &Action, scene: &Scene<'_>) -> Vec<Key> {
        let of = self.keys.iter().filter(|(_, one)| one.name == action.name);
        of.map(|(key, _)| *key)
            .filter(|key| self.action(*key, scene).is_some_and(|one| one.name == action.name))
            .collect()
    }
}
