//! The flags that every command takes, and the flags of declared columns.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Args, builder::PossibleValuesParser};
use cms_core::content::ResourceColumn;
use serde_json::{Map, Value as Json};

use crate::{input, output::PrintFlags};

/// The flags that every command takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Flags {
    /// Folder of the site, with cms.toml, cms.local.toml, data/ and plugins/ [default: .]
    #[arg(long, global = true, env = "CMS_DIR", value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Address of a running site, instead of a folder [env: CMS_URL=]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Name of a running site (cms context add), instead of its address
    #[arg(long, global = true, env = "CMS_CONTEXT", value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// File with the API key for a running site. Without it: CMS_API_KEY in the environment, else
    /// the session of cms login
    #[arg(long, global = true, env = "CMS_API_KEY_FILE", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Name or id of a user, on the site's own machine: see and do what that user may, and no more
    #[arg(long = "as", global = true, value_name = "USER")]
    pub(crate) acts_as: Option<String>,
    #[command(flatten)]
    pub(crate) print: PrintFlags,
    /// Answer yes to every question
    #[arg(short, long, global = true)]
    pub(crate) yes: bool,
    /// Longest wait for a reply of a running site, such as 10s or 2m [default: 60s]
    #[arg(long, global = true, value_name = "TIME", value_parser = waiting)]
    pub(crate) timeout: Option<i64>,
    /// Ask nothing; fail where an answer is needed
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
}

/// A time of at least a second.
fn waiting(text: &str) -> Result<i64, String> {
    match input::seconds(text)? {
        ..1 => Err("at least 1s".to_owned()),
        seconds => Ok(seconds),
    }
}

impl Flags {
    /// The named folder, else the current one.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.as_deref().unwrap_or(Path::new("."))
    }

    /// Whether a folder is named.
    pub(crate) fn names_dir(&self) -> bool {
        self.dir.is_some()
    }
}

/// What an empty flag means.
pub(crate) const EMPTY: &str = "An empty value is null where the column may be empty";
/// Why nothing was sent.
pub(crate) const NO_CHANGE: &str =
    "nothing is to be changed: name a column, such as --active false";

/// A column as a flag.
pub(crate) fn flag(column: &ResourceColumn, is_required: bool) -> Arg {
    let arg = Arg::new(column.name)
        .long(column.name.replace('_', "-"))
        .help(column.help)
        .allow_hyphen_values(true)
        .required(is_required);
    match (column.field_type, column.allowed) {
        ("checkbox", _) => arg
            .value_name("true|false")
            .hide_possible_values(true)
            .value_parser(PossibleValuesParser::new(["true", "false"])),
        ("date", _) => arg.value_name("YYYY-MM-DD").value_parser(day),
        (_, []) => arg.value_name(column.name.to_ascii_uppercase()),
        (_, allowed) => {
            let values: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            arg.value_name("N").value_parser(PossibleValuesParser::new(values))
        }
    }
}

/// A day, or an empty text.
fn day(text: &str) -> Result<String, String> {
    if text.is_empty() { Ok(String::new()) } else { input::day(text) }
}

/// The values that flags give to these columns.
pub(crate) fn given<'c>(
    columns: impl IntoIterator<Item = &'c ResourceColumn>,
    args: &ArgMatches,
) -> Map<String, Json> {
    let given = columns.into_iter().filter_map(|column| {
        let text = args.get_one::<String>(column.name)?;
        Some((column.name.to_owned(), value(column, text)))
    });
    given.collect()
}

fn value(column: &ResourceColumn, text: &str) -> Json {
    match column.field_type {
        _ if text.is_empty() && !column.is_required => Json::Null,
        "checkbox" => (text == "true").into(),
        "integer" => text.parse::<i64>().map_or_else(|_| text.into(), Json::from),
        _ => text.into(),
    }
}
