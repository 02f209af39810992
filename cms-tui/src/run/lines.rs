//! Runs command lines of `cms`, each in its own process group, so that ending one ends all of its
//! processes. Also writes files, which can be ended in the same way.

use std::{
    collections::HashMap,
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use cms_http::{Secret, client::Client};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::AsyncReadExt as _,
    process::{Child, Command},
    sync::{
        mpsc::UnboundedSender,
        oneshot::{self, Receiver},
    },
    task::JoinSet,
};

use super::{Incoming, files};
use crate::{model::Msg, step::Saving};

/// The most output of a command that is shown; more ends the command.
const MOST: usize = 1 << 20;
/// How long a command may take to end after it is asked to.
const GENTLY: Duration = Duration::from_secs(3);

/// The command lines of this session.
#[derive(Default)]
pub(super) struct Lines {
    /// Dropping a sender ends its command line.
    ends: HashMap<u64, oneshot::Sender<()>>,
    tasks: JoinSet<()>,
}

impl Lines {
    /// Runs a command line of this program; what it prints is sent under this number.
    pub(super) fn start(
        &mut self,
        number: u64,
        program: Vec<String>,
        secrets: Vec<(String, Secret)>,
        line: Vec<String>,
        sender: UnboundedSender<Incoming>,
    ) {
        let ended = self.begin(number);
        self.tasks.spawn(async move {
            let outcome = run(&program, &secrets, &line, ended).await;
            let _ = sender.send(Incoming::Msg(Msg::Ran(number, outcome)));
        });
    }

    fn begin(&mut self, number: u64) -> Receiver<()> {
        let (end, ended) = oneshot::channel();
        while self.tasks.try_join_next().is_some() {}
        self.ends.retain(|_, end| !end.is_closed());
        self.ends.insert(number, end);
        ended
    }

    /// Writes a reply into a file.
    pub(super) fn save(
        &mut self,
        number: u64,
        client: Client,
        saving: Saving,
        sender: UnboundedSender<Incoming>,
    ) {
        let (ended, told) = (self.begin(number), sender.clone());
        let tell = move |bytes| {
            let _ = told.send(Incoming::Msg(Msg::Saving(number, bytes)));
        };
        self.tasks.spawn(async move {
            let outcome = tokio::select! {
                outcome = files::save(&client, &saving, tell) => outcome,
                _ = ended => return,
            };
            let _ = sender.send(Incoming::Msg(Msg::Saved(number, outcome)));
        });
    }

    pub(super) fn end(&mut self, number: u64) {
        self.ends.remove(&number);
    }

    pub(super) fn end_all(&mut self) {
        self.ends.clear();
    }

    /// Ends all command lines, and returns when they are gone: after [`GENTLY`] at the latest.
    pub(super) async fn gone(mut self) {
        self.end_all();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// A process group that is killed when this is dropped.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    fn send(&self, signal: Signal) {
        // Fails only when all of it has ended.
        let _ = self.0.map(|group| kill_process_group(group, signal));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.send(Signal::KILL);
    }
}

/// Runs a command line for this site until it ends or `ended` is dropped. Returns its output, as
/// an error if it failed. It ends with this session.
async fn run(
    program: &[String],
    secrets: &[(String, Secret)],
    line: &[String],
    ended: Receiver<()>,
) -> Result<String, String> {
    let Some((name, first)) = program.split_first() else { return Ok(String::new()) };
    let mut command = Command::new(name);
    command.args(first).args(line).env("NO_COLOR", "1").process_group(0);
    command.envs(secrets.iter().map(|(name, value)| (name, value.expose())));
    command.kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = match command.spawn() {
        Ok(child) => output(child, ended).await,
        Err(error) => Err(error),
    };
    ran.unwrap_or_else(|error| Err(error.to_string()))
}

async fn output(mut child: Child, ended: Receiver<()>) -> io::Result<Result<String, String>> {
    let (mut group, mut printed) = (Group::of(&child), Vec::new());
    let status = tokio::select! {
        status = read(&mut child, &mut printed) => status?,
        _ = ended => None,
    };
    let mut text = String::from_utf8_lossy(&printed).into_owned();
    match status {
        Some(status) => {
            // Processes that it left running on purpose stay.
            group.0 = None;
            if status.success() {
                return Ok(Ok(text));
            }
            text.push_str(&format!("\n{status}"));
        }
        None => {
            group.send(Signal::TERM);
            let _ = tokio::time::timeout(GENTLY, child.wait()).await;
            let is_cut = printed.len() >= MOST;
            let why = if is_cut { ": it prints more than 1 MiB." } else { "." };
            text.push_str(&format!("\nIt was ended{why}"));
        }
    }
    Ok(Err(text))
}

/// Reads the output to its end. None: there is too much of it.
async fn read(child: &mut Child, printed: &mut Vec<u8>) -> io::Result<Option<ExitStatus>> {
    let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
        return Ok(None);
    };
    let mut parts = ([0; 8192], [0; 8192]);
    let (mut has_out, mut has_err) = (true, true);
    while (has_out || has_err) && printed.len() < MOST {
        tokio::select! {
            read = out.read(&mut parts.0), if has_out => match read? {
                0 => has_out = false,
                n => printed.extend_from_slice(&parts.0[..n]),
            },
            read = err.read(&mut parts.1), if has_err => match read? {
                0 => has_err = false,
                n => printed.extend_from_slice(&parts.1[..n]),
            },
        }
    }
    if printed.len() >= MOST { Ok(None) } else { child.wait().await.map(Some) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn a_command_that_prints_without_end_is_ended() {
        let (_end, ended) = oneshot::channel();
        let text = run(&words("yes"), &[], &words("y"), ended).await.expect_err("ended");
        assert!(text.len() < MOST + 10_000 && text.ends_with("more than 1 MiB."));
    }

    #[tokio::test]
    async fn what_it_says_and_how_it_failed_are_shown() {
        let (_end, ended) = oneshot::channel();
        let script = ["-c", "echo one; echo two >&2; exit 3"].map(str::to_owned);
        let text = run(&words("sh"), &[], &script, ended).await.expect_err("it failed");
        assert!(text.contains("one") && text.contains("two") && text.contains("3"), "{text}");
        let (_end, ended) = oneshot::channel();
        let why = run(&words("/no/such/program"), &[], &[], ended).await.expect_err("none");
        assert!(why.contains("No such file"), "{why}");
        let (_end, ended) = oneshot::channel();
        let text = run(&words("echo"), &[], &words("well"), ended).await;
        assert_eq!(text.as_deref(), Ok("well\n"));
    }

    /// Waits until a path is there, or gone.
    async fn until(path: &Path, there: bool) {
        while path.exists() != there {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn all_that_a_command_began_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let began = folder.path().join("began");
        // The shell waits for a child, and both would go on for an hour.
        let script = format!("echo $$; sh -c 'echo $$ > {}; sleep 3600; :'; :", began.display());
        let (end, ended) = oneshot::channel();
        let script = ["-c".to_owned(), script];
        let running = tokio::spawn(async move { run(&words("sh"), &[], &script, ended).await });
        until(&began, true).await;
        // The file is there a moment before the number.
        let mut child = String::new();
        while child.trim().is_empty() {
            child = std::fs::read_to_string(&began).expect("a number");
        }
        drop(end);
        let text = running.await.expect("it ends well").expect_err("it was ended");
        assert!(text.ends_with("It was ended."), "{text}");
        // A process that has ended and was not waited for yet is a zombie.
        let stat = format!("/proc/{}/stat", child.trim());
        let is_over = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        while !is_over() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn no_command_line_outlives_the_session() {
        let folder = tempfile::tempdir().expect("a folder");
        let [began, done] = ["began", "done"].map(|name| folder.path().join(name));
        let script = format!(
            "trap 'sleep 0.1; touch {}; exit' TERM; touch {}; sleep 3600 & wait",
            done.display(),
            began.display()
        );
        let (sender, mut incoming) = tokio::sync::mpsc::unbounded_channel();
        let mut lines = Lines::default();
        let script = vec!["-c".to_owned(), script];
        lines.start(1, words("sh"), Vec::new(), script, sender);
        until(&began, true).await;
        lines.gone().await;
        assert!(done.exists(), "it is left alone while it puts its things in order");
        assert!(matches!(incoming.recv().await, Some(Incoming::Msg(Msg::Ran(1, _)))));
    }
}
