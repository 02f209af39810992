//! A form as a page shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Forms, WhichForm, form::missing};
use crate::{Result, fields};

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
    /// A form that takes answers, as a page shows it.
    ///
    /// # Errors
    /// `not_found` for a form that is missing or switched off.
    pub async fn shown(&self, which: &WhichForm) -> Result<ShownForm> {
        let form = self.form(which).await?;
        if !form.active {
            return Err(missing(which));
        }
        let fields = form.declared.as_array().into_iter().flatten().map(fields::shown).collect();
        Ok(ShownForm { name: form.name, title: form.title, fields })
    }
}
