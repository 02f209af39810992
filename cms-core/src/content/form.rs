//! The form of a text that its field type demands.

use serde_json::Value;

use super::{less, table::Column};
use crate::FieldError;

/// Checks a value in its canonical form. Empty text stands for nothing.
pub(crate) fn fits(column: &Column, checked: &Value) -> Result<(), FieldError> {
    let Some(text) = checked.as_str().filter(|text| !text.is_empty()) else { return Ok(()) };
    let fault = match column.field_type.as_str() {
        "code_editor" => less::check(text).err(),
        "color" if !is_color(text) => {
            Some("a colour is expected: #rgb, #rrggbb or #rrggbbaa, such as \"#1e90ff\"".to_owned())
        }
        "image" if !is_media(text) => {
            Some("the path of a media file is expected, such as \"/media/logo.png\"".to_owned())
        }
        _ => None,
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

/// A path below `/media/` in its plain spelling.
fn is_media(text: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    text.strip_prefix("/media/").is_some_and(|rest| {
        rest.split('/').all(is_name)
            && !rest.contains(|c: char| c.is_control() || matches!(c, '\\' | '?' | '#'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::ColumnDeclaration;

    #[test]
    fn colours_and_paths_have_a_form() {
        for good in ["#abc", "#A1b2C3", "#11223344"] {
            assert!(is_color(good), "{good}");
        }
        for bad in ["abc", "#ab", "#abcd", "#12345g", "#1234567", "red", "# abc", "#abc "] {
            assert!(!is_color(bad), "{bad}");
        }
        for good in ["/media/a.png", "/media/2026/a b.webp", "/media/ü.svg"] {
            assert!(is_media(good), "{good}");
        }
        for bad in ["/media/", "media/a", "/media/../a", "/media//a", "/media/a/", "/media/a\\b"] {
            assert!(!is_media(bad), "{bad}");
        }
        for (field_type, kind) in ColumnDeclaration::TYPES {
            let field_type = (*field_type).to_owned();
            let column = Column { field_type, ..Column::declared("c", *kind) };
            assert_eq!(fits(&column, &column.example()), Ok(()), "{}", column.field_type);
        }
        assert!(!is_media("https://example.org/media/a.png") && !is_media("/media/a\n.png"));
    }
}
