//! Names for running sites, and the sessions there, kept in `$XDG_CONFIG_HOME/cms`
//! (`~/.config/cms`).

mod sessions;
mod store;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(crate) use sessions::{Session, Sessions};
use store::Store;

use crate::output::{Done, Failure};

const FILE: &str = "contexts.toml";

/// What `contexts.toml` holds.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Contexts {
    /// The context for commands outside of a site's folder.
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    chosen: Option<String>,
    contexts: BTreeMap<String, Context>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Context {
    url: String,
}

impl Contexts {
    pub(crate) fn load() -> Done<Self> {
        Ok(Store::find()?.map(|store| store.read(FILE)).transpose()?.unwrap_or_default())
    }

    /// Changes the file under a lock.
    pub(crate) fn change<T>(change: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        Store::make()?.change(FILE, change)
    }

    pub(crate) fn url(&self, name: &str) -> Option<&str> {
        self.contexts.get(name).map(|context| context.url.as_str())
    }

    /// The chosen context: name and address.
    pub(crate) fn used(&self) -> Option<(&str, &str)> {
        let name = self.chosen.as_deref()?;
        Some((name, self.url(name)?))
    }

    /// All contexts: name, address, and whether it is chosen.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str, bool)> {
        let chosen = self.chosen.as_deref();
        self.contexts
            .iter()
            .map(move |(name, context)| (name.as_str(), context.url.as_str(), chosen == Some(name)))
    }

    /// Names an address. An existing name gets the new address.
    pub(crate) fn add(&mut self, name: &str, url: String) -> Done {
        let fine = !name.is_empty()
            && name.len() <= 64
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !fine {
            return Err(Failure::usage(
                "the name of a context has 1 to 64 letters, digits, dashes, underscores and dots",
            ));
        }
        self.contexts.insert(name.to_owned(), Context { url });
        Ok(())
    }

    /// Chooses a context; false when there is none of that name.
    pub(crate) fn choose(&mut self, name: &str) -> bool {
        let known = self.contexts.contains_key(name);
        if known {
            self.chosen = Some(name.to_owned());
        }
        known
    }

    /// Removes a context; false when there is none of that name.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        if self.chosen.as_deref() == Some(name) {
            self.chosen = None;
        }
        self.contexts.remove(name).is_some()
    }
}
