//! A field as declared (its id, its type, its settings), and as visitors see it.

use serde_json::{Map, Value as Json};

use super::{
    Context, FieldType,
    typed_field::{Common, TypedField},
};
use crate::{FieldError, ground::html::sanitize};

/// A field that people fill in.
pub struct Field {
    typed: TypedField,
    field_type: &'static FieldType,
    /// Its position in the list that it was read from.
    pub(super) listed: usize,
    /// Whether its settings could not be read, so that it has the default settings of its type.
    pub(super) is_broken: bool,
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Field").field("id", &self.id()).field("type", &self.type_name()).finish()
    }
}

impl Field {
    /// Reads a declaration: `id`, `type`, and settings of that type. Omitted settings are as in
    /// the type's [`default_config`](FieldType::default_config).
    ///
    /// # Errors
    /// `bad_id` for an id that is not up to 64 letters, digits, `_` and `-`; `unknown_field_type`;
    /// `bad_config` for an unknown or wrong setting.
    pub fn read(declared: &Json) -> Result<Self, FieldError> {
        let find = |name: &str| FieldType::find(name).map(|found| (found.read, found));
        let (typed, field_type) = TypedField::read(declared, find)?;
        Ok(Self { typed, field_type, listed: 0, is_broken: false })
    }

    /// Its id, under which answers are stored.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.typed.id
    }

    /// The name of its type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.field_type.name
    }

    /// Its position in the list that it was read from.
    pub(crate) fn listed(&self) -> usize {
        self.listed
    }

    /// Why no answer can satisfy the field, if it requires one that is impossible.
    pub(crate) fn unanswerable(&self) -> Option<&'static str> {
        let why = self.typed.is_required().then(|| self.typed.why_unanswerable());
        why.flatten().filter(|_| !self.is_broken)
    }

    /// The only texts that its answer, or a row of its answer, may have; `None`: any text.
    pub(crate) fn options(&self, row: Option<&str>) -> Option<Vec<&str>> {
        self.typed.options(row).filter(|_| !self.is_broken)
    }

    /// The settings that every field has.
    #[must_use]
    pub fn common(&self) -> &Common {
        &self.typed.common
    }

    /// Extracts its answer from `given`, in stored form, with the members stored beside it under
    /// `<id>.<member>`. The result is empty when an optional field has no answer, and for types
    /// that visitors do not answer.
    ///
    /// # Errors
    /// `required`, or the code of the refusal.
    pub fn take(
        &self,
        given: &Map<String, Json>,
        context: &Context,
    ) -> Result<Vec<(String, Json)>, FieldError> {
        self.typed.take(given, context)
    }

    /// The fields from which its value is computed; `None`: the field is not computed.
    #[must_use]
    pub(crate) fn computed_from(&self) -> Option<Vec<&str>> {
        self.typed.formula().map(|formula| formula.fields())
    }

    /// Its value computed from these answers, by the ids of their fields. `None` for a field that
    /// is not computed, and when the value cannot be computed, for example by a division by 0 or a
    /// sum with a missing answer.
    #[must_use]
    pub fn compute(&self, answers: &Map<String, Json>) -> Option<Json> {
        self.typed.compute(answers)
    }

    /// The names under which its answer is stored: its id, then those of members beside it. Empty
    /// for a field that is only displayed.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.typed.names()
    }

    /// A stored answer as a readable text, with `, ` between several values. Not escaped.
    #[must_use]
    pub fn text(&self, answer: &Json) -> String {
        self.typed.text(answer)
    }

    /// The same for a table, with `; ` between several values.
    #[must_use]
    pub fn cell(&self, answer: &Json) -> String {
        self.typed.cell(answer)
    }
}

/// Settings that are not sent to visitors, by type.
const HIDDEN: [(&str, &str); 2] = [("calculated", "expression"), ("email", "blocked_domains")];

/// The field with all settings of its type, except those that are not sent to visitors.
pub(crate) fn for_visitors(declared: &Json) -> Json {
    let named = declared["type"].as_str().unwrap_or_default();
    let default = FieldType::find(named).map(FieldType::default_config);
    let mut settings = default.and_then(|json| json.as_object().cloned()).unwrap_or_default();
    settings.extend(declared.as_object().cloned().unwrap_or_default());
    let hides = |name: &str| HIDDEN.contains(&(named, name));
    settings.retain(|name, _| !hides(name));
    if let Some(Json::String(html)) = settings.get_mut("html") {
        *html = sanitize(html);
    }
    settings.into()
}
