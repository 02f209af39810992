//! `cms tui` in tmux: another size, the clipboard, and a shell that is left as it was.
//!
//! `cargo test -p cms-cli --test cli tmux -- --ignored`

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{inbox::three_sent, support::site};

/// A tmux server of its own; it ends with the test.
struct Tmux<'a> {
    dir: &'a Path,
}

impl Tmux<'_> {
    fn run(&self, words: &[&str]) -> String {
        let socket = self.dir.join("tmux");
        let mut command = Command::new("tmux");
        command.arg("-S").arg(socket).args(["-f", "/dev/null"]).args(words).env_remove("TMUX");
        for (name, _) in std::env::vars() {
            if name.starts_with("CMS_") || name == "NO_COLOR" || name == "ACCESSIBLE" {
                command.env_remove(name);
            }
        }
        command.env("CMS_DIR", self.dir).env("XDG_CONFIG_HOME", self.dir.join("config"));
        command.env("XDG_STATE_HOME", self.dir.join("state"));
        let output = command.output().expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        let begun = Instant::now();
        while !self.screen().contains(text) {
            let screen = self.screen();
            assert!(begun.elapsed() < Duration::from_secs(30), "no {text:?}:\n{screen}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
#[ignore = "needs tmux"]
fn a_session_in_tmux() {
    let dir = site();
    let tmux = Tmux { dir: dir.path() };
    // What the interface or the terminal left behind would stand between the two words.
    let shell = format!("printf before; {} tui; printf after; read end", env!("CARGO_BIN_EXE_cms"));
    tmux.run(&["new-session", "-d", "-x", "100", "-y", "30", &shell]);
    tmux.run(&["set-option", "-g", "set-clipboard", "on"]);
    tmux.shows("What needs attention");
    tmux.run(&["send-keys", "6"]);
    tmux.shows("notes");
    tmux.run(&["resize-window", "-x", "70", "-y", "20"]);
    tmux.shows("? help");
    let screen = tmux.screen();
    assert!(screen.lines().all(|line| line.chars().count() <= 70), "{screen}");
    assert!(screen.contains("notes"), "{screen}");
    // Copied text reaches the clipboard through tmux.
    tmux.run(&["send-keys", "y"]);
    tmux.shows("copied: cms");
    let begun = Instant::now();
    while !tmux.run(&["show-buffer"]).ends_with("tables list") {
        assert!(begun.elapsed() < Duration::from_secs(10), "{}", tmux.run(&["show-buffer"]));
        std::thread::sleep(Duration::from_millis(30));
    }
    tmux.run(&["send-keys", "q"]);
    tmux.shows("after");
    assert_eq!(tmux.screen().trim(), "beforeafter");
    let mode = tmux.run(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
    assert_eq!(mode.trim(), "0 1", "the terminal is given back");
}

/// The day of somebody who answers leads: filter, mark three, set their state, take it back, note,
/// assign, read the way, export.
#[test]
#[ignore = "needs tmux"]
fn a_day_at_the_inbox_in_tmux() {
    let (dir, _server) = three_sent();
    let tmux = Tmux { dir: dir.path() };
    let shell = format!("{} inbox; printf after; read end", env!("CARGO_BIN_EXE_cms"));
    tmux.run(&["new-session", "-d", "-x", "100", "-y", "30", &shell]);
    let keys = |keys: &[&str]| tmux.run(&[&["send-keys"][..], keys].concat());
    let types = |text: &str| tmux.run(&["send-keys", "-l", text]);
    tmux.shows("new 3");
    keys(&["/"]);
    types("visit:completed");
    keys(&["Enter"]);
    // The same rows before and after: while they are read, no row is selected.
    std::thread::sleep(Duration::from_secs(1));
    tmux.shows("1 of 3");
    keys(&["Space", "Space", "Space", "s"]);
    tmux.shows("State of 3 submissions");
    keys(&["2"]);
    tmux.shows("3 submissions are qualified");
    tmux.shows("qualified 3");
    keys(&["u"]);
    tmux.shows("3 submissions as before");
    keys(&["Escape"]);
    // Esc and g at once would be Alt-g.
    std::thread::sleep(Duration::from_millis(200));
    keys(&["g", "e"]);
    tmux.shows("Notes of cy@example.org");
    types("called, wants an offer");
    keys(&["C-s"]);
    tmux.shows("has its new notes");
    keys(&["a"]);
    tmux.shows("nobody");
    // A question that comes on its own takes no key until the user pauses.
    std::thread::sleep(Duration::from_millis(500));
    keys(&["1"]);
    tmux.shows("is for nobody");
    keys(&["Enter"]);
    tmux.shows("called, wants an offer");
    tmux.shows("● ");
    tmux.run(&["resize-window", "-x", "80", "-y", "24"]);
    tmux.shows("? help");
    assert!(tmux.screen().lines().all(|line| line.chars().count() <= 80), "{}", tmux.screen());
    keys(&["Escape"]);
    tmux.shows("1 of 3");
    keys(&["E"]);
    tmux.shows("Export the inbox");
    keys(&["C-u"]);
    let file = dir.path().join("leads.csv");
    types(&file.display().to_string());
    keys(&["C-s"]);
    tmux.shows("is written");
    let table = std::fs::read_to_string(file).expect("a table");
    assert_eq!(table.lines().count(), 4, "{table}");
    keys(&["q"]);
    tmux.shows("after");
    let mode = tmux.run(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
    assert_eq!(mode.trim(), "0 1", "the terminal is given back");
}
