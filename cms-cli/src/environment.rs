//! The environment at the start. The kernel shows the variables that a program was started with
//! to every process of the same user (`/proc/PID/environ`), whatever the program changes later.
//! So the program starts itself again in the same process without its secrets. An option of the
//! allocator, which only `unsafe` code could set later, is added in the same step.

#[cfg(target_os = "linux")]
mod again;

use std::{process::Command, sync::OnceLock};

use cms_core::settings::{self, SECRET_KEYS};

/// Secrets of the command line, in addition to those of settings.
const SECRETS: [&str; 3] = ["CMS_API_KEY", "CMS_COPY_TO", "CMS_WEBHOOK_SECRET"];

/// The secrets that were removed from the environment.
static TAKEN: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// Removes the secrets from the environment, and adds the allocator's option. Must run first,
/// while there is only one thread.
pub(crate) fn clean() {
    #[cfg(target_os = "linux")]
    if let Some(taken) = again::received().or_else(again::start) {
        // This is the first call: nothing is set yet.
        let _ = TAKEN.set(taken);
    }
}

/// A variable, secret or not.
pub(crate) fn variable(name: &str) -> Option<String> {
    let taken = secret_variables().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    taken.or_else(|| std::env::var(name).ok())
}

/// The variables for [`Settings::load`](settings::Settings::load).
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    settings::environment().chain(secret_variables().cloned())
}

/// Gives another version of this program the environment that this one was started with.
pub(crate) fn hand_on(command: &mut Command) {
    #[cfg(target_os = "linux")]
    again::forget(command);
    command.envs(secret_variables().map(|(name, value)| (name, value)));
}

/// The secrets that were taken out, for the terminal interface.
#[cfg(feature = "tui")]
pub(crate) fn secrets() -> Vec<(String, cms_core::Secret)> {
    secret_variables()
        .map(|(name, value)| (name.clone(), cms_core::Secret::new(value.as_str())))
        .collect()
}

fn secret_variables() -> impl Iterator<Item = &'static (String, String)> {
    TAKEN.get().into_iter().flatten()
}

/// Whether a variable holds a secret.
#[cfg(target_os = "linux")]
fn is_secret(name: &str) -> bool {
    SECRETS.contains(&name) || SECRET_KEYS.iter().any(|key| settings::variable(key) == name)
}
