//! A form: as stored, with a cache of its parsed fields, and as a page shows it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::Forms;
use crate::{
    Code, Error, Result,
    fields::{self, Fields},
};

/// A form by its id or its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a form is named by its id or its name")]
pub enum WhichForm {
    /// Its id.
    Id(i64),
    /// Its name, or its id as text.
    Name(String),
}

impl From<String> for WhichForm {
    /// A text that parses as a number is an id: no name begins with a digit.
    fn from(text: String) -> Self {
        text.parse().map_or(Self::Name(text), Self::Id)
    }
}

impl std::fmt::Display for WhichForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

/// A form as stored.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) title: String,
    pub(super) declared: Json,
    pub(super) recipients: Vec<String>,
    pub(super) thanks: Option<String>,
    pub(super) redirect_url: Option<String>,
    pub(super) min_seconds: i64,
    pub(super) active: bool,
}

impl Form {
    /// Parses the fields, which were checked when the form was saved.
    fn fields(&self) -> Result<Fields> {
        Fields::read(&self.declared).map_err(|faults| {
            Error::internal(format!("fields of the form {}: {faults:?}", self.name))
        })
    }
}

pub(super) fn missing(which: &WhichForm) -> Error {
    Error::new(Code::NotFound, format!("There is no form {which}."))
}

/// A form as a page shows it. Its recipients and its rules against programs stay here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShownForm {
    /// Its name, which the page sends as `form`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its fields, each with all settings of its type.
    pub fields: Vec<Json>,
}

impl Forms {
    /// An active form, as a page shows it.
    ///
    /// # Errors
    /// `not_found` for a form that is missing or switched off.
    pub async fn shown(&self, which: &WhichForm) -> Result<ShownForm> {
        let form = self.form(which).await?;
        if !form.active {
            return Err(missing(which));
        }
        let declared = form.declared.as_array().into_iter().flatten();
        let fields = declared.map(fields::for_visitors).collect();
        Ok(ShownForm { name: form.name, title: form.title, fields })
    }
}

/// Maximum number of forms in the cache.
const MOST: usize = 64;

/// Parsed fields by the id of the form, each with the declaration that they were parsed from.
#[derive(Default)]
pub(super) struct FieldsCache(Mutex<HashMap<i64, (Json, Arc<Fields>)>>);

impl FieldsCache {
    /// The fields of this form, parsed again when its declaration has changed.
    pub(super) fn fields(&self, form: &Form) -> Result<Arc<Fields>> {
        let held = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((declared, fields)) = held().get(&form.id)
            && *declared == form.declared
        {
            return Ok(fields.clone());
        }
        let fields = Arc::new(form.fields()?);
        let mut held = held();
        if held.len() >= MOST && !held.contains_key(&form.id) {
            // Evicts any form: a map yields its keys in no order.
            let left = held.keys().next().copied();
            left.and_then(|id| held.remove(&id));
        }
        held.insert(form.id, (form.declared.clone(), fields.clone()));
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(id: i64, declared: Json) -> Form {
        Form {
            id,
            name: "contact".to_owned(),
            title: String::new(),
            declared,
            recipients: Vec::new(),
            thanks: None,
            redirect_url: None,
            min_seconds: 0,
            active: true,
        }
    }

    #[test]
    fn fields_are_read_once_and_again_when_they_change() {
        let known = FieldsCache::default();
        let fields = |id, name: &str| {
            let declared = json!([{"id": name, "type": "short_text", "pattern": "a+"}]);
            known.fields(&form(id, declared)).expect("fields")
        };
        let first = fields(1, "a");
        assert!(Arc::ptr_eq(&first, &fields(1, "a")));
        let changed = fields(1, "b");
        assert_eq!(changed.iter().next().map(|field| field.id()), Some("b"));
        for id in 2..200 {
            fields(id, "a");
        }
        assert!(known.0.lock().expect("a lock").len() <= MOST);
    }
}
