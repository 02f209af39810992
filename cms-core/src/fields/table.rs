//! The table of the 33 field types.

use std::sync::OnceLock;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value as Json, json};

use super::{
    addresses, choice, contact, date, grid,
    kind::Kind,
    number, phone, special, text,
    typed_field::{Common, SettingsParser, read},
    upload,
};

/// Where editors list a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Group {
    /// Texts and numbers.
    Input,
    /// How to reach people.
    Contact,
    /// One or several of many.
    Choice,
    /// A place on a scale.
    Rating,
    /// Days and times.
    Date,
    /// Files.
    File,
    /// Something to read.
    Layout,
    /// What comes with the visitor.
    Hidden,
    /// What is computed.
    Calculated,
    /// What is agreed to.
    Consent,
    /// What another service says.
    External,
}

/// A field type.
#[non_exhaustive]
pub struct FieldType {
    /// Its name in declarations.
    pub name: &'static str,
    /// The group in which editors list it.
    pub group: Group,
    /// A description of what it asks for.
    pub about: &'static str,
    /// A description of its answer, as Markdown.
    pub answer: &'static str,
    /// An answer in stored form, as JSON; `null` for a type without answer.
    pub example: &'static str,
    default: fn() -> Json,
    schema: fn() -> Json,
    pub(super) read: SettingsParser,
}

impl std::fmt::Debug for FieldType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl FieldType {
    /// Every type, in the order in which editors list them.
    pub const ALL: &[Self] = &TABLE;

    /// The type of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|one| one.name == name)
    }

    /// The settings of a field of this type with their default values.
    #[must_use]
    pub fn default_config(&self) -> Json {
        merged(default::<Common>(), (self.default)())
    }

    /// The settings that only this type has, as JSON Schema without references.
    #[must_use]
    pub fn config_schema(&self) -> Json {
        (self.schema)()
    }

    /// The settings of this type that hold the address of a link, as their schema declares.
    pub(super) fn links(&self) -> impl Iterator<Item = &'static str> {
        static ALL: OnceLock<Vec<(&'static str, String)>> = OnceLock::new();
        let all = ALL.get_or_init(|| {
            let of_type = |one: &'static Self| {
                let schema = one.config_schema();
                let members = schema["properties"].as_object().cloned().unwrap_or_default();
                members.into_iter().filter_map(|(name, member)| {
                    (member["format"] == "uri-reference").then_some((one.name, name))
                })
            };
            Self::ALL.iter().flat_map(of_type).collect()
        });
        let name = self.name;
        all.iter().filter(move |(of, _)| *of == name).map(|(_, member)| member.as_str())
    }

    /// A declaration of a field of this type, as JSON Schema without references.
    #[must_use]
    pub fn declaration_schema(&self) -> Json {
        let id = json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"});
        let mut properties = Map::from_iter([
            ("id".to_owned(), id),
            ("type".to_owned(), json!({"const": self.name})),
        ]);
        for mut part in [schema::<Common>(), self.config_schema()] {
            let Json::Object(members) = part["properties"].take() else { continue };
            for (name, member) in members {
                // `calculated` has a setting named `type` too, which must not replace the
                // member `type`.
                properties.entry(name).or_insert(member);
            }
        }
        json!({
            "type": "object",
            "title": self.name,
            "description": self.about,
            "properties": properties,
            "required": ["id", "type"],
            "additionalProperties": false,
        })
    }
}

fn merged(common: Json, own: Json) -> Json {
    let members = [common, own].into_iter().filter_map(|part| match part {
        Json::Object(members) => Some(members),
        _ => None,
    });
    Json::Object(members.flatten().collect())
}

fn default<T: Default + Serialize>() -> Json {
    serde_json::to_value(T::default()).unwrap_or_default()
}

fn schema<T: JsonSchema>() -> Json {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().into()
}

const fn entry<T>(
    name: &'static str,
    group: Group,
    about: &'static str,
    answer: &'static str,
    example: &'static str,
) -> FieldType
where
    T: Kind + Default + Serialize + DeserializeOwned + JsonSchema + 'static,
{
    let (default, schema, read) = (default::<T>, schema::<T>, read::<T>);
    FieldType { name, group, about, answer, example, default, schema, read }
}

#[rustfmt::skip]
static TABLE: [FieldType; 33] = [
    entry::<text::ShortText>("short_text", Group::Input, "One line of text",
        "a text", r#""Ada""#),
    entry::<text::LongText>("long_text", Group::Input, "Lines of text",
        "a text", r#""First line\nSecond line""#),
    entry::<number::Number>("number", Group::Input, "A number",
        "a number, or a text that spells one", "12.5"),
    entry::<addresses::Url>("url", Group::Input, "The address of a page",
        "an address; `https://` may be left out", r#""https://example.org/page""#),
    entry::<addresses::Email>("email", Group::Contact, "An address of mail",
        "an address", r#""ada@example.org""#),
    entry::<phone::Phone>("phone", Group::Contact, "A telephone number",
        "a number with `+` and the country's code, or as in `default_country`", r#""+4930901820""#),
    entry::<contact::FullName>("full_name", Group::Contact, "A person's name in parts",
        "an object of `parts`", r#"{"first": "Ada", "last": "Lovelace"}"#),
    entry::<contact::Address>("address", Group::Contact, "A postal address in parts",
        "an object of `parts`",
        r#"{"street": "Weg 1", "postal_code": "10115", "city": "Berlin", "country": "DE"}"#),
    entry::<contact::Country>("country", Group::Contact, "A country",
        "a code of ISO 3166-1", r#""DE""#),
    entry::<choice::SingleChoice>("single_choice", Group::Choice, "One of several",
        "the id of an option", r#""red""#),
    entry::<choice::MultipleChoice>("multiple_choice", Group::Choice, "Several of many",
        "a list of ids of options", r#"["red", "blue"]"#),
    entry::<choice::Dropdown>("dropdown", Group::Choice, "One or several of a list",
        "the id of an option, or any text with `allow_create`; a list of these with `multiple`",
        r#""red""#),
    entry::<choice::PictureChoice>("picture_choice", Group::Choice, "One or several pictures",
        "the id of an option; a list of ids with `multiple`", r#""red""#),
    entry::<choice::YesNo>("yes_no", Group::Choice, "Yes or no",
        "true or false", "false"),
    entry::<choice::Checkbox>("checkbox", Group::Choice, "A tick",
        "true or false", "true"),
    entry::<grid::Ranking>("ranking", Group::Choice, "Options in an order",
        "the ids of all options in their order, or of the first `top_n`", r#"["blue", "red"]"#),
    entry::<grid::Matrix>("matrix", Group::Choice, "A choice in each row",
        "an object: for the id of a row the id of a column, or a list of ids with `multiple`",
        r#"{"service": "good", "food": "bad"}"#),
    entry::<grid::Repeater>("repeater", Group::Choice, "Rows of the same fields",
        "a list of rows: objects of answers by the ids of columns",
        r#"[{"item": "Pen", "count": 2}, {"item": "Ink", "count": 1}]"#),
    entry::<number::Rating>("rating", Group::Rating, "Stars",
        "a whole number from 1 to `max`", "4"),
    entry::<number::Nps>("nps", Group::Rating, "Whether somebody recommends, 0 to 10",
        "a whole number from 0 to 10", "9"),
    entry::<number::OpinionScale>("opinion_scale", Group::Rating, "A place on a short scale",
        "a whole number from `min` to `max`", "5"),
    entry::<number::Slider>("slider", Group::Rating, "A number between two others",
        "a number from `min` to `max`", "50"),
    entry::<date::Date>("date", Group::Date, "A day",
        "a day", r#""2026-11-24""#),
    entry::<date::Time>("time", Group::Date, "A time of day",
        "hours and minutes", r#""09:30""#),
    entry::<date::DateTime>("datetime", Group::Date, "A moment",
        "a time, best with its offset from UTC", r#""2026-11-24T14:30:00+01:00""#),
    entry::<date::DateRange>("date_range", Group::Date, "A first and a last day",
        "an object of two days", r#"{"start": "2026-11-24", "end": "2026-11-26"}"#),
    entry::<upload::FileUpload>("file_upload", Group::File, "Files",
        "a list of the ids that `upload` gave", r#"["7d0c6a9e-2f5b-4c1a-9d3e-8b7f6a5c4d3e"]"#),
    entry::<upload::Signature>("signature", Group::File, "A drawn signature",
        "the id that `upload` gave to a PNG", r#""7d0c6a9e-2f5b-4c1a-9d3e-8b7f6a5c4d3e""#),
    entry::<special::Statement>("statement", Group::Layout, "Something to read",
        "none", "null"),
    entry::<special::Hidden>("hidden", Group::Hidden, "What comes with the visitor",
        "a text; in a funnel it counts only in `start`", r#""newsletter""#),
    entry::<special::Calculated>("calculated", Group::Calculated, "What follows from answers",
        "none: the service computes it", "null"),
    entry::<special::Consent>("consent", Group::Consent, "Agreement to a text",
        "true", "true"),
    entry::<special::Payment>("payment", Group::External, "A payment",
        "none", "null"),
];
