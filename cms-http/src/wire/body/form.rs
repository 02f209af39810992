//! A form as browsers send it: `application/x-www-form-urlencoded`.

use std::borrow::Cow;

use cms_core::{Code, Error, FieldError, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Body, BodyKind, Content};
use crate::wire::query;

/// A form without files. Its fields are read as parameters of a query are: each name once, numbers
/// and `true` or `false` as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Form<T>(pub T);

impl<T: Serialize + DeserializeOwned + JsonSchema + Send> Body for Form<T> {
    const KIND: BodyKind = BodyKind::Form;

    async fn receive(content: Content) -> Result<Self> {
        fields(&content.pairs()?).map(Self)
    }
}

/// Fields of a form as their type.
pub(super) fn fields<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T> {
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    query::read_named(&pairs.collect::<Vec<_>>()).map_err(|wrong| {
        let why = wrong.detail.replacen("parameter", "field", 1);
        let error = Error::new(Code::ValidationFailed, format!("The form does not fit: {why}"));
        let Some(field) = wrong.name else { return error };
        let message = why.trim_end_matches('.').to_owned();
        error.with_fields(vec![FieldError { field, code: wrong.code, message }])
    })
}

impl<T: JsonSchema> JsonSchema for Form<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
