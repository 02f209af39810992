//! Defaults ← files ← environment ← flags: each layer replaces single values and records
//! their origin.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::{
    Setting, Settings, SettingsError, ValueOrigin, ValueOrigins, database,
    defaults::{defaults, typed_settings},
    env::{self, NOT_SETTINGS},
    file::lines,
};
use crate::ground::nearest;

/// Loaded settings and their origins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The settings, valid and with absolute or joined paths.
    pub settings: Settings,
    /// The origin of every value.
    pub origins: ValueOrigins,
    /// Warnings, one sentence each: unknown `CMS_` variables.
    pub warnings: Vec<String>,
    /// The site's folder, as given.
    pub dir: PathBuf,
}

impl Loaded {
    /// Whether the folder contains a site, or the environment names its database.
    #[must_use]
    pub fn is_site(&self) -> bool {
        let file = |name| self.dir.join(name).is_file();
        let named = |key| {
            let is_given =
                |entry: &Setting| entry.origin != ValueOrigin::Default && !entry.value.is_empty();
            self.origins.get(key).is_some_and(is_given)
        };
        file("cms.toml") || file("cms.local.toml") || named("database_url") || named("db_host")
    }
}

struct Layered {
    value: Value,
    origin: ValueOrigin,
}

/// Values in the order of the defaults file, and the settings made from them.
pub(super) struct Layers {
    values: Vec<(&'static str, Layered)>,
    settings: Settings,
    warnings: Vec<String>,
}

impl Layers {
    pub(super) fn new() -> Self {
        let layered =
            |value: &Value| Layered { value: value.clone(), origin: ValueOrigin::Default };
        let values =
            defaults().values.iter().map(|(key, value)| (key.as_str(), layered(value))).collect();
        Self { values, settings: Settings::default(), warnings: Vec::new() }
    }

    pub(super) fn file(&mut self, dir: &Path, name: &'static str) -> Result<(), SettingsError> {
        let path = dir.join(name);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(SettingsError::Unreadable { path, source }),
        };
        let at = |line| ValueOrigin::File { name, line };
        let lines = lines(&text)
            .map_err(|e| SettingsError::Syntax { origin: at(e.line), message: e.message })?;
        for line in lines {
            let origin = at(line.line);
            match self.find(&line.key) {
                Some(index) => self.set(index, Some(line.value), origin)?,
                None if is_empty_table(&line.key, &line.value) => {}
                None => {
                    return Err(SettingsError::UnknownKey {
                        hint: hint(&line.key),
                        key: line.key,
                        origin,
                    });
                }
            }
        }
        Ok(())
    }

    pub(super) fn variables(&mut self, env: &[(String, String)]) -> Result<(), SettingsError> {
        let names: Vec<_> = self.values.iter().map(|(key, _)| env::variable(key)).collect();
        for (name, text) in env {
            if let Some(index) = names.iter().position(|known| known == name) {
                let value = env::typed(text, &self.values[index].1.value);
                self.set(index, value, ValueOrigin::Variable(name.clone()))?;
            } else if !NOT_SETTINGS.contains(&name.as_str()) {
                let near = nearest(name, names.iter().map(String::as_str).chain(NOT_SETTINGS));
                let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                self.warnings.push(format!(
                    "The environment variable {name} is not a setting and was ignored{hint}"
                ));
            }
        }
        Ok(())
    }

    pub(super) fn flags(&mut self, flags: &[(&str, String)]) -> Result<(), SettingsError> {
        for (key, text) in flags {
            let origin = ValueOrigin::Flag(env::flag(key));
            let Some(index) = self.find(key) else {
                return Err(SettingsError::UnknownKey {
                    origin,
                    key: (*key).to_owned(),
                    hint: hint(key),
                });
            };
            let value = env::typed(text, &self.values[index].1.value);
            self.set(index, value, origin)?;
        }
        Ok(())
    }

    pub(super) fn finish(self, dir: &Path) -> Result<Loaded, SettingsError> {
        let mut settings = self.settings.clone();
        let origin = |key: &str| self.find(key).map(|index| self.values[index].1.origin.clone());
        // A default is refused only because another setting is missing, so a leading "default:"
        // would mislead.
        let given = |key: &str| origin(key).filter(|origin| *origin != ValueOrigin::Default);
        for url in [&mut settings.site_url, &mut settings.api_url].into_iter().flatten() {
            url.truncate(url.trim_end_matches('/').len());
        }
        settings.validate().map_err(|error| error.at(given))?;
        for path in [&mut settings.dirs.data, &mut settings.dirs.plugins, &mut settings.dirs.media]
        {
            *path = dir.join(&path);
        }
        if let Some(to) = settings.backup.to.as_mut().filter(|to| !to.starts_with("s3://")) {
            *to = dir.join(&to).display().to_string();
        }
        if let Some(path) = &mut settings.mail.smtp_ca_file {
            *path = dir.join(&path);
        }
        if let Some(url) = &mut settings.database_url {
            *url = database::rooted(url, dir).map_err(|error| error.at(given))?;
        }
        settings.folder = Some(dir.to_owned());
        let entries = self
            .values
            .into_iter()
            .map(|(key, l)| (key.to_owned(), env::untyped(&l.value), l.origin));
        Ok(Loaded {
            settings,
            origins: ValueOrigins::new(entries),
            warnings: self.warnings,
            dir: dir.to_owned(),
        })
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.values.iter().position(|(known, _)| *known == key)
    }

    /// Applies a value if it has the type of the default and the settings accept it. All earlier
    /// values were accepted, so a refusal concerns this value and names its origin.
    fn set(
        &mut self,
        index: usize,
        value: Option<Value>,
        origin: ValueOrigin,
    ) -> Result<(), SettingsError> {
        let (key, old) = &mut self.values[index];
        let key = *key;
        let invalid = |rule: String| SettingsError::invalid(key, rule).at(|_| Some(origin.clone()));
        let value = value.map(|value| listed(key, value));
        let Some(value) = value.filter(|value| same_type(value, &old.value)) else {
            return Err(invalid(expected(&old.value).to_owned()));
        };
        *old = Layered { value, origin: origin.clone() };
        let values = self.values.iter().map(|(key, layered)| (*key, &layered.value));
        self.settings = typed_settings(values)
            .map_err(|error| invalid(format!("is not accepted: {}", error.message())))?;
        Ok(())
    }
}

/// Lists that may be written as a text when they have one member.
const ONE_OR_MORE: [&str; 1] = ["update.public_key"];

fn listed(key: &str, value: Value) -> Value {
    match value {
        Value::String(text) if ONE_OR_MORE.contains(&key) => {
            let one = if text.is_empty() { Vec::new() } else { vec![text] };
            one.into_iter().map(Value::from).collect::<Vec<_>>().into()
        }
        value => value,
    }
}

/// Whether a value has the type of its default. All lists contain texts, and no number
/// is negative.
fn same_type(value: &Value, like: &Value) -> bool {
    match value {
        Value::Array(list) => like.is_array() && list.iter().all(Value::is_str),
        Value::Integer(number) => like.is_integer() && *number >= 0,
        _ => value.same_type(like),
    }
}

fn expected(like: &Value) -> &'static str {
    match like {
        Value::Boolean(_) => "must be true or false",
        Value::Integer(_) => "must be a whole number, 0 or more",
        Value::Array(_) => "must be a list of texts, such as [\"a\", \"b\"]",
        _ => "must be a text in quotes",
    }
}

fn is_table(key: &str) -> bool {
    defaults()
        .values
        .iter()
        .any(|(known, _)| known.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

fn is_empty_table(key: &str, value: &Value) -> bool {
    value.as_table().is_some_and(Table::is_empty) && is_table(key)
}

/// A hint about the meaning of an unknown key.
fn hint(key: &str) -> String {
    let known = || defaults().values.iter().map(|(key, _)| key.as_str());
    if is_table(key) {
        return format!("it is a table, so write it as [{key}] or as {key}.<key> = ...");
    }
    match nearest(key, known()) {
        Some(near) if key.contains('.') && !near.contains('.') => {
            format!("did you mean `{near}`? It must stand above the first [table]")
        }
        Some(near) => format!("did you mean `{near}`?"),
        None => "`cms config show` lists all keys".to_owned(),
    }
}
