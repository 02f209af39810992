//! The launcher between the service and a script: a program that confines itself, becomes the
//! interpreter and ends everything that the script started.
//!
//! The embedding program is its own launcher. The service starts that program again with
//! [`ScriptLauncher::args`], and the program passes the remaining arguments to
//! [`launch`](super::launch). Two steps follow:
//!
//! ```text
//! service ── supervise   knows of the service by its standard input, and of all descendants
//!               └── become   limits, Landlock, then exec: the interpreter
//! ```

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::settings::Confine;

/// How the service starts itself for a script: [`Builder::script_launcher`].
///
/// [`Builder::script_launcher`]: crate::Builder::script_launcher
#[derive(Clone, Debug)]
pub struct ScriptLauncher {
    /// The program that calls [`launch`](super::launch).
    pub program: PathBuf,
    /// The arguments that make the program do so.
    pub args: Vec<String>,
}

/// One run, as the service passes it to both steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// [`ScriptLauncher::args`], for starting the second step.
    pub(super) args: Vec<String>,
    pub(super) interpreter: PathBuf,
    pub(super) file: PathBuf,
    /// The plugin's folder.
    pub(super) plugin: PathBuf,
    /// Bytes of input.
    pub(super) input: usize,
    pub(super) confine: Confine,
    /// Bytes of address space; 0: no limit.
    pub(super) memory: u64,
    /// Processes and threads in addition to those that the user has; 0: no limit.
    pub(super) processes: u64,
    /// Further paths that may be read.
    pub(super) read: Vec<PathBuf>,
    /// The folder for temporary files, which the first step creates.
    pub(super) temporary: Option<PathBuf>,
    /// The process of the first step.
    pub(super) supervisor: Option<u32>,
}

/// How far this kernel can confine a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// Not at all: it has no Landlock, which came with Linux 5.13.
    None,
    /// No access to other files, or to the memory of other processes.
    Files,
    /// The same, and no signals to other processes (Linux 6.12).
    FilesAndSignals,
}

#[cfg(not(target_os = "linux"))]
impl Confinement {
    /// Asks the kernel.
    #[must_use]
    pub fn of_kernel() -> Self {
        Self::None
    }
}

/// Reports to the service, which logs the error output of scripts.
#[expect(clippy::print_stderr, reason = "the error output of a script goes to the log")]
pub(super) fn complain(why: &str) {
    eprintln!("{why}");
}
