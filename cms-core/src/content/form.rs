//! The form of a text that its field type demands.

use serde_json::Value;

use super::{less, table::Column};
use crate::{Address, FieldError};

/// Checks a value in its canonical form. Empty text stands for nothing.
pub(crate) fn fits(column: &Column, checked: &Value) -> Result<(), FieldError> {
    let Some(text) = checked.as_str() else { return Ok(()) };
    let address = Address::of_type(&column.field_type);
    let is_missing = address.is_some() && column.required;
    if text.is_empty() && !is_missing {
        return Ok(());
    }
    let fault = match column.field_type.as_str() {
        "code_editor" => less::check(text).err(),
        "color" if !is_color(text) => {
            Some("a colour is expected: #rgb, #rrggbb or #rrggbbaa, such as \"#1e90ff\"".to_owned())
        }
        _ => address.and_then(|kind| kind.problem(text)),
    };
    fault.map_or(Ok(()), |message| {
        Err(FieldError { field: column.name.clone(), code: "format", message })
    })
}

fn is_color(text: &str) -> bool {
    text.strip_prefix('#').is_some_and(|digits| {
        matches!(digits.len(), 3 | 6 | 8) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{content::ColumnDeclaration, db::Kind};

    #[test]
    fn colours_and_addresses_have_a_form() {
        for good in ["#abc", "#A1b2C3", "#11223344"] {
            assert!(is_color(good), "{good}");
        }
        for bad in ["abc", "#ab", "#abcd", "#12345g", "#1234567", "red", "# abc", "#abc "] {
            assert!(!is_color(bad), "{bad}");
        }
        for (field_type, kind) in ColumnDeclaration::TYPES {
            let field_type = (*field_type).to_owned();
            let column = Column { field_type, ..Column::declared("c", *kind) };
            assert_eq!(fits(&column, &column.example()), Ok(()), "{}", column.field_type);
        }
        for (kind, required, good, bad) in [
            ("image", false, ["", "/media/a.png"], ["/media/a b.png", "/media/../a"]),
            ("path", true, ["/", "/about"], ["", "/about?a"]),
        ] {
            let column = Column {
                field_type: kind.to_owned(),
                required,
                ..Column::declared("c", Kind::Text)
            };
            assert!(good.iter().all(|text| fits(&column, &json!(text)).is_ok()), "{kind}");
            assert!(bad.iter().all(|text| fits(&column, &json!(text)).is_err()), "{kind}");
        }
    }
}
