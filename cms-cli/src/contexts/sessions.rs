//! Sessions at running sites, by address.

use std::collections::BTreeMap;

use cms_core::Secret;
use serde::{Deserialize, Serialize};

use super::store::Store;
use crate::output::Done;

const FILE: &str = "sessions.toml";

/// What `sessions.toml` holds.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Sessions {
    sessions: BTreeMap<String, Session>,
}

/// A session at one address.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Session {
    /// Kept in plain text: this file is where tokens are kept.
    #[serde(serialize_with = "Secret::send")]
    pub(crate) token: Secret,
    pub(crate) username: String,
    pub(crate) expires_at: String,
}

impl Sessions {
    /// The session at an address, if there is one.
    pub(crate) fn at(url: &str) -> Done<Option<Session>> {
        let Some(store) = Store::find()? else { return Ok(None) };
        Ok(store.read::<Self>(FILE)?.sessions.remove(url))
    }

    /// Keeps a session, in place of an earlier one at the same address.
    pub(crate) fn keep(url: &str, session: Session) -> Done {
        Store::make()?.change(FILE, |kept: &mut Self| {
            kept.sessions.insert(url.to_owned(), session);
            Ok(())
        })
    }

    pub(crate) fn forget(url: &str) -> Done {
        Store::make()?.change(FILE, |kept: &mut Self| {
            kept.sessions.remove(url);
            Ok(())
        })
    }
}
