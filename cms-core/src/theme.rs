//! The theme: the front end that shows the site. Its build reads four variables and a list of
//! class names. A purge of its stylesheets keeps these names although no source file of the theme
//! holds them: Nuxt makes some while it runs, and editors choose others.

use std::{collections::BTreeSet, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{
    Change, Result,
    access::{Access, Endpoints, Right},
    base::Base,
    db::args,
    ground::html,
    keys::{ApiKey, Keys, NewApiKey, PlainKey, check_grace},
    pages::widgets,
};

/// The setting that names the active theme, and the key of its server.
const NAME: &str = "theme";
/// What [`Environment::variables`] shows in place of a key.
pub const KEY_PLACEHOLDER: &str = "<value of the key named theme>";
/// The variables that add names, in the order of [`Safelist::new`]: comma-separated beginnings.
const VARIABLES: [&str; 3] = [
    "NUXT_PURGECSS_SAFELIST_STANDARD",
    "NUXT_PURGECSS_SAFELIST_GREEDY",
    "NUXT_PURGECSS_SAFELIST_DEEP",
];
/// What Nuxt and Vue add while a page runs.
const STANDARD: [&str; 5] = ["^html$", "^body$", "^__nuxt", "^nuxt-", "^router-link-"];
/// Transitions, moved lists and scoped styles of Vue.
const GREEDY: [&str; 3] =
    ["^.*-(?:enter|leave|appear)(?:-(?:from|to|active))?$", "^.+-move$", "^.*data-v-"];

pub(crate) mod sql {
    crate::db::statements! {
        SETTING = "select cast(value as text) from cms_settings where name = $1";
    }
}

/// The theme of a site: `cms.theme()`.
#[derive(Clone)]
pub struct Theme(Arc<Inner>);

struct Inner {
    base: Base,
    endpoints: Endpoints,
    keys: Keys,
}

/// What the build of a theme knows of the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ThemeEnvironment")]
#[non_exhaustive]
pub struct Environment {
    /// Name of the active theme: the text in the setting `theme`; null without one.
    pub theme: Option<String>,
    /// Address of the REST API, such as `https://api.example.org/api`.
    pub api_base: String,
    /// Address of the website, without a slash at its end.
    pub site_url: String,
}

impl Environment {
    /// The variables of a Nuxt theme. Runtime configuration reads them as `apiKey`,
    /// `public.apiBase`, `public.siteUrl` and `public.theme`. Without a key, `NUXT_API_KEY` is
    /// [`KEY_PLACEHOLDER`].
    ///
    /// Nuxt turns a text that looks like a number, a boolean or JSON into one; such a name gets
    /// quotes inside its value, which Nuxt removes again.
    #[must_use]
    pub fn variables(&self, api_key: Option<&str>) -> [(&'static str, String); 4] {
        let theme = self.theme.as_deref().unwrap_or_default();
        [
            ("NUXT_API_KEY", api_key.unwrap_or(KEY_PLACEHOLDER).to_owned()),
            ("NUXT_PUBLIC_API_BASE", self.api_base.clone()),
            ("NUXT_PUBLIC_SITE_URL", self.site_url.clone()),
            ("NUXT_PUBLIC_THEME", as_text(theme)),
        ]
    }
}

/// The value that Nuxt reads as this text.
fn as_text(text: &str) -> String {
    let words = ["true", "false", "null", "undefined", "nan", "infinity", "-infinity"];
    let is_other = serde_json::from_str::<Json>(text).is_ok()
        || text.starts_with(['"', '{', '['])
        || words.contains(&text.to_lowercase().as_str());
    if is_other { Json::from(text).to_string() } else { text.to_owned() }
}

impl Theme {
    pub(crate) fn new(base: &Base, endpoints: &Endpoints, keys: &Keys) -> Self {
        let (base, endpoints, keys) = (base.clone(), endpoints.clone(), keys.clone());
        Self(Arc::new(Inner { base, endpoints, keys }))
    }

    /// What a build needs to know. `address` is where the service is reached, such as
    /// `https://example.org`; it stands in for `site_url`, which stands in for `api_url`.
    pub async fn environment(&self, address: &str) -> Result<Environment> {
        let base = &self.0.base;
        let settings = base.settings();
        let site_url = settings.site_url.as_deref().unwrap_or(address);
        let api = settings.api_url.as_deref().unwrap_or(site_url);
        let value: Option<(Option<String>,)> =
            base.db().optional(sql::SETTING, args![NAME]).await?;
        let value = value.and_then(|(text,)| serde_json::from_str(&text?).ok());
        let theme = match value {
            Some(Json::String(name)) if !name.is_empty() => Some(name),
            _ => None,
        };
        Ok(Environment { theme, api_base: format!("{api}/api"), site_url: site_url.to_owned() })
    }

    /// Gives the key named `theme` a new value, or creates the key. A new key may call every public
    /// endpoint but the pages of the API: reads, forms and funnels. The old value stops after
    /// `grace_s` seconds.
    ///
    /// # Errors
    /// As [`Keys::create`] and [`Keys::rotate`].
    pub async fn rotate_key(
        &self,
        change: &mut Change,
        held: &[Right],
        grace_s: i64,
    ) -> Result<(ApiKey, PlainKey)> {
        check_grace(grace_s)?;
        let keys = &self.0.keys;
        // Otherwise two first rotations at once would create two keys.
        keys.take_turn(change).await?;
        if let Some(id) = keys.named(change, NAME).await? {
            return keys.rotate(change, held, id, grace_s).await;
        }
        let all = self.0.endpoints.all();
        // A theme shows no page of the API.
        let is_doc = |path: &str| path == "/api/docs" || path.starts_with("/api/docs/");
        let public = all.iter().filter(|one| one.access == Access::Public && !is_doc(&one.path));
        let rights = public.map(|one| Right {
            endpoint: one.path.clone(),
            query: Default::default(),
            methods: one.methods.iter().map(|&method| method.to_owned()).collect(),
        });
        let mut new = NewApiKey::new(NAME);
        new.rights = rights.collect();
        keys.create(change, held, new).await
    }
}

/// Patterns of class, id and tag names for PurgeCSS's `safelist`. Each begins with `^` and is a
/// regular expression of JavaScript, with or without its flags `u` and `v`.
///
/// - `standard`: keeps a selector's part with such a name; its other parts must be found.
/// - `greedy`: one part with such a name keeps the whole selector.
/// - `deep`: keeps such a part and all that is to its right.
///
/// ```
/// use cms_core::theme::Safelist;
/// let list = Safelist::new("btn-, card", "swiper", "prose");
/// assert!(list.standard.contains(&"^btn-".to_owned()));
/// assert!(list.greedy.contains(&"^.*swiper".to_owned()));
/// assert_eq!(list.deep, ["^prose"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Safelist {
    /// Names that begin so.
    pub standard: Vec<String>,
    /// Names that contain this.
    pub greedy: Vec<String>,
    /// Names that begin so, with everything below them.
    pub deep: Vec<String>,
}

impl Safelist {
    /// The defaults and the names of three comma-separated texts. Empty entries are ignored.
    #[must_use]
    pub fn new(standard: &str, greedy: &str, deep: &str) -> Self {
        let defaults = STANDARD.map(str::to_owned).into_iter().chain(tags()).chain(choices());
        Self {
            standard: merged(defaults, standard, "^"),
            greedy: merged(GREEDY.map(str::to_owned), greedy, "^.*"),
            deep: merged([], deep, "^"),
        }
    }

    /// As [`Safelist::new`], with the values of the variables; `variable` finds one by its name.
    #[must_use]
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let [standard, greedy, deep] = VARIABLES.map(|name| variable(name).unwrap_or_default());
        Self::new(&standard, &greedy, &deep)
    }

    /// An ES module whose default export is the `safelist` option, with its patterns as regular
    /// expressions. JSON has none, and PurgeCSS reads a string as a literal name.
    #[must_use]
    pub fn to_js(&self) -> String {
        let list = |name: &str, patterns: &[String]| {
            let lines = patterns.iter().map(|pattern| format!("    /{pattern}/,\n"));
            format!("  {name}: [\n{}  ],\n", lines.collect::<String>())
        };
        format!(
            "export default {{\n{}{}{}}}\n",
            list("standard", &self.standard),
            list("greedy", &self.greedy),
            list("deep", &self.deep)
        )
    }
}

/// Tags that rich text can hold.
fn tags() -> impl Iterator<Item = String> {
    BTreeSet::from_iter(html::tags()).into_iter().map(|tag| format!("^{tag}$"))
}

/// `align-center`: the choice of an editor in a field of a built-in widget.
fn choices() -> impl Iterator<Item = String> {
    widgets::choices().into_iter().map(|(row, options)| {
        let options: Vec<_> = options.iter().map(|option| escaped(option)).collect();
        format!("^{}-(?:{})$", escaped(&row), options.join("|"))
    })
}

fn merged(defaults: impl IntoIterator<Item = String>, names: &str, start: &str) -> Vec<String> {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let all = defaults.into_iter().chain(names.map(|name| format!("{start}{}", escaped(name))));
    let mut seen = BTreeSet::new();
    all.filter(|pattern| seen.insert(pattern.clone())).collect()
}

/// A pattern that matches a text literally. It escapes only what JavaScript lets be escaped under
/// every flag; the `regex` crate escapes more.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|'
            | '/' => pattern.extend(['\\', letter]),
            // Would end the line of a literal.
            letter if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') => {
                pattern.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => pattern.push(letter),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nuxt_reads_each_name_as_the_text_that_it_is() {
        for (name, written) in [
            ("shop", "shop"),
            ("4848e0", "\"4848e0\""),
            ("2024", "\"2024\""),
            ("True", "\"True\""),
            ("NaN", "\"NaN\""),
            ("[a", "\"[a\""),
            ("shop 2", "shop 2"),
            ("", ""),
        ] {
            assert_eq!(as_text(name), written);
        }
    }

    #[test]
    fn names_are_literal_and_empty_entries_are_dropped() {
        let list = Safelist::new(" btn-,,md:a/b , btn-,", "a.b", ",");
        let own = |patterns: &[String], defaults: usize| patterns[defaults..].to_vec();
        let defaults = Safelist::new("", "", "");
        assert_eq!(own(&list.standard, defaults.standard.len()), ["^btn-", r"^md:a\/b"]);
        assert_eq!(own(&list.greedy, defaults.greedy.len()), [r"^.*a\.b"]);
        assert!(list.deep.is_empty());
        assert_eq!(escaped("a\nb\u{2028}-#&~"), r"a\u000ab\u2028-#&~");
    }

    #[test]
    fn what_editors_choose_is_kept() {
        let list = Safelist::from_variables(|name| (name == VARIABLES[2]).then(|| "x".to_owned()));
        for pattern in ["^table$", "^blockquote$", "^align-(?:center|left|right)$"] {
            assert!(list.standard.iter().any(|one| one == pattern), "{pattern}");
        }
        assert_eq!(list.deep, ["^x"]);
        let all = list.standard.iter().chain(&list.greedy).chain(&list.deep);
        assert!(all.clone().all(|pattern| pattern.starts_with('^')));
        assert_eq!(list.to_js().matches("    /^").count(), all.count());
    }
}
