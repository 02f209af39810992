//! An example of a column's values, for documents.

use serde_json::{Value, json};

use super::Column;
use crate::db::dialect::Kind;

impl Column {
    /// A value that a write of this column accepts.
    #[must_use]
    pub fn example(&self) -> Value {
        if let Some(first) = self.allowed.as_ref().and_then(|allowed| allowed.first()) {
            return if self.kind == Kind::Json { json!([first]) } else { first.clone() };
        }
        if let Some(resource) = self.resource.filter(|resource| !resource.example.is_empty()) {
            return resource.example.into();
        }
        match self.kind {
            Kind::Integer => json!(1),
            Kind::Decimal | Kind::Double => json!(1.5),
            Kind::Boolean => json!(true),
            Kind::Date => json!("2026-11-21"),
            Kind::Time => json!("09:30:00"),
            Kind::DateTime => json!("2026-11-21T09:30:00Z"),
            Kind::Json => json!([]),
            Kind::Binary => json!("QUJD"),
            Kind::Text | Kind::Password => match self.field_type.as_str() {
                "code_editor" => json!("h1 { color: #336699; }"),
                "color" => json!("#336699"),
                "image" => json!("/media/example.png"),
                "path" | "link" | "redirect" => json!("/example"),
                _ if self.name == "language_short" => json!("en"),
                _ => json!("Text"),
            },
        }
    }
}
