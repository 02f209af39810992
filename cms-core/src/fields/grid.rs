//! Answers with an order, with rows or with columns.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{
    Context, addresses, choice, contact, date, is_blank,
    kind::{Kind, Refusal, ordered, refuse},
    number,
    options::{self, Choice},
    phone, text,
    typed_field::{SettingsParser, TypedField, read},
};

/// Options in an order of one's own.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Ranking {
    options: Vec<Choice>,
    /// How many are ranked; all without it.
    top_n: Option<usize>,
}

impl Ranking {
    fn count(&self) -> usize {
        self.top_n.unwrap_or(self.options.len())
    }

    fn places(&self, answer: &Json) -> Vec<String> {
        let ids = answer.as_array().into_iter().flatten().enumerate();
        ids.map(|(at, id)| format!("{}. {}", at + 1, options::labels(&self.options, id))).collect()
    }
}

impl Kind for Ranking {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let mut ranked: Vec<&str> = Vec::new();
        for one in options::list(given)? {
            let option = options::find(&self.options, one)?;
            if ranked.contains(&option.id.as_str()) {
                return refuse("count", "each option may occur only once");
            }
            ranked.push(&option.id);
        }
        match self.count() {
            count if ranked.len() == count => Ok(ranked.into()),
            count => refuse("count", format!("{count} options are expected, in their order")),
        }
    }

    fn text(&self, answer: &Json) -> String {
        self.places(answer).join(", ")
    }

    fn cell(&self, answer: &Json) -> String {
        self.places(answer).join(options::CELL)
    }

    fn why_unanswerable(&self) -> Option<&'static str> {
        options::lack(self.options.len(), 1)
    }

    fn options(&self, row: Option<&str>) -> Option<Vec<&str>> {
        row.is_none().then(|| options::ids(&self.options))
    }

    fn check(&self) -> Result<(), Refusal> {
        options::check(&self.options, "options")?;
        ordered(self.top_n.unwrap_or(0), self.options.len(), "top_n", "the number of options")
    }
}

/// A choice in each row.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Matrix {
    rows: Vec<Choice>,
    columns: Vec<Choice>,
    /// Whether a row takes several; its answer is a list then.
    multiple: bool,
    /// Whether every row needs one.
    require_all_rows: bool,
}

impl Kind for Matrix {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let Some(given) = given.as_object() else {
            return refuse("type", "an object of rows and their columns is expected");
        };
        let is_row = |id: &String| self.rows.iter().any(|row| row.id == *id);
        if let Some(id) = given.keys().find(|id| !is_row(id)) {
            return refuse("unknown_row", format!("{id:?} is none of the rows"));
        }
        let mut answer = Map::new();
        for row in &self.rows {
            let Some(given) = given.get(&row.id).filter(|given| !is_blank(given)) else {
                if self.require_all_rows {
                    return refuse("required", format!("{:?} is expected", row.id));
                }
                continue;
            };
            let taken = if self.multiple {
                options::several(&self.columns, given)?.into()
            } else {
                options::find(&self.columns, given)?.id.clone().into()
            };
            answer.insert(row.id.clone(), taken);
        }
        Ok(answer.into())
    }

    fn text(&self, answer: &Json) -> String {
        let line = |row: &Choice| {
            let column = answer.get(&row.id)?;
            let row = options::labels(&self.rows, &json!(row.id));
            Some(format!("{row}: {}", options::labels(&self.columns, column)))
        };
        self.rows.iter().filter_map(line).collect::<Vec<_>>().join("; ")
    }

    fn why_unanswerable(&self) -> Option<&'static str> {
        let is_whole = !self.rows.is_empty() && !self.columns.is_empty();
        (!is_whole).then_some("rows, columns: at least one of each is expected")
    }

    fn options(&self, row: Option<&str>) -> Option<Vec<&str>> {
        let is_row = self.rows.iter().any(|one| row == Some(one.id.as_str()));
        is_row.then(|| options::ids(&self.columns))
    }

    fn check(&self) -> Result<(), Refusal> {
        options::check(&self.rows, "rows")?;
        options::check(&self.columns, "columns")
    }
}

/// Rows of the same few fields.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Repeater {
    /// Fields with `id` and `type`, of the types that fit a cell.
    columns: Vec<Json>,
    min_rows: usize,
    max_rows: usize,
    /// The columns, once they are read.
    #[serde(skip)]
    read: OnceLock<Vec<TypedField>>,
}

/// How to read the settings of a type; None: a cell cannot have this type.
fn cell(name: &str) -> Option<SettingsParser> {
    Some(match name {
        "short_text" => read::<text::ShortText>,
        "long_text" => read::<text::LongText>,
        "number" => read::<number::Number>,
        "url" => read::<addresses::Url>,
        "email" => read::<addresses::Email>,
        "phone" => read::<phone::Phone>,
        "country" => read::<contact::Country>,
        "single_choice" => read::<choice::SingleChoice>,
        "yes_no" => read::<choice::YesNo>,
        "date" => read::<date::Date>,
        "time" => read::<date::Time>,
        _ => return None,
    })
}

impl Default for Repeater {
    fn default() -> Self {
        let columns = vec![json!({"id": "c1", "type": "short_text"})];
        Self { columns, min_rows: 0, max_rows: 20, read: OnceLock::new() }
    }
}

impl Repeater {
    fn columns(&self) -> Result<&[TypedField], Refusal> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let column = |declared: &Json| {
            TypedField::read(declared, |name| Some((cell(name)?, ())))
                .map(|(column, ())| column)
                .or_else(|fault| refuse("bad_config", format!("columns: {}", fault.message)))
        };
        let columns = self.columns.iter().map(column).collect::<Result<_, _>>()?;
        Ok(self.read.get_or_init(|| columns))
    }
}

impl Kind for Repeater {
    fn take(&self, given: &Json, context: &Context) -> Result<Json, Refusal> {
        let (columns, given) = (self.columns()?, options::list(given)?);
        let given: Vec<_> = given.iter().filter(|row| !is_blank(row)).collect();
        if given.len() < self.min_rows {
            return refuse("min", format!("at least {} rows are expected", self.min_rows));
        }
        if given.len() > self.max_rows {
            return refuse("max", format!("at most {} rows are expected", self.max_rows));
        }
        let mut rows: Vec<Json> = Vec::new();
        for (at, row) in given.iter().enumerate() {
            let Some(row) = row.as_object() else {
                return refuse("type", "a list of objects is expected");
            };
            let is_column = |id: &String| columns.iter().any(|column| column.id == *id);
            if let Some(id) = row.keys().find(|id| !is_column(id)) {
                return refuse("unknown_column", format!("{id:?} is none of the columns"));
            }
            let mut cells = Map::new();
            for column in columns {
                let taken = column.take(row, context).map_err(|fault| Refusal {
                    code: fault.code,
                    message: format!("row {}, {}: {}", at + 1, fault.field, fault.message),
                })?;
                cells.extend(taken);
            }
            rows.push(cells.into());
        }
        Ok(rows.into())
    }

    fn text(&self, answer: &Json) -> String {
        let Ok(columns) = self.columns() else { return String::new() };
        let row = |row: &Json| {
            let cell = |column: &TypedField| row.get(&column.id).map(|cell| column.text(cell));
            columns.iter().filter_map(cell).collect::<Vec<_>>().join(", ")
        };
        answer.as_array().into_iter().flatten().map(row).collect::<Vec<_>>().join("; ")
    }

    fn check(&self) -> Result<(), Refusal> {
        ordered(self.min_rows, self.max_rows, "min_rows", "max_rows")?;
        let columns = self.columns()?;
        let ids: std::collections::BTreeSet<_> = columns.iter().map(|column| &column.id).collect();
        if ids.len() < columns.len() || columns.is_empty() {
            return refuse("bad_config", "columns: each needs an id of its own");
        }
        Ok(())
    }
}
