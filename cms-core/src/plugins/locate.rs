//! Finds the lines of problems in a manifest.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::Value,
    common::{Range, Ranged},
    parse_to_ast,
};

use super::Problem;

/// Fills in the lines. A missing member gets the line of the value that should contain it.
pub(super) fn locate(text: &str, problems: &mut [Problem]) {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let Some(document) = parsed.ok().and_then(|parsed| parsed.value) else { return };
    for problem in problems {
        let start = range_of(&document, &problem.pointer).start;
        let before = text.get(..start).unwrap_or_default();
        problem.line = Some(before.matches('\n').count() + 1);
    }
}

/// The name that pointers use for a member: one has two.
fn spelling(name: &str) -> &str {
    if name == "webhookEvents" { "webhook_events" } else { name }
}

/// The range of the deepest existing value on the pointer's path.
fn range_of(document: &Value<'_>, pointer: &str) -> Range {
    let mut at = document;
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        let inner = match at {
            Value::Object(object) => object
                .properties
                .iter()
                .find(|member| spelling(member.name.as_str()) == name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_however_it_is_spelled() {
        for name in ["webhook_events", "webhookEvents"] {
            let text = format!("{{\n\"id\": \"shop\",\n\"{name}\": [\n\"a\",\n\"b\"]}}");
            let mut problems = [Problem::new("/webhook_events/1", "Name it.")];
            locate(&text, &mut problems);
            assert_eq!(problems[0].line, Some(5), "{name}");
        }
    }
}
