//! What the environment holds at the start. The kernel shows the variables that a program was
//! started with to every process of the same user (`/proc/PID/environ`), whatever the program
//! changes later. So the program starts itself again without its secrets, in the same process; an
//! option of the allocator, which only `unsafe` code can set later, comes in the same way.

#[cfg(target_os = "linux")]
mod again;

use std::{process::Command, sync::OnceLock};

use cms_core::settings::{self, SECRET_KEYS};

/// Secrets of the command line, beside those of settings.
const SECRETS: [&str; 3] = ["CMS_API_KEY", "CMS_COPY_TO", "CMS_WEBHOOK_SECRET"];

/// The secrets that were taken out.
static TAKEN: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// Takes the secrets out of the environment, and gives the allocator its option. Comes first, while
/// there is only one thread.
pub(crate) fn clean() {
    #[cfg(target_os = "linux")]
    if let Some(taken) = again::received().or_else(again::start) {
        // Nobody has set them before.
        let _ = TAKEN.set(taken);
    }
}

/// A variable, secret or not.
pub(crate) fn variable(name: &str) -> Option<String> {
    let taken = taken().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    taken.or_else(|| std::env::var(name).ok())
}

/// The variables for [`Settings::load`](settings::Settings::load).
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    settings::environment().chain(taken().cloned())
}

/// Gives another version of this program the environment that this one was started with.
pub(crate) fn hand_on(command: &mut Command) {
    #[cfg(target_os = "linux")]
    again::forget(command);
    command.envs(taken().map(|(name, value)| (name, value)));
}

/// The secrets that were taken out, for the terminal interface.
#[cfg(feature = "tui")]
pub(crate) fn secrets() -> Vec<(String, cms_core::Secret)> {
    taken().map(|(name, value)| (name.clone(), cms_core::Secret::new(value.as_str()))).collect()
}

fn taken() -> impl Iterator<Item = &'static (String, String)> {
    TAKEN.get().into_iter().flatten()
}

/// Whether a variable holds a secret.
#[cfg(target_os = "linux")]
fn is_secret(name: &str) -> bool {
    SECRETS.contains(&name) || SECRET_KEYS.iter().any(|key| settings::variable(key) == name)
}
