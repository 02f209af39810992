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

const fn entry<T>(name: &'static str, group: Group, about: &'static str) -> FieldType
where
    T: Kind + Default + Serialize + DeserializeOwned + JsonSchema + 'static,
{
    FieldType { name, group, about, default: default::<T>, schema: schema::<T>, read: read::<T> }
}

#[rustfmt::skip]
static TABLE: [FieldType; 33] = [
    entry::<text::ShortText>("short_text", Group::Input, "One line of text"),
    entry::<text::LongText>("long_text", Group::Input, "Lines of text"),
    entry::<number::Number>("number", Group::Input, "A number"),
    entry::<addresses::Url>("url", Group::Input, "The address of a page"),
    entry::<addresses::Email>("email", Group::Contact, "An address of mail"),
    entry::<phone::Phone>("phone", Group::Contact, "A telephone number"),
    entry::<contact::FullName>("full_name", Group::Contact, "A person's name in parts"),
    entry::<contact::Address>("address", Group::Contact, "A postal address in parts"),
    entry::<contact::Country>("country", Group::Contact, "A country"),
    entry::<choice::SingleChoice>("single_choice", Group::Choice, "One of several"),
    entry::<choice::MultipleChoice>("multiple_choice", Group::Choice, "Several of many"),
    entry::<choice::Dropdown>("dropdown", Group::Choice, "One or several of a list"),
    entry::<choice::PictureChoice>("picture_choice", Group::Choice, "One or several pictures"),
    entry::<choice::YesNo>("yes_no", Group::Choice, "Yes or no"),
    entry::<choice::Checkbox>("checkbox", Group::Choice, "A tick"),
    entry::<grid::Ranking>("ranking", Group::Choice, "Options in an order"),
    entry::<grid::Matrix>("matrix", Group::Choice, "A choice in each row"),
    entry::<grid::Repeater>("repeater", Group::Choice, "Rows of the same fields"),
    entry::<number::Rating>("rating", Group::Rating, "Stars"),
    entry::<number::Nps>("nps", Group::Rating, "Whether somebody recommends, 0 to 10"),
    entry::<number::OpinionScale>("opinion_scale", Group::Rating, "A place on a short scale"),
    entry::<number::Slider>("slider", Group::Rating, "A number between two others"),
    entry::<date::Date>("date", Group::Date, "A day"),
    entry::<date::Time>("time", Group::Date, "A time of day"),
    entry::<date::DateTime>("datetime", Group::Date, "A moment"),
    entry::<date::DateRange>("date_range", Group::Date, "A first and a last day"),
    entry::<upload::FileUpload>("file_upload", Group::File, "Files"),
    entry::<upload::Signature>("signature", Group::File, "A drawn signature"),
    entry::<special::Statement>("statement", Group::Layout, "Something to read"),
    entry::<special::Hidden>("hidden", Group::Hidden, "What comes with the visitor"),
    entry::<special::Calculated>("calculated", Group::Calculated, "What follows from answers"),
    entry::<special::Consent>("consent", Group::Consent, "Agreement to a text"),
    entry::<special::Payment>("payment", Group::External, "A payment"),
];
