//! `cms theme`: what the build of a theme reads, from `/api/backend/theme`

use clap::{Args, Subcommand, ValueEnum};
use cms_core::theme::{Environment, Safelist};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        keys::{self, Grace},
        parameters::NoQuery,
        theme::{Read, RotateKey},
    },
};
use serde_json::{Map, Value as Json};

use crate::{
    environment,
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output},
    prompt, reply, site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum ThemeCommand {
    /// Print the variables of a Nuxt theme: NUXT_API_KEY and three that may be public
    #[command(after_help = "Examples:
  cms theme env --rotate-key > theme/.env
  cms theme env --rotate-key --grace 1h --format js

Without --rotate-key the key is a placeholder: its value is shown only when it is made.")]
    Env(EnvArgs),
    /// Print the class names that a purge of stylesheets keeps, as the safelist of PurgeCSS
    #[command(after_help = "Example:
  NUXT_PURGECSS_SAFELIST_STANDARD=btn-,card cms theme safelist --format js > safelist.js

Reads NUXT_PURGECSS_SAFELIST_STANDARD, _GREEDY and _DEEP: beginnings of names, by commas.")]
    Safelist {
        /// JSON with each pattern as text, or an ES module with regular expressions
        #[arg(long, value_enum, default_value_t = ListFormat::Json)]
        format: ListFormat,
    },
}

#[derive(Args, Debug)]
pub(crate) struct EnvArgs {
    /// Give the key named theme a new value, or create it, and print the value
    #[arg(long)]
    rotate_key: bool,
    /// How long the old value still works, such as 30s, 10m, 2h or 7d
    #[arg(long, value_name = "TIME", requires = "rotate_key", value_parser = input::seconds)]
    grace: Option<i64>,
    /// Lines for a shell or a .env file, or an ES module
    #[arg(long, value_enum, default_value_t = EnvFormat::Env)]
    format: EnvFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnvFormat {
    Env,
    Js,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    Json,
    Js,
}

impl ThemeCommand {
    /// Whether the verb reads only variables, where no user's rights count.
    pub(crate) fn ignores_rights(&self) -> bool {
        matches!(self, Self::Safelist { .. })
    }
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: ThemeCommand) -> Done {
    match command {
        ThemeCommand::Env(args) => {
            site::with(flags, out, async |site| env(flags, out, &site.client, &args).await).await
        }
        ThemeCommand::Safelist { format } => safelist(out, format),
    }
}

async fn env(flags: &Flags, out: &Output, client: &Client, args: &EnvArgs) -> Done {
    let EnvArgs { rotate_key, grace, format } = *args;
    let found: Environment = reply::data::<Read>(client, &NoQuery {}, &NoBody).await?;
    if found.theme.is_none() {
        out.note("No theme is active: write its name, a text, into the setting theme.");
    }
    let key = match rotate_key {
        false => None,
        true => {
            if grace.is_none() && !flags.yes && may_exist(client).await? {
                let question = "The old value of the key theme stops at once. Go on?";
                prompt::confirm(flags, question)?;
            }
            let grace = Grace { grace_s: grace.unwrap_or_default() };
            let (_, made) = reply::call_once::<RotateKey>(client, &NoQuery {}, &grace).await?;
            out.note("The value of NUXT_API_KEY is shown this once: keep it now.");
            // A caller that may not read keys gets only the value.
            Some(made.map_or_else(|(_, value)| value, |made| made.data.key))
        }
    };
    let printed = print(out, &found, key.as_deref(), format);
    match key {
        None => printed,
        Some(_) => {
            let again = "cms theme env --rotate-key";
            reply::given(printed, "the new value of the key theme", again)
        }
    }
}

/// Whether a key exists that a rotation changes. True for a caller that may not read keys.
async fn may_exist(client: &Client) -> Done<bool> {
    let query = |limit, cursor| {
        let mut asked = reply::list_query(limit, cursor);
        asked.list.filters.extend([("filter[name][eq]".to_owned(), "theme".to_owned())]);
        asked
    };
    match reply::first::<keys::Read>(client, query, |key| key.name == "theme").await {
        Err(failure) if failure.exit == Exit::NoRight => Ok(true),
        found => Ok(found?.is_some()),
    }
}

/// Prints the variables, with this value of the key.
fn print(out: &Output, found: &Environment, key: Option<&str>, format: EnvFormat) -> Done {
    let variables = found.variables(key);
    if out.json || format == EnvFormat::Js {
        let members = variables.map(|(name, value)| (name.to_owned(), Json::from(value)));
        let object = Json::Object(Map::from_iter(members));
        let text = serde_json::to_string_pretty(&object).map_err(Failure::unexpected)?;
        let start = if out.json { "" } else { "export default " };
        return Ok(out.line(&format!("{start}{text}"))?);
    }
    for (name, value) in variables {
        out.line(&format!("{name}={}", quoted(&value)))?;
    }
    Ok(())
}

/// A value in the form that shells and readers of `.env` files take.
fn quoted(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:".contains(&byte);
    match value.bytes().all(is_plain) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', r"'\''")),
    }
}

fn safelist(out: &Output, format: ListFormat) -> Done {
    let list = Safelist::from_variables(environment::variable);
    let text = match format {
        ListFormat::Js if !out.json => list.to_js().trim_end().to_owned(),
        _ => serde_json::to_string_pretty(&list).map_err(Failure::unexpected)?,
    };
    Ok(out.line(&text)?)
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn values_are_quoted_for_a_shell() {
        for (value, line) in [
            ("shop", "shop"),
            ("https://a.org/api", "https://a.org/api"),
            ("\"4848e0\"", "'\"4848e0\"'"),
            ("a'b $c", r"'a'\''b $c'"),
        ] {
            assert_eq!(quoted(value), line);
        }
    }
}
