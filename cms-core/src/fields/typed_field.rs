//! A field with the rules of its type: the answers that it accepts and their readable text; and
//! the settings that every field has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value as Json};

use super::{
    Context,
    formula::Formula,
    is_blank, is_id,
    kind::{Kind, Refusal, Source, refuse},
};
use crate::FieldError;

/// Reads the settings of a field of one type.
pub(super) type SettingsParser = fn(Map<String, Json>) -> Result<Box<dyn Kind>, Refusal>;

/// Reads the settings of a field of type `T`.
pub(super) fn read<T: Kind + DeserializeOwned + 'static>(
    settings: Map<String, Json>,
) -> Result<Box<dyn Kind>, Refusal> {
    settings_of::<T>(settings).map(|kind| Box::new(kind) as Box<dyn Kind>)
}

/// Converts settings to their type.
fn settings_of<T: DeserializeOwned>(settings: Map<String, Json>) -> Result<T, Refusal> {
    serde_json::from_value(settings.into()).or_else(|error| refuse("bad_config", error.to_string()))
}

/// A field of any type.
pub(super) struct TypedField {
    pub(super) id: String,
    pub(super) common: Common,
    kind: Box<dyn Kind>,
}

impl TypedField {
    /// Reads a declaration. `find` looks up a type: how to read its settings, and the value that
    /// represents it.
    pub(super) fn read<T>(
        declared: &Json,
        find: impl FnOnce(&str) -> Option<(SettingsParser, T)>,
    ) -> Result<(Self, T), FieldError> {
        let fault = |field: &str, code, message: String| FieldError {
            field: field.to_owned(),
            code,
            message,
        };
        let Some(declared) = declared.as_object() else {
            let message = "an object with id and type is expected".to_owned();
            return Err(fault("", "bad_config", message));
        };
        let id = declared.get("id").and_then(Json::as_str).unwrap_or_default();
        if !is_id(id) {
            let message = "id: up to 64 letters, digits, _ and - are expected".to_owned();
            return Err(fault(id, "bad_id", message));
        }
        let name = declared.get("type").and_then(Json::as_str).unwrap_or_default();
        let Some((reads, found)) = find(name) else {
            let message = format!("{name:?} is not a field type that fits here");
            return Err(fault(id, "unknown_field_type", message));
        };
        let settings = declared.iter().filter(|(name, _)| !matches!(name.as_str(), "id" | "type"));
        let (common, own): (Map<_, _>, Map<_, _>) = settings
            .map(|(name, value)| (name.clone(), value.clone()))
            .partition(|(name, _)| COMMON.contains(&name.as_str()));
        let wrong = |refusal: Refusal| fault(id, refusal.code, refusal.message);
        let common = settings_of(common).map_err(wrong)?;
        let kind = reads(own).map_err(wrong)?;
        kind.check().map_err(wrong)?;
        Ok((Self { id: id.to_owned(), common, kind }, found))
    }

    /// Extracts its answer from `given`, with the members stored beside it.
    pub(super) fn take(
        &self,
        given: &Map<String, Json>,
        context: &Context,
    ) -> Result<Vec<(String, Json)>, FieldError> {
        let own = given.get(&self.id).filter(|given| !is_blank(given));
        let source = match self.kind.source() {
            Source::Arrival if context.is_arriving() => Source::Visitor,
            source => source,
        };
        let default = own.is_none().then(|| self.kind.otherwise()).flatten();
        let taken = match (source, own.or(default.as_ref())) {
            (Source::Visitor, Some(own)) => self.answer(own, given, context),
            (Source::Visitor, None) if self.is_required() => {
                refuse("required", "an answer is expected")
            }
            (Source::Provider, Some(own)) => {
                self.kind.take(own, context).map(|answer| vec![(self.id.clone(), answer)])
            }
            (Source::Provider, None) if self.is_required() => {
                refuse("required", "its provider has not confirmed it")
            }
            _ => Ok(Vec::new()),
        };
        taken.map_err(|Refusal { code, message }| FieldError {
            field: self.id.clone(),
            code,
            message,
        })
    }

    fn answer(
        &self,
        own: &Json,
        given: &Map<String, Json>,
        context: &Context,
    ) -> Result<Vec<(String, Json)>, Refusal> {
        let answer = self.kind.take(own, context)?;
        if self.is_required() && (is_blank(&answer) || !self.kind.is_enough(&answer)) {
            return refuse("required", "an answer is expected");
        }
        if is_blank(&answer) {
            return Ok(Vec::new());
        }
        let under = |member: &str| format!("{}.{member}", self.id);
        let member = |name: &str| given.get(&under(name)).cloned();
        let extra = self.kind.extra_values(&answer, &member, context)?;
        let extra = extra.into_iter().map(|(name, value)| (under(&name), value));
        Ok([(self.id.clone(), answer)].into_iter().chain(extra).collect())
    }

    pub(super) fn is_required(&self) -> bool {
        self.common.required || self.kind.is_required()
    }

    pub(super) fn why_unanswerable(&self) -> Option<&'static str> {
        self.kind.why_unanswerable()
    }

    pub(super) fn options(&self, row: Option<&str>) -> Option<Vec<&str>> {
        self.kind.options(row)
    }

    pub(super) fn text(&self, answer: &Json) -> String {
        self.kind.text(answer)
    }

    /// Its formula, if the value is computed.
    pub(super) fn formula(&self) -> Option<&Formula> {
        self.kind.formula()
    }

    /// Its value computed from these answers.
    pub(super) fn compute(&self, answers: &Map<String, Json>) -> Option<Json> {
        self.kind.compute(answers)
    }

    pub(super) fn cell(&self, answer: &Json) -> String {
        self.kind.cell(answer)
    }

    /// The names under which its answer is stored.
    pub(super) fn names(&self) -> Vec<String> {
        if self.kind.source() == Source::Nobody {
            return Vec::new();
        }
        let beside = self.kind.members().iter().map(|member| format!("{}.{member}", self.id));
        [self.id.clone()].into_iter().chain(beside).collect()
    }
}

/// How much of the line a field takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Width {
    /// All of it.
    #[default]
    Full,
    /// Half of it.
    Half,
    /// A third of it.
    Third,
}

/// The settings that every field has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Common {
    /// What people see above it.
    pub label: String,
    /// A sentence that helps to answer.
    pub help: String,
    /// Whether an answer is expected.
    pub required: bool,
    /// How much of the line it takes.
    pub width: Width,
    /// What stands in the empty input.
    pub placeholder: String,
    /// The parameter of the page's address that answers it at first.
    pub prefill_param: Option<String>,
}

/// The names of the settings that every field has.
const COMMON: [&str; 6] = ["label", "help", "required", "width", "placeholder", "prefill_param"];
