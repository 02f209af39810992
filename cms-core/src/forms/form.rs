//! A form as this room reads it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{Code, Error, Result, fields::Fields};

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
    /// No name begins with a digit.
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
    /// Its fields, which were checked when it was saved.
    pub(super) fn fields(&self) -> Result<Fields> {
        Fields::read(&self.declared).map_err(|faults| {
            Error::internal(format!("fields of the form {}: {faults:?}", self.name))
        })
    }
}

pub(super) fn missing(which: &WhichForm) -> Error {
    Error::new(Code::NotFound, format!("There is no form {which}."))
}
