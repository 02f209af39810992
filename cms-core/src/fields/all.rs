//! Fields that are asked together: the fields of a form, or of a step of a funnel.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{Context, Field, FieldType, kind::plain};
use crate::{Address, FieldError, events::AnswerData};

/// Maximum number of fields.
const MOST: usize = 200;
/// Maximum length of a summary, in characters.
const SUMMARY: usize = 200;

/// Fields that are asked together.
#[derive(Debug, Default)]
pub struct Fields(Vec<Field>);

/// An answer with what was asked, so that it reads the same when the field has changed since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FieldAnswer")]
#[non_exhaustive]
pub struct Answer {
    /// The id of the field. A value beside an answer has a name of its own, such as `<id>.other`.
    pub field: String,
    /// The type of the field.
    #[serde(rename = "type")]
    pub field_type: String,
    /// What people saw above it.
    pub label: String,
    /// The answer.
    pub value: Json,
    /// The answer as people read it.
    pub text: String,
    /// The same in tables, where `; ` stands between several values, if it reads otherwise there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
}

/// Settings of declared fields that should hold an address but do not. [`Fields::read`] ignores
/// this fault, so that declarations stored earlier still work. `field` is the position in the
/// list, such as `[2]`.
pub(crate) fn broken_links(declared: &Json) -> Vec<FieldError> {
    let mut faults = Vec::new();
    for (at, one) in declared.as_array().into_iter().flatten().enumerate() {
        let field_type = one["type"].as_str().and_then(FieldType::find);
        for member in field_type.into_iter().flat_map(FieldType::links) {
            let text = one[member].as_str().filter(|text| !text.is_empty());
            if let Some(problem) = text.and_then(|text| Address::Link.problem(text)) {
                let message = format!("{member}: {problem}");
                faults.push(FieldError { field: format!("[{at}]"), code: "bad_config", message });
            }
        }
    }
    faults
}

impl Fields {
    /// Reads a list of declarations.
    ///
    /// # Errors
    /// One fault for each wrong declaration, as [`Field::read`], and for each duplicate id.
    /// `field` is the position in the list, such as `[2]`; empty for a fault of the list itself.
    pub fn read(declared: &Json) -> Result<Self, Vec<FieldError>> {
        let (fields, faults) = Self::read_good(declared);
        if faults.is_empty() { Ok(fields) } else { Err(faults) }
    }

    /// As [`Fields::read`], but returns both the readable fields and the faults. A field with
    /// wrong settings gets the default settings of its type, so that its id and type are known.
    pub(crate) fn read_good(declared: &Json) -> (Self, Vec<FieldError>) {
        let fault =
            |place: String, code, message: String| FieldError { field: place, code, message };
        let whole =
            |message: String| (Self::default(), vec![fault(String::new(), "bad_config", message)]);
        let Some(list) = declared.as_array() else {
            return whole("a list of fields is expected".to_owned());
        };
        if list.len() > MOST {
            return whole(format!("at most {MOST} fields are expected"));
        }
        let (mut fields, mut ids, mut faults) = (Vec::new(), BTreeSet::new(), Vec::new());
        for (listed, one) in list.iter().enumerate() {
            let read = Field::read(one).or_else(|wrong| {
                let bare = json!({"id": one.get("id"), "type": one.get("type")});
                faults.push(FieldError { field: format!("[{listed}]"), ..wrong });
                Field::read(&bare).map(|mut field| {
                    field.is_broken = true;
                    field
                })
            });
            match read {
                Ok(field) if !ids.insert(field.id().to_owned()) => {
                    let message = format!("{:?} is the id of an earlier field", field.id());
                    faults.push(fault(format!("[{listed}]"), "bad_id", message));
                }
                Ok(mut field) => {
                    field.listed = listed;
                    fields.push(field);
                }
                Err(_) => {}
            }
        }
        (Self(fields), faults)
    }

    /// The fields, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Field> {
        self.0.iter()
    }

    /// Faults of computed fields that depend on a field that is missing, or that is computed and
    /// does not come before them. `field` is the position in the list, such as `[2]`.
    #[must_use]
    pub(crate) fn uncomputable(&self) -> Vec<FieldError> {
        let mut faults = Vec::new();
        for (at, field) in self.0.iter().enumerate() {
            for name in field.computed_from().unwrap_or_default() {
                let place = self.0.iter().position(|other| other.id() == name);
                let message = match place {
                    Some(place) if place < at => continue,
                    Some(place) if self.0[place].type_name() != "calculated" => continue,
                    Some(_) => {
                        format!("expression: {name:?} is computed and does not stand before")
                    }
                    None => format!("expression: there is no field {name:?}"),
                };
                faults.push(FieldError { field: format!("[{at}]"), code: "bad_config", message });
            }
        }
        faults
    }

    /// The answers in `given`, in the order of the fields, with the values computed from them.
    /// Members that no field asks for are ignored.
    ///
    /// # Errors
    /// One fault for each refused answer, as [`Field::take`].
    pub fn take(
        &self,
        given: &Map<String, Json>,
        context: &Context,
    ) -> Result<Vec<Answer>, Vec<FieldError>> {
        let (mut taken, mut faults) = (Vec::new(), Vec::new());
        for field in &self.0 {
            match field.take(given, context) {
                Ok(answers) => taken.push((field, answers)),
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut known: Map<_, _> =
            taken.iter().flat_map(|(_, answers)| answers.iter().cloned()).collect();
        let mut all = Vec::new();
        for (field, mut answers) in taken {
            if let Some(value) = field.compute(&known) {
                known.insert(field.id().to_owned(), value.clone());
                answers.push((field.id().to_owned(), value));
            }
            all.extend(answers.into_iter().map(|one| answer(field, one)));
        }
        Ok(all)
    }
}

impl Answer {
    /// The answer as tables show it.
    pub(crate) fn cell(&self) -> &str {
        self.cell.as_ref().unwrap_or(&self.text)
    }

    /// Whether it is the time or the version of a consent, which the visitor did not type.
    fn is_record_of_consent(&self) -> bool {
        self.field_type == "consent"
            && [".at", ".version"].iter().any(|end| self.field.ends_with(end))
    }

    /// The answer as events contain it. Members whose names an author chose become a list.
    /// Otherwise the payload filter would remove members such as `keywords` by their name.
    pub(crate) fn event_answer(&self) -> AnswerData {
        let Self { field, field_type, label, value, .. } = self;
        let value = match (field_type.as_str(), value) {
            ("matrix", row) => pairs(row),
            ("repeater", Json::Array(rows)) => rows.iter().map(pairs).collect(),
            _ => value.clone(),
        };
        let (field, label) = (field.clone(), label.clone());
        AnswerData { field, field_type: field_type.clone(), label, value }
    }
}

/// The members of an object whose names an author chose, as a list.
fn pairs(object: &Json) -> Json {
    let pair = |(field, value): (&String, &Json)| json!({"field": field, "value": value});
    object.as_object().into_iter().flatten().map(pair).collect()
}

/// The first answers, joined to one line.
pub(crate) fn summary(answers: &[Answer]) -> String {
    let given = answers.iter().filter(|answer| !answer.is_record_of_consent());
    let texts = given.map(|answer| answer.text.as_str()).filter(|text| !text.is_empty());
    let line = texts.take(4).collect::<Vec<_>>().join(" · ");
    let line: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SUMMARY) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

impl Field {
    /// Its stored answer, with the members stored beside it.
    pub(crate) fn answered(&self, stored: &Map<String, Json>) -> Vec<Answer> {
        let names = self.names().into_iter();
        let pairs = names.filter_map(|name| Some((name.clone(), stored.get(&name)?.clone())));
        pairs.map(|pair| answer(self, pair)).collect()
    }
}

fn answer(field: &Field, (name, value): (String, Json)) -> Answer {
    let (text, cell) = match name == field.id() {
        true => (field.text(&value), Some(field.cell(&value))),
        false => (plain(&value), None),
    };
    Answer {
        field: name,
        field_type: field.type_name().to_owned(),
        label: field.common().label.clone(),
        value,
        cell: cell.filter(|cell| *cell != text),
        text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::events;

    #[test]
    fn all_faults_of_a_list_are_told_with_their_places() {
        let faults = Fields::read(&json!([
            {"id": "a", "type": "email"},
            {"id": "a", "type": "nps"},
            {"id": "b c", "type": "nps"},
            {"id": "d", "type": "captcha"},
            {"id": "e", "type": "number", "colour": 1},
            7,
        ]));
        let faults = faults.expect_err("wrong");
        let told: Vec<_> = faults.iter().map(|one| (one.field.as_str(), one.code)).collect();
        assert_eq!(
            told,
            [
                ("[1]", "bad_id"),
                ("[2]", "bad_id"),
                ("[3]", "unknown_field_type"),
                ("[4]", "bad_config"),
                ("[5]", "bad_config"),
            ]
        );
        for whole in [json!({}), json!(vec![json!({"id": "a", "type": "nps"}); MOST + 1])] {
            let faults = Fields::read(&whole).expect_err("wrong");
            assert_eq!((faults.len(), faults[0].field.as_str()), (1, ""), "{whole}");
        }
        assert_eq!(Fields::read(&json!([])).expect("none").iter().count(), 0);
    }

    #[test]
    fn answers_carry_what_was_asked_and_all_faults_are_told() {
        let fields = Fields::read(&json!([
            {"id": "who", "type": "short_text", "label": "Name", "required": true},
            {"id": "how", "type": "single_choice", "options": [], "allow_other": true},
            {"id": "from", "type": "hidden", "default": "page"},
        ]));
        let fields = fields.expect("fields");
        let take = |given: Json, context: Context| {
            fields.take(given.as_object().expect("answers"), &context)
        };
        let given = json!({"who": " Ada ", "how": "other", "how.other": "By bike", "x": 1});
        let answers = take(given.clone(), Context::at(0)).expect("answers");
        let told: Vec<_> =
            answers.iter().map(|one| (&*one.field, &*one.label, &*one.text)).collect();
        let expected = [("who", "Name", "Ada"), ("how", "", "other"), ("how.other", "", "By bike")];
        assert_eq!(told, expected);
        // A value that comes with the visitor counts only in the first call.
        let arrived = take(given, Context::at(0).arriving()).expect("answers");
        assert_eq!(arrived[3].value, json!("page"));
        let faults = take(json!({"how": "other"}), Context::at(0)).expect_err("wrong");
        let told: Vec<_> = faults.iter().map(|one| (one.field.as_str(), one.code)).collect();
        assert_eq!(told, [("who", "required"), ("how", "required")]);
    }

    #[test]
    fn values_are_computed_from_answers_and_never_taken_from_the_page() {
        let computed = |id: &str, expression: &str| {
            let kind = "calculated";
            json!({"id": id, "type": kind, "expression": expression})
        };
        let declared = json!([
            computed("net", "sum(rows.price) * n"),
            {"id": "n", "type": "number"},
            {"id": "rows", "type": "repeater", "columns": [{"id": "price", "type": "number"}]},
            computed("gross", "net * 1.19"),
            computed("share", "net / 0"),
        ]);
        let fields = Fields::read(&declared).expect("fields");
        assert_eq!(fields.uncomputable(), []);
        let given = json!({"n": 3, "rows": [{"price": 1.5}, {"price": "2"}], "net": 1, "gross": 0});
        let take = |given: &Json| {
            let answers = fields.take(given.as_object().expect("answers"), &Context::at(0));
            let answers = answers.expect("answers").into_iter();
            answers.map(|one| (one.field, one.value)).collect::<Map<_, _>>()
        };
        let answers = take(&given);
        assert_eq!((&answers["net"], &answers["gross"]), (&json!(10.5), &json!(12.5)));
        assert!(!answers.contains_key("share"), "a division by 0 is absent");
        assert_eq!(take(&json!({"net": 7})), Map::new(), "no answers, no value");
        for (field, told) in [
            (computed("a", "b + 1"), "there is no field \"b\""),
            (computed("a", "a + 1"), "does not stand before"),
        ] {
            let fields = Fields::read(&json!([field])).expect("fields");
            let faults = fields.uncomputable();
            assert!(faults.len() == 1 && faults[0].message.contains(told), "{faults:?}");
        }
        let circle = json!([computed("a", "b"), computed("b", "a")]);
        assert_eq!(Fields::read(&circle).expect("fields").uncomputable()[0].field, "[0]");
        let wrong = Fields::read(&json!([computed("a", "1 +")])).expect_err("wrong");
        assert_eq!(
            wrong[0].message,
            "expression: at 4: a number, a field, a function or ( is expected"
        );
    }

    #[test]
    fn the_filter_of_payloads_leaves_the_ids_of_authors() {
        let pair = |field: &str, value: Json| json!({"field": field, "value": value});
        for (field_type, value, expected) in [
            (
                "matrix",
                json!({"keywords": "a", "turkey": ["b"]}),
                json!([pair("keywords", json!("a")), pair("turkey", json!(["b"]))]),
            ),
            (
                "repeater",
                json!([{"name": "password", "value": "x"}, {"token": 1}]),
                json!([
                    [pair("name", json!("password")), pair("value", json!("x"))],
                    [pair("token", json!(1))],
                ]),
            ),
            ("full_name", json!({"first": "Ada"}), json!({"first": "Ada"})),
        ] {
            let answer = Answer {
                field: "salt".to_owned(),
                field_type: field_type.to_owned(),
                label: "Key".to_owned(),
                value,
                text: String::new(),
                cell: None,
            };
            let data = json!({"answers": [answer.event_answer()]});
            let (sent, removed) = events::body("", "", 0, data);
            let sent: Json = serde_json::from_str(&sent).expect("JSON");
            assert_eq!((&sent["data"]["answers"][0]["value"], removed), (&expected, Vec::new()));
        }
    }

    #[test]
    fn a_summary_is_one_short_line() {
        let answer = |text: &str| Answer {
            field: "a".to_owned(),
            field_type: "long_text".to_owned(),
            label: String::new(),
            value: text.into(),
            text: text.to_owned(),
            cell: None,
        };
        let shown = summary(&[answer("Ada"), answer(""), answer("one\ntwo"), answer("3")]);
        assert_eq!(shown, "Ada · one two · 3");
        let long = summary(&[answer(&"ü".repeat(1000))]);
        assert_eq!((long.chars().count(), long.ends_with('…')), (SUMMARY + 1, true));
        assert_eq!(summary(&[]), "");
        let part = |field: &str, field_type: &str, text: &str| Answer {
            field: field.to_owned(),
            field_type: field_type.to_owned(),
            ..answer(text)
        };
        for (field, field_type, is_shown) in [
            ("terms", "consent", true),
            ("terms.at", "consent", false),
            ("terms.version", "consent", false),
            ("colour.other", "single_choice", true),
        ] {
            let shown = summary(&[part(field, field_type, "x")]);
            assert_eq!(shown == "x", is_shown, "{field}");
        }
    }
}
