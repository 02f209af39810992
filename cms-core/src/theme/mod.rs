//! The theme: the front end that shows the site. Its build reads four variables and the class names
//! that a purge of its stylesheets keeps.

mod safelist;
pub(crate) mod sql;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{
    Change, Result,
    access::{Access, Endpoints, Right},
    base::Base,
    db::args,
    keys::{ApiKey, Keys, NewApiKey, PlainKey, check_grace},
};

pub use safelist::Safelist;

/// The setting that names the active theme, and the key of its server.
const NAME: &str = "theme";
/// What [`Environment::variables`] shows in place of a key.
pub const KEY_PLACEHOLDER: &str = "<value of the key named theme>";

/// The theme of a site: `cms.theme()`.
#[derive(Clone)]
pub struct Theme(Arc<State>);

struct State {
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

/// A text that Nuxt reads as this text.
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
        Self(Arc::new(State { base, endpoints, keys }))
    }

    /// What a build needs to know. `address`: where the service is reached, such as
    /// `https://example.org`, for what neither `api_url` nor `site_url` says.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
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
    /// endpoint: reads, forms and funnels. The old value stops after `grace_s` seconds.
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
        // Two first rotations would create two keys.
        keys.take_turn(change).await?;
        if let Some(id) = keys.named(change, NAME).await? {
            return keys.rotate(change, held, id, grace_s).await;
        }
        let public = self.0.endpoints.all();
        let public = public.iter().filter(|one| one.access == Access::Public);
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

#[cfg(test)]
mod tests {
    use super::as_text;

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
}
