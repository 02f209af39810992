//! The header of a funnel: name, slug, settings and all else but nodes, edges and mail rules.

use serde_json::{Map, Value as Json, json};

use super::{
    record::Problem,
    settings::{FunnelSettings, truth},
};
use crate::ground::plain;

/// Maximum characters of a name.
const NAME: usize = 200;
/// Maximum characters of a slug.
const SLUG: usize = 64;
/// Maximum characters of a language.
const LANGUAGE: usize = 16;
/// Maximum minutes after which a visit counts as abandoned: 60 days.
const ABANDONED: i64 = 86_400;

/// The members of a funnel beside its nodes, edges and mail rules.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) slug: String,
    pub(crate) language_short: String,
    /// The funnel that this is a language version of.
    pub(crate) base_id: Option<i64>,
    pub(crate) start_node_id: Option<i64>,
    /// Whether visits that end early are marked.
    pub(crate) save_abandoned: bool,
    /// Minutes of rest after which such visits are marked.
    pub(crate) abandon_after_min: i64,
    pub(crate) settings: FunnelSettings,
}

/// Members of a shown funnel that are not part of the header: a sent value is ignored here.
const SHOWN: [&str; 7] =
    ["id", "rev", "version", "published_at", "created_at", "updated_at", "status"];

impl Default for Header {
    fn default() -> Self {
        Self {
            name: String::new(),
            slug: String::new(),
            language_short: String::new(),
            base_id: None,
            start_node_id: None,
            save_abandoned: false,
            abandon_after_min: 60,
            settings: FunnelSettings::read(&Map::new()).0,
        }
    }
}

impl Header {
    /// Takes over the given members. A member with a wrong value keeps its former value.
    pub(super) fn merge(&mut self, given: &Map<String, Json>) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (member, value) in given {
            let taken = self.merge_one(member, value, &mut problems);
            if let Err((code, message)) = taken {
                problems.push(Problem::new(code, format!("funnel.{member}"), message));
            }
        }
        problems
    }

    fn merge_one(
        &mut self,
        member: &str,
        value: &Json,
        problems: &mut Vec<Problem>,
    ) -> Result<(), (&'static str, &'static str)> {
        let id = |value: &Json| match value {
            Json::Null => Some(None),
            value => value.as_i64().filter(|id| *id != 0).map(Some),
        };
        match member {
            "name" => {
                let expected = "1 to 200 characters are expected, no control characters";
                self.name = value
                    .as_str()
                    .filter(|name| is_name(name))
                    .ok_or(("format", expected))?
                    .to_owned();
            }
            "slug" => {
                let expected = "a small letter, then up to 63 small letters, digits, _ and - are \
                                expected";
                let slug = value.as_str().filter(|slug| is_slug(slug));
                self.slug = slug.ok_or(("format", expected))?.to_owned();
            }
            "language_short" => {
                let expected = "a language such as en or pt-BR is expected";
                let language = value.as_str().filter(|language| is_language(language));
                self.language_short = language.ok_or(("format", expected))?.to_owned();
            }
            "base_id" => {
                let base = id(value).filter(|id| id.is_none_or(|id| id > 0));
                self.base_id = base.ok_or(("type", "the id of a funnel is expected, or null"))?;
            }
            "start_node_id" => {
                self.start_node_id =
                    id(value).ok_or(("bad_id", "the id of a node is expected, or null"))?;
            }
            "save_abandoned" => {
                let expected = "true or false is expected, or 1 or 0";
                self.save_abandoned = truth(value).ok_or(("type", expected))?;
            }
            "abandon_after_min" => {
                let minutes = value.as_i64().filter(|minutes| (1..=ABANDONED).contains(minutes));
                self.abandon_after_min =
                    minutes.ok_or(("range", "1 to 86400 minutes are expected"))?;
            }
            "settings_json" => {
                let empty = Map::new();
                let all = if value.is_null() { Some(&empty) } else { value.as_object() };
                let all = all.ok_or(("bad_config", "an object is expected"))?;
                let (settings, faults) = FunnelSettings::read(all);
                self.settings = settings;
                problems.extend(faults);
            }
            _ if SHOWN.contains(&member) => {}
            _ => return Err(("unknown", "a funnel has no such member")),
        }
        Ok(())
    }

    /// Minutes of rest after which visits are marked as abandoned; None: they are never marked.
    pub(super) fn abandons_after(&self) -> Option<i64> {
        self.save_abandoned.then_some(self.abandon_after_min)
    }

    /// The header as versions and exports hold it.
    pub(super) fn json(&self) -> Map<String, Json> {
        let Json::Object(members) = json!({
            "name": self.name,
            "slug": self.slug,
            "language_short": self.language_short,
            "base_id": self.base_id,
            "start_node_id": self.start_node_id,
            "save_abandoned": i64::from(self.save_abandoned),
            "abandon_after_min": self.abandon_after_min,
            "settings_json": self.settings.all,
        }) else {
            return Map::new();
        };
        members
    }
}

fn is_name(name: &str) -> bool {
    (1..=NAME).contains(&name.chars().count())
        && !name.trim().is_empty()
        && plain::problem("name", name).is_none()
}

/// Slugs begin with a letter, so that no slug is an id.
fn is_slug(slug: &str) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    slug.len() <= SLUG
        && slug.bytes().all(fits)
        && slug.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
}

/// Empty: the funnel is in no particular language.
fn is_language(language: &str) -> bool {
    language.is_empty() || (language.len() <= LANGUAGE && plain::is_language(language))
}

/// A slug for a name.
pub(super) fn slug_of(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    // Room for a number behind it.
    slug.truncate(SLUG - 8);
    let slug = slug.trim_end_matches('-');
    match slug.starts_with(|c: char| c.is_ascii_lowercase()) {
        true => slug.to_owned(),
        false => format!("funnel-{slug}").trim_end_matches('-').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_has_its_rule() {
        let take = |given: Json| {
            let mut header = Header::default();
            let problems = header.merge(given.as_object().expect("an object"));
            (header, problems)
        };
        for (given, told) in [
            (json!({"name": "Leads", "slug": "leads", "language_short": "pt-BR"}), None),
            (json!({"base_id": null, "start_node_id": -1, "save_abandoned": 1}), None),
            (json!({"id": 3, "status": "draft", "rev": "x"}), None),
            (json!({"nodes": []}), Some("funnel.nodes")),
            (json!({"settings_json": null}), None),
            (json!({"name": ""}), Some("funnel.name")),
            (json!({"name": " \u{a0}"}), Some("funnel.name")),
            (json!({"name": "a\u{202e}b"}), Some("funnel.name")),
            (json!({"name": "x".repeat(201)}), Some("funnel.name")),
            (json!({"slug": "7"}), Some("funnel.slug")),
            (json!({"slug": "Leads"}), Some("funnel.slug")),
            (json!({"slug": "a".repeat(65)}), Some("funnel.slug")),
            (json!({"language_short": "e n"}), Some("funnel.language_short")),
            (json!({"base_id": -1}), Some("funnel.base_id")),
            (json!({"start_node_id": 0}), Some("funnel.start_node_id")),
            (json!({"save_abandoned": "yes"}), Some("funnel.save_abandoned")),
            (json!({"abandon_after_min": 0}), Some("funnel.abandon_after_min")),
            (json!({"settings_json": []}), Some("funnel.settings_json")),
            (json!({"settings_json": {"strict": 7}}), Some("funnel.settings_json.strict")),
            (json!({"colour": "red"}), Some("funnel.colour")),
        ] {
            let (_, problems) = take(given.clone());
            let paths: Vec<_> = problems.iter().map(|one| one.path.as_str()).collect();
            assert_eq!(paths, Vec::from_iter(told), "{given}");
        }
        let (header, _) = take(json!({"name": "A", "save_abandoned": true, "start_node_id": -7}));
        assert_eq!((header.name.as_str(), header.start_node_id), ("A", Some(-7)));
        let mut again = Header::default();
        assert_eq!(
            again.merge(&Map::from_iter(
                header.json().into_iter().filter(|(name, _)| name != "slug")
            )),
            []
        );
        assert!(again.save_abandoned);
    }

    #[test]
    fn a_name_makes_a_slug() {
        for (name, expected) in [
            ("Lead Funnel", "lead-funnel"),
            ("  Größe & mehr! ", "gr-e-mehr"),
            ("2026", "funnel-2026"),
            ("日本", "funnel"),
            ("-a-", "a"),
        ] {
            let slug = slug_of(name);
            assert_eq!(slug, expected, "{name}");
            assert!(is_slug(&slug));
        }
        assert!(is_slug(&slug_of(&"ab ".repeat(80))));
    }
}
