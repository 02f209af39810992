//! The JSON Schema of what a column holds. Pure.

use serde_json::{Value, json};

use super::Column;
use crate::db::dialect::Kind;

impl Column {
    /// The schema of its values, without those of its enum. Columns of adopted tables may hold what
    /// their type does not promise.
    #[must_use]
    pub fn schema(&self, adopted: bool, nullable: bool) -> Value {
        let kind = match self.kind {
            Kind::Integer => "integer",
            Kind::Decimal | Kind::Double => "number",
            Kind::Boolean => "boolean",
            Kind::Json => return json!({"description": self.field_type}),
            _ => "string",
        };
        if adopted {
            return json!({"description": format!("{}, as a rule {kind}", self.field_type)});
        }
        let kinds = if nullable { json!([kind, "null"]) } else { json!(kind) };
        let description = self.resource.map_or(self.field_type.as_str(), |resource| resource.help);
        let mut schema = json!({"type": kinds, "description": description});
        match self.kind {
            Kind::Date => schema["format"] = "date".into(),
            Kind::DateTime => schema["format"] = "date-time".into(),
            // A time of day has no zone here, so it is none of RFC 3339.
            Kind::Binary => schema["contentEncoding"] = "base64".into(),
            _ => {}
        }
        schema
    }
}
