//! The lines of a manifest on which its problems stand.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::Value,
    common::{Range, Ranged},
    parse_to_ast,
};

use super::Problem;

/// Fills in the lines. A member that is missing stands on the line of what should hold it.
pub(super) fn locate(text: &str, problems: &mut [Problem]) {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let Some(document) = parsed.ok().and_then(|parsed| parsed.value) else { return };
    for problem in problems {
        let start = place(&document, &problem.pointer).start;
        let before = text.get(..start).unwrap_or_default();
        problem.line = Some(before.matches('\n').count() + 1);
    }
}

/// Where a pointer leads, as far as it leads.
fn place(document: &Value<'_>, pointer: &str) -> Range {
    let mut at = document;
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        let inner = match at {
            Value::Object(object) => object
                .properties
                .iter()
                .find(|member| member.name.as_str() == name)
                .map(|member| &member.value),
            Value::Array(array) => {
                step.parse::<usize>().ok().and_then(|index| array.elements.get(index))
            }
            _ => None,
        };
        let Some(inner) = inner else { break };
        at = inner;
    }
    at.range()
}
