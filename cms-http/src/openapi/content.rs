//! Operations and types of each content table, with its own columns and an example.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use cms_core::{
    content::{Column, Table, Tables},
    db::Kind,
    fields::FieldType,
    items::Op,
};
use serde_json::{Map, Value as Json, json};

use super::{
    knowledge::{self, Reach},
    operation::{self, PathOperation},
    types::{self, Shapes},
};
use crate::{call::Call, caller::Caller, describe::Described};

/// The component that describes fields of forms.
const FIELD: &str = "FieldDeclaration";

/// Type names that TypeScript has, or that `cms types typescript` adds.
const OF_TYPESCRIPT: [&str; 21] = [
    "Array", "Blob", "Boolean", "Date", "Error", "Event", "File", "FormData", "Function",
    "Headers", "Map", "Number", "Object", "Partial", "Promise", "Record", "Refusal", "Request",
    "Response", "Set", "String",
];

/// The type names of all tables: `blog_posts` has `BlogPosts`, `BlogPostsCreate` and
/// `BlogPostsUpdate`. Every caller gets the same names.
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// Makes names that differ from those in `taken`, whatever the case of their letters.
    pub(super) fn of(tables: &Tables, taken: &Map<String, Json>) -> Self {
        let mut taken: BTreeSet<String> = taken.keys().map(|name| name.to_lowercase()).collect();
        taken.extend(OF_TYPESCRIPT.map(str::to_lowercase));
        taken.insert(FIELD.to_lowercase());
        let mut sorted: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        sorted.sort_unstable();
        let mut names = BTreeMap::new();
        for table in sorted {
            let plain = type_name(table);
            let others = (2..1000).map(|number| format!("{plain}Record{number}"));
            let mut wanted = [plain.clone(), format!("{plain}Record")].into_iter().chain(others);
            let is_free = |name: &String| {
                let all = ["", "create", "update"].map(|end| name.to_lowercase() + end);
                !all.iter().any(|name| taken.contains(name))
            };
            // With so many numbers, one is free.
            let name = wanted.find(is_free).unwrap_or(plain);
            taken.extend(["", "create", "update"].map(|end| name.to_lowercase() + end));
            names.insert(table.to_owned(), name);
        }
        Self(names)
    }

    fn get(&self, table: &str) -> &str {
        self.0.get(table).map_or("AnyRecord", String::as_str)
    }

    fn reference(&self, table: &str) -> Json {
        json!({"$ref": format!("#/components/schemas/{}", self.get(table))})
    }
}

/// Whether a path can hold the name without percent-encoding (RFC 3986, 2.3).
fn is_segment(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['-', '.', '_', '~'].contains(&c);
    name.chars().all(is_plain) && ![".", ".."].contains(&name)
}

/// `blog_posts` as `BlogPosts`.
fn type_name(table: &str) -> String {
    let words = table.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    let name: String = words.map(capital).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("Table{name}") }
}

/// What is known of the tables of a document.
pub(super) struct Content<'c> {
    pub(super) call: &'c Call<'c>,
    pub(super) names: &'c Names,
    /// The tables that operations name.
    used: RefCell<BTreeSet<String>>,
}

impl<'c> Content<'c> {
    pub(super) fn of(call: &'c Call<'c>, names: &'c Names) -> Self {
        Self { call, names, used: RefCell::default() }
    }
}

impl Content<'_> {
    /// The paths of an operation for each table that the caller may use it on.
    pub(super) fn operations<'d>(
        &self,
        described: &'d Described,
        shapes: &Shapes,
    ) -> Vec<PathOperation<'d>> {
        let tables = self.call.cms.tables();
        let mut operations = Vec::new();
        for table in tables.iter().filter(|table| is_segment(&table.name)) {
            let is_there = match described.method {
                "GET" => true,
                "PATCH" => table.writable(),
                _ => table.makes_records(),
            };
            let reach = knowledge::reach(self.call, described.method, &table.name);
            if !is_there || reach == Reach::Nothing {
                continue;
            }
            let list = format!("{}/{}", described.path, table.name);
            let all = self.operations_at(described, shapes, table, &list);
            let shown = all.into_iter().filter(|one| reach == Reach::All || one.path != list);
            operations.extend(shown.map(|one| PathOperation { tag: table.name.clone(), ..one }));
        }
        operations
    }

    /// A plugin's endpoint that reads the records of a table.
    pub(super) fn read_at<'d>(
        &self,
        described: &'d Described,
        shapes: &Shapes,
        table: &Table,
    ) -> Vec<PathOperation<'d>> {
        // Only callers that may read the other table can follow a reference.
        let expands = !matches!(self.call.caller(), Caller::Anonymous);
        let all = self.operations_at(described, shapes, table, described.path);
        all.into_iter().map(|one| one.keep_parameters(|name| expands || name != "expand")).collect()
    }

    /// The operation on all records at `list`, and the one on a single record below it.
    fn operations_at<'d>(
        &self,
        described: &'d Described,
        shapes: &Shapes,
        table: &Table,
        list: &str,
    ) -> Vec<PathOperation<'d>> {
        self.used.borrow_mut().insert(table.name.clone());
        let name = &table.name;
        let at_path = |path: String, summary: String| {
            let one = PathOperation { summary, ..PathOperation::new(described, path, shapes) };
            one.keep_parameters(|asked| {
                !["table", "fields"].contains(&asked)
                    && (table.multilanguage || asked != "language")
            })
        };
        let all = |summary: String| {
            at_path(list.to_owned(), summary).keep_parameters(|asked| asked != "id")
        };
        let one = |summary: String| {
            let mut one = at_path(format!("{list}/{{id}}"), summary);
            one.query["properties"]["id"] = id(table);
            one
        };
        let sends = |one: PathOperation<'d>, end: &str, example: Json| {
            PathOperation { body: self.body(table, end), example: Some(example), ..one }
                .with_reply(self.written(table))
        };
        match described.method {
            "GET" => {
                let page = operation::halves(&shapes.reply).map(|(page, _)| page);
                let page = self.page(table, page.unwrap_or_default());
                let all = all(format!("Records of {name}, a page of them.")).with_reply(page);
                let all = PathOperation {
                    filters: filters(&table.columns, |_, _| true).collect(),
                    ..all
                };
                let selects = |asked: &str| ["id", "language", "expand"].contains(&asked);
                let shown = one(format!("One record of {name}.")).keep_parameters(selects);
                let shown = table.writable().then(|| shown.with_reply(self.data(table)));
                [Some(all), shown].into_iter().flatten().collect()
            }
            "POST" => {
                vec![sends(
                    all(format!("Adds a record to {name}.")),
                    "Create",
                    example_of(table, true),
                )]
            }
            "PATCH" => {
                let changed = one(format!("Changes columns of a record of {name}."));
                vec![sends(changed, "Update", example_of(table, false))]
            }
            _ => vec![one(format!("Removes a record of {name}."))],
        }
    }

    /// A page of a table's records, in the shape of all pages.
    fn page(&self, table: &Table, mut page: Json) -> Json {
        page["properties"]["data"]["items"] = self.names.reference(&table.name);
        page
    }

    fn data(&self, table: &Table) -> Json {
        data(self.names.reference(&table.name))
    }

    /// The reply to a write: the record, or its id for callers that may not read it.
    fn written(&self, table: &Table) -> Json {
        if self.call.caller().may_read(self.call.cms, &table.name) {
            return self.data(table);
        }
        let properties = json!({"id": {"description": "Its id; of a composite key an array."}});
        let only = json!({"type": "object", "properties": properties, "required": ["id"]});
        data(only)
    }

    fn body(&self, table: &Table, end: &str) -> Json {
        json!({"$ref": format!("#/components/schemas/{}{end}", self.names.get(&table.name))})
    }

    /// The types of the tables that the operations name. References lead only to tables that the
    /// caller may read, and these have operations too.
    pub(super) fn schemas(&self, schemas: &mut Map<String, Json>) {
        schemas.insert(FIELD.to_owned(), field().clone());
        let used = self.used.borrow();
        for table in self.call.cms.tables().iter().filter(|one| used.contains(&one.name)) {
            let name = self.names.get(&table.name);
            schemas.insert(name.to_owned(), self.record(table));
            schemas.insert(format!("{name}Create"), written(table, true));
            schemas.insert(format!("{name}Update"), written(table, false));
        }
    }

    fn record(&self, table: &Table) -> Json {
        let columns = || table.columns.iter().filter(|column| column.readable());
        let properties: Map<String, Json> =
            columns().map(|column| (column.name.clone(), self.value(table, column))).collect();
        let names: Vec<&str> = columns().map(|column| column.name.as_str()).collect();
        json!({
            "type": "object",
            "description": format!("A record of {}, declared by {}.", table.name, table.plugin),
            "properties": properties,
            "required": names,
            // Hooks may add members.
            "additionalProperties": self.call.cms.items().has_read_hooks(&table.name, None),
        })
    }

    /// The schema of a column. `expand` replaces a reference by the record that it names.
    fn value(&self, table: &Table, column: &Column) -> Json {
        let mut schema = schema_of(table, column, column.may_hold_null());
        if table.adopted {
            // Rows may be older than the declaration.
            schema = column.schema(true, true);
        }
        let (cms, name) = (self.call.cms, column.references.as_deref());
        let target = name.and_then(|name| cms.tables().find(name));
        let target = target.filter(|target| target.key.len() == 1);
        match target.filter(|target| self.call.caller().may_read(cms, &target.name)) {
            Some(target) => json!({"anyOf": [schema, self.names.reference(&target.name)]}),
            None => schema,
        }
    }
}

fn data(thing: Json) -> Json {
    json!({"type": "object", "properties": {"data": thing}, "required": ["data"]})
}

/// The id of a record in a path; for a composite key, a JSON array.
fn id(table: &Table) -> Json {
    let mut keys = table.columns.iter().filter(|column| table.is_key(column));
    match (keys.next(), keys.next()) {
        (Some(key), None) if key.kind == Kind::Integer => {
            json!({"type": "integer", "description": "Its id.", "examples": [1]})
        }
        (Some(key), None) => json!({"type": "string", "description": format!("Its {}.", key.name)}),
        _ => json!({"type": "string", "description": "Its key, as a JSON array."}),
    }
}

/// The columns to send for a new record, or to change one.
fn written(table: &Table, new: bool) -> Json {
    let columns = || table.columns.iter().filter(|column| table.writes(column));
    let property = |column: &Column| {
        let mut schema = schema_of(table, column, !column.required);
        if let Some(default) = column.default.as_ref().filter(|_| new) {
            schema["default"] = default.clone();
            types::wrap_default(&mut schema);
        }
        (column.name.clone(), schema)
    };
    let properties: Map<String, Json> = columns().map(property).collect();
    let needed = columns().filter(|column| new && column.required && !column.has_default);
    let needed: Vec<&str> = needed.map(|column| column.name.as_str()).collect();
    let what = if new { "A new record of" } else { "Columns to change of a record of" };
    json!({
        "type": "object",
        "description": format!("{what} {}.", table.name),
        "properties": properties,
        "required": needed,
        "additionalProperties": false,
    })
}

fn schema_of(table: &Table, column: &Column, nullable: bool) -> Json {
    if (table.name.as_str(), column.name.as_str()) == ("forms", "fields") {
        let field = json!({"$ref": format!("#/components/schemas/{FIELD}")});
        return json!({"type": "array", "items": field});
    }
    let mut schema = column.schema(table.adopted, nullable);
    let Some(allowed) = column.enum_values() else { return schema };
    let null = || nullable.then_some(Json::Null);
    if column.kind == Kind::Json {
        let one: Vec<Json> = allowed.iter().cloned().chain(null()).collect();
        let several = json!({"type": "array", "items": {"enum": allowed}});
        return json!({"anyOf": [several, {"enum": one}]});
    }
    schema["enum"] = allowed.into_iter().chain(null()).collect();
    schema
}

/// The schema of a form's field of any type. It is made once, because it never changes.
fn field() -> &'static Json {
    static FIELD: OnceLock<Json> = OnceLock::new();
    FIELD.get_or_init(|| {
        let types: Vec<_> = FieldType::ALL.iter().map(FieldType::declaration_schema).collect();
        let mut field = json!({"description": "A field that people fill in.", "oneOf": types});
        types::open(&mut field);
        types::drop_unknown_formats(&mut field);
        field
    })
}

/// The filters that a list of records with these columns takes, except those that `takes` refuses.
pub(super) fn filters<'c>(
    columns: impl IntoIterator<Item = &'c Column>,
    takes: impl Fn(&Column, Op) -> bool,
) -> impl Iterator<Item = Json> {
    let columns = columns.into_iter().filter(|column| column.readable());
    columns.flat_map(move |column| {
        let takes: Vec<_> =
            Op::all().filter(|(_, op)| op.compares(column.kind) && takes(column, *op)).collect();
        takes.into_iter().map(move |(word, op)| {
            json!({
                "name": format!("filter[{}][{word}]", column.name),
                "in": "query",
                "required": false,
                "schema": compared(column, op),
            })
        })
    })
}

/// Whether one of the service's own lists has this filter. A column with few values is only
/// compared for equality.
pub(super) fn own_list_takes(column: &Column, op: Op) -> bool {
    column.allowed.is_none() || matches!(op, Op::Eq | Op::Ne | Op::In | Op::Nin | Op::Null)
}

/// The value of a filter: one, or several separated by commas.
fn compared(column: &Column, op: Op) -> Json {
    let text = json!({"type": "string"});
    match (op, column.kind) {
        (Op::Null, _) | (Op::Eq | Op::Ne, Kind::Boolean) => json!({"type": "boolean"}),
        (Op::In | Op::Nin | Op::Contains | Op::StartsWith | Op::EndsWith, _) => text,
        (_, Kind::Integer) => json!({"type": "integer"}),
        (_, Kind::Decimal | Kind::Double) => json!({"type": "number"}),
        _ => text,
    }
}

/// An example: columns that are required or have an example, and no default; for a change, one of
/// them.
fn example_of(table: &Table, new: bool) -> Json {
    let written = table.columns.iter().filter(|column| table.writes(column));
    let has_example = |column: &Column| column.resource.is_some_and(|one| !one.example.is_empty());
    let needed = written.filter(|column| {
        (column.required || has_example(column))
            && !column.has_default
            && (new || !table.is_key(column))
    });
    let value = |column: &Column| match (table.name.as_str(), column.name.as_str()) {
        ("forms", "name") => "newsletter".into(),
        _ => column.example(),
    };
    let shown = needed.map(|column| (column.name.clone(), value(column)));
    Json::Object(if new { shown.collect() } else { shown.take(1).collect() })
}
