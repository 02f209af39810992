//! The second step of the launcher: gives up everything that a script does not need, then becomes
//! the interpreter.

use std::{
    fs,
    os::unix::{
        fs::MetadataExt as _,
        process::{CommandExt as _, parent_id},
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::{
    process::{
        Resource, Rlimit, Signal, getrlimit, getuid, set_parent_process_death_signal, setrlimit,
    },
    thread::set_no_new_privs,
};

use super::launcher::{Confinement, Plan, complain};
use crate::settings::Confine;

/// The newest rules that are requested. Older kernels enforce those that they know.
const RULES: ABI = ABI::V6;
/// Programs, libraries and the files that they read, on common systems.
const PROGRAMS: [&str; 8] =
    ["/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/nix/store", "/gnu/store"];
/// Files of `/etc` that programs read. Everything whose name begins with `php` is added.
const CONFIGURATION: [&str; 16] = [
    "alternatives", "ca-certificates", "gai.conf", "host.conf", "hosts", "ld.so.cache",
    "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "pki", "protocols",
    "resolv.conf", "services", "ssl",
];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

impl Confinement {
    /// Asks the kernel.
    #[must_use]
    pub fn of_kernel() -> Self {
        let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let files = strict().handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create);
        let signals = strict().scope(Scope::Signal).and_then(Ruleset::create);
        match (files, signals) {
            (Err(_), _) => Self::None,
            (Ok(_), Err(_)) => Self::Files,
            (Ok(_), Ok(_)) => Self::FilesAndSignals,
        }
    }
}

/// Becomes the interpreter. Returns only on failure.
pub(super) fn become_script(plan: &Plan) -> ExitCode {
    if let Err(why) = confine(plan) {
        complain(&why);
        return ExitCode::from(126);
    }
    let mut command = Command::new(&plan.interpreter);
    command.arg(&plan.file).env_clear();
    if let Some(folder) = &plan.temporary {
        command.env("TMPDIR", folder);
    }
    let error = command.exec();
    complain(&format!("{} cannot be run: {error}", plan.interpreter.display()));
    ExitCode::from(127)
}

fn confine(plan: &Plan) -> Result<(), String> {
    let refused = |what: &str, error: rustix::io::Errno| format!("{what} cannot be set: {error}");
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| refused("the signal for a parent's death", error))?;
    if plan.supervisor != Some(parent_id()) {
        return Err("the parent has died".to_owned());
    }
    let limits = [
        (Resource::Core, Some(0)),
        (Resource::As, (plan.memory > 0).then_some(plan.memory)),
        (Resource::Nproc, (plan.processes > 0).then(|| plan.processes + tasks())),
    ];
    for (resource, limit) in limits {
        let Some(limit) = limit else { continue };
        let most = getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|error| refused("a limit", error))?;
    }
    if plan.confine == Confine::Off {
        return Ok(());
    }
    set_no_new_privs(true).map_err(|error| refused("no_new_privs", error))?;
    let enforced = restrict(plan).map_err(|error| format!("cannot be confined: {error}"))?;
    if enforced == RulesetStatus::NotEnforced && plan.confine == Confine::Require {
        return Err("cannot be confined: this kernel has no Landlock, and scripts.confine is \
                    \"require\""
            .to_owned());
    }
    Ok(())
}

/// Number of processes and threads of this user: the limit counts them all.
fn tasks() -> u64 {
    let user = getuid().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = processes.filter(|process| {
        let is_process = process.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        is_process && process.metadata().is_ok_and(|found| found.uid() == user)
    });
    let threads = own.filter_map(|process| {
        let status = fs::read_to_string(process.path().join("status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("Threads:")?.trim().parse::<u64>().ok())
    });
    threads.sum()
}

/// Restricts this process, and all that it starts, to the plugin's folder, a folder for temporary
/// files, and the files that programs need.
fn restrict(plan: &Plan) -> Result<RulesetStatus, RulesetError> {
    let (read, all) = (AccessFs::from_read(RULES), AccessFs::from_all(RULES));
    let written = all & !AccessFs::Execute;
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    // A link could lead anywhere.
    let data = plan.plugin.join("data");
    let data = data.symlink_metadata().is_ok_and(|found| found.is_dir()).then_some(data);
    let ruleset = Ruleset::default()
        .handle_access(all)?
        .scope(Scope::from_all(RULES))?
        .create()?
        .add_rules(path_beneath_rules(PROGRAMS, read))?
        .add_rules(path_beneath_rules(configuration(), read))?
        .add_rules(path_beneath_rules(DEVICES, device))?
        .add_rules(path_beneath_rules(&plan.read, read))?
        .add_rules(path_beneath_rules([&plan.interpreter, &plan.plugin], read))?
        .add_rules(path_beneath_rules(data.iter().chain(&plan.temporary), written))?;
    Ok(ruleset.restrict_self()?.ruleset)
}

fn configuration() -> Vec<PathBuf> {
    let etc = Path::new("/etc");
    let entries = fs::read_dir(etc).into_iter().flatten().flatten();
    let php = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"php"));
    let php = php.map(|entry| entry.path());
    CONFIGURATION.iter().map(|name| etc.join(name)).chain(php).collect()
}
