//! `cms tui` on a terminal of its own, and when what appeared on it.

use std::{
    io::{Read as _, Write},
    num::NonZero,
    path::Path,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

const ROWS: u16 = 40;
const COLS: u16 = 120;

/// What was drawn so far.
struct Drawn {
    screen: vt100::Parser,
    bytes: usize,
    /// When the last bytes came.
    at: Instant,
}

pub(crate) struct Terminal {
    _master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    drawn: Arc<(Mutex<Drawn>, Condvar)>,
    pub(crate) started: Instant,
}

fn cells(n: u16) -> NonZero<u16> {
    NonZero::new(n).unwrap_or(NonZero::<u16>::MIN)
}

impl Terminal {
    pub(crate) fn start(dir: &Path, args: &[&str]) -> Self {
        let size = PtySize { rows: ROWS, cols: COLS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_cms"));
        for (name, _) in std::env::vars() {
            if name.starts_with("CMS_") || name == "NO_COLOR" || name == "ACCESSIBLE" {
                command.env_remove(name);
            }
        }
        command.env("TERM", "xterm-256color");
        command.env("CMS_DIR", dir);
        command.env("XDG_CONFIG_HOME", dir.join("config"));
        command.env("XDG_STATE_HOME", dir.join("state"));
        command.arg("tui");
        command.args(args);
        let started = Instant::now();
        let child = pair.slave.spawn_command(command).expect("cms starts");
        drop(pair.slave);
        let screen = vt100::Parser::new(cells(ROWS), cells(COLS), 0);
        let drawn = Mutex::new(Drawn { screen, bytes: 0, at: started });
        let drawn = Arc::new((drawn, Condvar::new()));
        let (mut output, shown) = (pair.master.try_clone_reader().expect("output"), drawn.clone());
        std::thread::spawn(move || {
            let mut part = [0; 65_536];
            while let Ok(n @ 1..) = output.read(&mut part) {
                let mut drawn = shown.0.lock().unwrap_or_else(PoisonError::into_inner);
                drawn.screen.process(&part[..n]);
                (drawn.bytes, drawn.at) = (drawn.bytes + n, Instant::now());
                shown.1.notify_all();
            }
        });
        let keys = pair.master.take_writer().expect("input");
        Self { _master: pair.master, keys, child, drawn, started }
    }

    /// Returns when they were pressed.
    pub(crate) fn press(&mut self, keys: &str) -> Instant {
        let at = Instant::now();
        self.keys.write_all(keys.as_bytes()).expect("taken");
        self.keys.flush().expect("taken");
        at
    }

    /// Waits until something holds; returns when it was drawn.
    fn until(&self, what: &str, holds: impl Fn(&Drawn) -> bool) -> Instant {
        let mut drawn = self.drawn.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Instant::now();
        while !holds(&drawn) {
            let text = drawn.screen.screen().contents();
            assert!(begun.elapsed() < Duration::from_secs(120), "{what}:\n{text}");
            let wait = self.drawn.1.wait_timeout(drawn, Duration::from_millis(100));
            drawn = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        drawn.at
    }

    pub(crate) fn shows(&self, text: &str) -> Instant {
        self.until(&format!("{text:?} is not shown"), |drawn| {
            drawn.screen.screen().contents().contains(text)
        })
    }

    /// Waits until the text is nowhere.
    pub(crate) fn hides(&self, text: &str) {
        self.until(&format!("{text:?} is shown"), |drawn| {
            !drawn.screen.screen().contents().contains(text)
        });
    }

    /// Waits until there are rows with `of`, and each of them holds the word too.
    pub(crate) fn shows_only(&self, of: &str, word: &str) -> Instant {
        self.until(&format!("{of:?} without {word:?}"), |drawn| {
            let text = drawn.screen.screen().contents();
            // The line of the filter holds what is typed, a frame the row under the cursor.
            let is_row = |line: &&str| line.contains(of) && !line.contains(['/', '┌']);
            let rows = text.lines().filter(is_row);
            let fits: Vec<_> = rows.map(|row| row.contains(word)).collect();
            !fits.is_empty() && fits.iter().all(|fits| *fits)
        })
    }

    /// Presses keys, and returns how long the next drawing took.
    pub(crate) fn frame_after(&mut self, keys: &str) -> Duration {
        let before = self.bytes();
        let pressed = self.press(keys);
        self.until("nothing is drawn", |drawn| drawn.bytes > before) - pressed
    }

    /// The number of the row under the cursor.
    pub(crate) fn place(&self) -> Option<u64> {
        let drawn = self.drawn.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = drawn.screen.screen().contents();
        let number = |line: &str| line.split_once(" of ")?.0.rsplit(' ').next()?.parse().ok();
        text.lines().find_map(number)
    }

    /// Bytes drawn so far.
    pub(crate) fn bytes(&self) -> usize {
        self.drawn.0.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    fn process(&self, file: &str) -> String {
        let pid = self.child.process_id().expect("a process");
        std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
    }

    /// CPU time so far of the threads that run.
    pub(crate) fn cpu(&self) -> Duration {
        let pid = self.child.process_id().expect("a process");
        let threads = format!("/proc/{pid}/task");
        let ns = std::fs::read_dir(threads).into_iter().flatten().flatten().filter_map(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            stat.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(ns.sum())
    }

    /// Memory of the process in MiB, with the pages of its program that were read.
    pub(crate) fn memory_mib(&self) -> f64 {
        let status = self.process("status");
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        kib("VmRSS:").unwrap_or(0.0) / 1024.0
    }

    pub(crate) fn leave(mut self) {
        self.press("q");
        self.child.wait().expect("ended");
    }
}
