//! Scripts of plugins. A script is a handler of the embedding program, or a file that the
//! interpreter runs in a process of its own.
//!
//! ```text
//! process    one run: input, output, limits; a process and all that it starts, killed together
//! launcher   the embedding program between the service and a script, in two steps:
//! supervise  the first outlives all that the script starts
//! confine    the second takes files and more from itself, then becomes the interpreter
//! ```

#[cfg(target_os = "linux")]
mod confine;
mod launcher;
mod process;
#[cfg(target_os = "linux")]
mod supervise;

use std::{
    env,
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::de::IgnoredAny;
use serde_json::json;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

pub use self::launcher::{Confinement, ScriptLauncher};
use self::{
    launcher::Plan,
    process::{Fault, Limits, Ran},
};
use crate::{
    Code, Error, Result,
    base::Base,
    items::Items,
    plugins::{
        self, Begin, Plugins, ScriptCall, ScriptHandler, ScriptInput, ScriptReply,
        manifest::ButtonType,
    },
    settings::Confine,
};

/// How long a caller waits for a slot.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);
/// Seconds after which a refused caller may find a slot.
const RETRY_AFTER_S: u64 = 5;
/// Bytes of an invalid output that are logged.
const LOGGED: usize = 4096;
/// How long a stop waits for killed scripts.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The scripts of a site: `cms.scripts()`.
#[derive(Clone)]
pub struct Scripts(Arc<Inner>);

struct Inner {
    base: Base,
    items: Items,
    plugins: Plugins,
    launcher: Option<ScriptLauncher>,
    /// Whether the confinement of scripts was logged.
    is_reported: AtomicBool,
    /// One permit for each process that may run.
    places: Semaphore,
    /// Turns true when the site closes.
    closed: watch::Sender<bool>,
}

/// A script that was found.
pub struct Script {
    plugin: String,
    path: String,
    way: Way,
}

enum Way {
    Handler(ScriptHandler),
    File(PathBuf),
}

impl Scripts {
    pub(crate) fn new(
        base: &Base,
        items: &Items,
        plugins: &Plugins,
        launcher: Option<ScriptLauncher>,
    ) -> Self {
        Self(Arc::new(Inner {
            launcher,
            is_reported: AtomicBool::new(false),
            base: base.clone(),
            items: items.clone(),
            plugins: plugins.clone(),
            places: Semaphore::new(base.settings().scripts.max_running),
            closed: watch::Sender::new(false),
        }))
    }

    /// The script of a button: the handler of its path, or otherwise the file.
    ///
    /// # Errors
    /// `not_found` when no plugin in service has such a button. `script_path` for a path that
    /// breaks its rule or leads to no file in the plugin's folder `script/`.
    pub fn find(&self, plugin: &str, button_id: &str) -> Result<Script> {
        let (plugin, path) = (plugin.to_owned(), self.path_of(plugin, button_id)?);
        let handler = self.0.plugins.script_handler(&plugin, &path);
        let way = match handler {
            Some(handler) => Way::Handler(handler),
            None => Way::File(self.file(&plugin, &path)?),
        };
        Ok(Script { plugin, path, way })
    }

    /// Runs a script. `begin` begins changes on behalf of the caller. Dropping the future kills
    /// the process and everything that it started.
    ///
    /// # Errors
    /// `script_failed` for a missing interpreter, a failing exit, too much time or output, and
    /// output that is not JSON. `unavailable` while too many scripts run. A handler's own errors.
    pub async fn run(
        &self,
        script: &Script,
        input: ScriptInput,
        begin: Begin,
    ) -> Result<ScriptReply> {
        let Script { plugin, path, way } = script;
        let file = match way {
            Way::Handler(handler) => {
                let (items, site) = (self.0.items.clone(), self.0.plugins.site());
                let of = begin.call();
                let call = ScriptCall { input, items, begin, site };
                return self.0.plugins.in_time((plugin, path), of, handler(call)).await;
            }
            Way::File(file) => file,
        };
        let Ok(place) = tokio::time::timeout(QUEUE_TIMEOUT, self.place()).await else {
            let why = "Too many scripts run at the moment: see scripts.max_running.";
            return Err(Error::new(Code::Unavailable, why).retry_after(RETRY_AFTER_S));
        };
        let input = serde_json::to_vec(&input).map_err(Error::internal)?;
        let ran = self.execute(place?, (plugin, path, file), input).await?;
        // Any JSON text is accepted; nothing is read from it, so its depth does not matter.
        let (place, output) = match String::from_utf8(ran.output) {
            Ok(text) => match serde_json::from_str::<IgnoredAny>(&text) {
                Ok(_) => {
                    complained(plugin, path, &ran.complaints);
                    return Ok(ScriptReply::Json(text));
                }
                Err(error) => (error.to_string(), text.into_bytes()),
            },
            Err(error) => (error.to_string(), error.into_bytes()),
        };
        let output = String::from_utf8_lossy(&output[..output.len().min(LOGGED)]);
        let (why, complaints) = ("answered no JSON", ran.complaints);
        tracing::warn!(plugin, path, why, place, ?output, ?complaints, "a script failed");
        Err(failure(plugin, path, why))
    }

    /// Runs the script of a task. Its output is ignored.
    pub(crate) async fn run_task(&self, plugin: &str, path: &str, name: &str) -> Result<()> {
        let file = self.file(plugin, path)?;
        let place = self.place().await?;
        let data = json!({"task": name});
        let input = ScriptInput { data, ..ScriptInput::default() };
        let input = serde_json::to_vec(&input).map_err(Error::internal)?;
        let ran = self.execute(place, (plugin, path, &file), input).await?;
        complained(plugin, path, &ran.complaints);
        Ok(())
    }

    /// The program that runs scripts; `None`: it is missing.
    pub(crate) fn interpreter(&self) -> Option<PathBuf> {
        find_program(&self.0.base.settings().scripts.interpreter)
    }

    /// Kills all scripts, and lets no more begin. [`Cms::close`](crate::Cms::close) does this too.
    pub async fn close(&self) {
        self.0.closed.send_replace(true);
        let most = u32::try_from(self.0.base.settings().scripts.max_running).unwrap_or(u32::MAX);
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, self.0.places.acquire_many(most)).await.is_err() {
            tracing::warn!("some scripts did not end in time");
        }
    }

    /// The path that a button declares.
    fn path_of(&self, plugin: &str, button_id: &str) -> Result<String> {
        let manifest = self.0.plugins.manifest(plugin);
        let button = manifest.as_ref().and_then(|manifest| manifest.button(button_id));
        let script = button.filter(|button| button.button_type == ButtonType::Script);
        script.and_then(|button| button.script.clone()).ok_or_else(|| {
            let why = format!("No plugin {plugin:?} has a button {button_id:?} with a script.");
            Error::new(Code::NotFound, why)
        })
    }

    /// The file of a path.
    fn file(&self, plugin: &str, path: &str) -> Result<PathBuf> {
        let folder = &self.0.base.settings().dirs.plugins;
        plugins::find_script(folder, plugin, path).ok_or_else(|| {
            let why = format!(
                "{path:?} is no script of the plugin {plugin}: letters, digits, _ and - in \
                 folders and name, .php at the end, and a file of this path in its folder script/."
            );
            Error::new(Code::ScriptPath, why)
        })
    }

    async fn place(&self) -> Result<SemaphorePermit<'_>> {
        self.0.places.acquire().await.map_err(Error::internal)
    }

    /// Runs a file.
    async fn execute(
        &self,
        _place: SemaphorePermit<'_>,
        (plugin, path, file): (&str, &str, &Path),
        input: Vec<u8>,
    ) -> Result<Ran> {
        let settings = self.0.base.settings();
        let Some(program) = self.interpreter() else {
            let interpreter = &settings.scripts.interpreter;
            let why = format!("cannot run: {interpreter} is not there, see scripts.interpreter");
            return Err(failed(plugin, path, &why, ""));
        };
        let limits = Limits {
            time: Duration::from_secs(settings.scripts.timeout_s),
            output: settings.scripts.max_output_bytes,
        };
        let mut closed = self.0.closed.subscribe();
        self.report();
        let ran = async {
            match &self.0.launcher {
                Some(launcher) => {
                    let plan = self.plan(launcher, plugin, &program, file, input.len());
                    process::run_launched(launcher, &plan, input, limits).await
                }
                None if settings.scripts.confine == Confine::Require => {
                    let why = "cannot be confined: this program has no launcher for scripts, and \
                               scripts.confine is \"require\"";
                    Err(Fault::new(why))
                }
                None => process::run(&program, file, input, limits).await,
            }
        };
        let ran = tokio::select! {
            ran = ran => ran,
            _ = closed.wait_for(|closed| *closed) => {
                return Err(Error::new(Code::Unavailable, "The service is ending."));
            }
        };
        ran.map_err(|Fault { why, complaints }| failed(plugin, path, &why, &complaints))
    }

    fn plan(
        &self,
        launcher: &ScriptLauncher,
        plugin: &str,
        interpreter: &Path,
        file: &Path,
        input: usize,
    ) -> Plan {
        let settings = self.0.base.settings();
        // The same path as in `find_script`.
        let folder = settings.dirs.plugins.join(plugin);
        let folder = folder.canonicalize().unwrap_or(folder);
        Plan {
            args: launcher.args.clone(),
            interpreter: interpreter.to_owned(),
            file: file.to_owned(),
            plugin: folder,
            input,
            confine: settings.scripts.confine,
            memory: settings.scripts.max_memory_bytes,
            processes: settings.scripts.max_processes,
            read: settings.scripts.read.clone(),
            temporary: None,
            supervisor: None,
        }
    }

    /// Warns once if scripts can access more than their plugin's folder.
    fn report(&self) {
        let confine = self.0.base.settings().scripts.confine;
        if confine == Confine::Off || self.0.is_reported.swap(true, Ordering::Relaxed) {
            return;
        }
        match (&self.0.launcher, Confinement::of_kernel()) {
            (None, _) => tracing::warn!(
                "scripts of plugins run with all rights of this process: the program that embeds \
                 this library sets no Builder::script_launcher"
            ),
            (Some(_), Confinement::None) => tracing::warn!(
                "scripts of plugins can read whatever the service can: this kernel has no Landlock"
            ),
            (Some(_), Confinement::Files) => tracing::info!(
                "scripts of plugins can send signals to the service: the kernel is older than 6.12"
            ),
            (Some(_), Confinement::FilesAndSignals) => {}
        }
    }
}

/// Runs a script for the service, from the arguments after [`ScriptLauncher::args`]. Returns when
/// the script and everything that it started have ended.
#[must_use]
pub fn launch(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let step = args.next();
    let plan = args.next().and_then(|text| text.into_string().ok());
    let plan = plan.and_then(|text| serde_json::from_str::<Plan>(&text).ok());
    match (step.as_ref().and_then(|step| step.to_str()), plan) {
        #[cfg(target_os = "linux")]
        (Some("supervise"), Some(plan)) => supervise::supervise(plan),
        #[cfg(target_os = "linux")]
        (Some("become"), Some(plan)) => confine::become_script(&plan),
        _ => {
            launcher::complain(
                "this command is for the service itself: it runs the scripts of plugins",
            );
            ExitCode::from(2)
        }
    }
}

/// Logs the error output of a script that ended well.
fn complained(plugin: &str, path: &str, complaints: &str) {
    if !complaints.is_empty() {
        tracing::warn!(plugin, path, ?complaints, "a script has complained");
    }
}

/// Logs the error output of a script, and returns the error for the caller.
fn failed(plugin: &str, path: &str, why: &str, complaints: &str) -> Error {
    tracing::warn!(plugin, path, why, ?complaints, "a script failed");
    failure(plugin, path, why)
}

/// The error for the caller of a failed script.
fn failure(plugin: &str, path: &str, why: &str) -> Error {
    let detail = format!("The script {path} of the plugin {plugin} {why}; the log has the rest.");
    Error::new(Code::ScriptFailed, detail)
}

/// The program of this name in `PATH`, or at this path. `None`: there is no executable.
fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        // The script runs in its own folder, so the path must be absolute.
        return std::path::absolute(name).ok().filter(|path| is_executable(path));
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
