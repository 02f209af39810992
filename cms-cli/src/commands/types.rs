//! `cms types`: the API as types of another language, made from `/api/openapi.json`. In
//! TypeScript there is an interface for each schema, and `paths` in the form that openapi-fetch
//! reads

use std::{fmt::Write as _, io::Write as _, path::PathBuf};

use clap::{Args, Subcommand};
use cms_http::wire::{NoBody, openapi::Read, parameters::NoQuery};
use serde_json::{Map, Value as Json, json};

use crate::{
    flags::Flags,
    output::{Done, Output, WholeFile},
    reply,
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum TypesCommand {
    /// Print the API as TypeScript, as far as the caller may use it
    #[command(after_help = "Examples:
  cms types typescript --out theme/cms.ts
  cms types typescript --context prod | npx prettier --parser typescript > cms.ts

Works with openapi-fetch: createClient<paths>({ baseUrl: \"https://example.org\" })")]
    Typescript(TypescriptArgs),
}

#[derive(Args, Debug)]
pub(crate) struct TypescriptArgs {
    /// Write into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) async fn run(_: &Flags, out: &Output, site: &Site, command: TypesCommand) -> Done {
    let TypesCommand::Typescript(args) = command;
    let (_, document) = reply::call::<Read>(&site.client, &NoQuery {}, &NoBody).await?;
    let text = types(&document.0);
    let Some(path) = args.out else {
        return match out.json {
            true => Ok(out.data(&json!({"typescript": text}))?),
            false => Ok(out.raw(&text)?),
        };
    };
    let mut file = WholeFile::create(&path)?;
    file.write_all(text.as_bytes())?;
    file.done()?;
    let note = format!("The types are in {}.", path.display());
    out.done(&json!({"file": path}), &note)
}

/// Every refusal is a problem document (RFC 9457).
const REFUSAL: &str = "
export interface Refusal {
  headers: { [name: string]: unknown };
  content: {
    \"application/problem+json\": Problem;
  };
}
";
const SCHEMAS: &str = "#/components/schemas/";
const METHODS: [&str; 4] = ["get", "post", "patch", "delete"];
const PLACES: [&str; 3] = ["path", "query", "header"];

fn types(document: &Json) -> String {
    let document = Document(document);
    let mut text = String::new();
    let info = &document.0["info"];
    let of = format!("The API of {} {}.", said(&info["title"]), said(&info["version"]));
    comment(&mut text, 0, &format!("{of} Made by `cms types typescript`."));
    text.push_str("export interface paths {\n");
    for (path, methods) in members(&document.0["paths"]) {
        let _ = writeln!(text, "  {}: {{", quoted(path));
        for method in METHODS {
            if methods[method].is_object() {
                document.operation(&mut text, method, &methods[method]);
            }
        }
        text.push_str("  };\n");
    }
    text.push_str("}\n");
    text.push_str(REFUSAL);
    // Schemas of events are left out: their names are no identifiers, and no path refers to them.
    let schemas = members(&document.0["components"]["schemas"]);
    let schemas: Vec<_> = schemas.filter(|(name, _)| is_plain(name)).collect();
    text.push_str("\nexport interface components {\n  schemas: {\n");
    for (name, _) in &schemas {
        let _ = writeln!(text, "    {name}: {name};");
    }
    text.push_str("  };\n}\n");
    for (name, schema) in schemas {
        text.push('\n');
        comment(&mut text, 0, said(&schema["description"]));
        let shape = written(schema, 0);
        let is_interface = schema["type"] == "object" && shape.starts_with('{');
        let _ = match is_interface {
            true => writeln!(text, "export interface {name} {shape}"),
            false => writeln!(text, "export type {name} = {shape};"),
        };
    }
    text
}

struct Document<'d>(&'d Json);

impl Document<'_> {
    /// The JSON itself, or the target of its reference.
    fn at<'j>(&'j self, json: &'j Json) -> &'j Json {
        let led = json["$ref"].as_str().and_then(|at| self.0.pointer(at.trim_start_matches('#')));
        led.unwrap_or(json)
    }

    fn operation(&self, text: &mut String, method: &str, operation: &Json) {
        comment(text, 4, said(&operation["summary"]));
        let _ = writeln!(text, "    {method}: {{\n      parameters: {{");
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters: Vec<&Json> = parameters.map(|one| self.at(one)).collect();
        for place in PLACES {
            let here: Vec<_> = parameters.iter().filter(|one| one["in"] == place).collect();
            let optional = here.iter().all(|one| one["required"] != true);
            if here.is_empty() {
                continue;
            }
            let _ = writeln!(text, "        {place}{}: {{", mark(optional));
            for one in here {
                comment(text, 10, said(&one["description"]));
                let name = key(said(&one["name"]));
                let (mark, shape) = (mark(one["required"] != true), written(&one["schema"], 10));
                let _ = writeln!(text, "          {name}{mark}: {shape};");
            }
            text.push_str("        };\n");
        }
        text.push_str("      };\n");
        match &operation["requestBody"] {
            Json::Null => text.push_str("      requestBody?: never;\n"),
            body => {
                let mark = mark(body["required"] != true);
                let content = content(&body["content"], 8);
                let _ = writeln!(text, "      requestBody{mark}: {{\n{content}      }};");
            }
        }
        text.push_str("      responses: {\n");
        for (status, response) in members(&operation["responses"]) {
            if response["$ref"].is_string() {
                let _ = writeln!(text, "        {status}: Refusal;");
                continue;
            }
            let content = content(&self.at(response)["content"], 10);
            let headers = "headers: { [name: string]: unknown };";
            let _ =
                writeln!(text, "        {status}: {{\n          {headers}\n{content}        }};");
        }
        text.push_str("      };\n    };\n");
    }
}

/// The type of a body or a reply, by its media type.
fn content(content: &Json, indent: usize) -> String {
    let space = " ".repeat(indent);
    if content.is_null() {
        return format!("{space}content?: never;\n");
    }
    let mut text = format!("{space}content: {{\n");
    for (kind, held) in members(content) {
        let shape = written(&held["schema"], indent + 2);
        let _ = writeln!(text, "{space}  {}: {shape};", quoted(kind));
    }
    let _ = writeln!(text, "{space}}};");
    text
}

/// A schema as a type.
fn written(schema: &Json, indent: usize) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|at| at.strip_prefix(SCHEMAS)) {
        return if is_plain(name) { name.to_owned() } else { "unknown".to_owned() };
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        return either(values.iter().map(Json::to_string));
    }
    for name in ["anyOf", "oneOf"] {
        if let Some(forms) = schema[name].as_array() {
            return either(forms.iter().map(|form| written(form, indent)));
        }
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts = parts.iter().map(|part| written(part, indent));
        return parts.collect::<Vec<_>>().join(" & ");
    }
    match &schema["type"] {
        Json::String(kind) => of_kind(kind, schema, indent),
        Json::Array(kinds) => either(kinds.iter().map(|kind| of_kind(said(kind), schema, indent))),
        _ if schema["properties"].is_object() => object(schema, indent),
        _ => "unknown".to_owned(),
    }
}

fn of_kind(kind: &str, schema: &Json, indent: usize) -> String {
    match kind {
        "string" if schema["format"] == "binary" => "Blob".to_owned(),
        "string" | "boolean" | "null" => kind.to_owned(),
        "integer" | "number" => "number".to_owned(),
        "array" => {
            let entry = written(&schema["items"], indent);
            if entry.contains(" | ") || entry.contains(" & ") {
                format!("({entry})[]")
            } else {
                format!("{entry}[]")
            }
        }
        "object" => object(schema, indent),
        _ => "unknown".to_owned(),
    }
}

fn object(schema: &Json, indent: usize) -> String {
    let others = match &schema["additionalProperties"] {
        Json::Bool(true) => Some("unknown".to_owned()),
        Json::Object(_) => Some(written(&schema["additionalProperties"], indent + 2)),
        _ => None,
    };
    let properties = &schema["properties"];
    if members(properties).next().is_none() {
        return match others {
            Some(held) => format!("Record<string, {held}>"),
            None => "Record<string, never>".to_owned(),
        };
    }
    let (space, mut text) = (" ".repeat(indent), "{\n".to_owned());
    let required = schema["required"].as_array();
    for (name, held) in members(properties) {
        comment(&mut text, indent + 2, said(&held["description"]));
        let is_required =
            required.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)));
        let (mark, shape) = (mark(!is_required), written(held, indent + 2));
        let _ = writeln!(text, "{space}  {}{mark}: {shape};", key(name));
    }
    if others.is_some() {
        // The named members have other types, so nothing is known of the rest.
        let _ = writeln!(text, "{space}  [name: string]: unknown;");
    }
    text + &space + "}"
}

fn either(forms: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for form in forms {
        if !all.contains(&form) {
            all.push(form);
        }
    }
    if all.is_empty() { "never".to_owned() } else { all.join(" | ") }
}

fn members(json: &Json) -> impl Iterator<Item = (&String, &Json)> {
    json.as_object().into_iter().flat_map(Map::iter)
}

fn said(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}

fn mark(optional: bool) -> &'static str {
    if optional { "?" } else { "" }
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|one| one.is_ascii_alphanumeric() || one == '_')
}

fn key(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { quoted(name) }
}

fn comment(text: &mut String, indent: usize, said: &str) {
    if !said.is_empty() {
        let said = said.replace("*/", "* /").split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{}/** {said} */", " ".repeat(indent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_schema_has_its_type() {
        for (schema, expected) in [
            (json!({"type": "integer"}), "number"),
            (json!({"type": ["string", "null"]}), "string | null"),
            (json!({"type": ["string", "null"], "enum": ["a", null]}), "\"a\" | null"),
            (json!({"const": 3}), "3"),
            (json!({"type": "array", "items": {"type": ["integer", "null"]}}), "(number | null)[]"),
            (
                json!({"type": "array", "items": {"$ref": "#/components/schemas/Dishes"}}),
                "Dishes[]",
            ),
            (json!({"anyOf": [{"type": "integer"}, {"type": "number"}]}), "number"),
            (json!({"allOf": [{"type": "boolean", "default": true}]}), "boolean"),
            (json!({"type": "object", "additionalProperties": true}), "Record<string, unknown>"),
            (json!({"type": "object", "additionalProperties": false}), "Record<string, never>"),
            (json!({"type": "string", "format": "binary"}), "Blob"),
            (json!({}), "unknown"),
            (
                json!({"type": "object", "required": ["a"], "properties": {
                    "a": {"type": "string"}, "b-c": {"type": "boolean", "description": "x */ y"},
                }}),
                "{\n  a: string;\n  /** x * / y */\n  \"b-c\"?: boolean;\n}",
            ),
        ] {
            assert_eq!(written(&schema, 0), expected, "{schema}");
        }
    }

    #[test]
    fn an_operation_is_as_openapi_fetch_reads_it() {
        let limit = json!({"name": "filter[a][eq]", "in": "query", "required": false,
            "schema": {"type": "integer"}});
        let id =
            json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
        let of = |name: &str, held: Json| {
            let properties = json!({name: held});
            json!({"schema": {"type": "object", "required": [name], "properties": properties}})
        };
        let sent = of("a", json!({"type": "integer"}));
        let answered = of("data", json!({"type": "array", "items": {"type": "integer"}}));
        let document = json!({
            "info": {"title": "Shop", "version": "1"},
            "paths": {"/x/{id}": {
                "get": {
                    "parameters": [limit, id],
                    "responses": {"204": {"description": "Done."},
                        "404": {"$ref": "#/components/responses/Problem404"}},
                },
                // As an endpoint of a plugin with schemas of its own.
                "post": {
                    "requestBody": {"required": true, "content": {"application/json": sent}},
                    "responses": {"200": {"content": {"application/json": answered}}},
                },
            }},
            "components": {
                "responses": {"Problem404": {"content": {"application/problem+json":
                    {"schema": {"$ref": "#/components/schemas/Problem"}}}}},
                "schemas": {"Problem": {"type": "object", "properties": {"a": {}}},
                    "event.a": {}, "Kind": {"enum": ["x"]}},
            },
        });
        let text = types(&document);
        for part in [
            "        path: {\n          id: string;\n        };\n",
            "        query?: {\n          \"filter[a][eq]\"?: number;\n        };\n",
            "      requestBody?: never;\n",
            "        204: {\n          headers: { [name: string]: unknown };\n          \
             content?: never;\n",
            "        404: Refusal;\n",
            "      requestBody: {\n        content: {\n",
            "          \"application/json\": {\n            a: number;\n          };\n",
            "            \"application/json\": {\n              data: number[];\n            };\n",
            "export interface Problem {\n  a?: unknown;\n}\n",
            "export type Kind = \"x\";\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("event.a"), "{text}");
    }
}
