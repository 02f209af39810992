//! `cms tui` on a real terminal: what it shows, and that the terminal is given back.

use std::{
    io::{Read as _, Write},
    num::NonZero,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::support::{PASSWORD, Served, cms, code, first_login, site, site_of_ana};

/// A terminal with the interface on it.
struct Terminal {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    screen: Arc<Mutex<vt100::Parser>>,
    /// Modes of the terminal before it started.
    before: String,
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn cells(n: u16) -> NonZero<u16> {
    NonZero::new(n).expect("not zero")
}

fn parser(rows: u16, cols: u16) -> vt100::Parser {
    vt100::Parser::new(cells(rows), cells(cols), 0)
}

type Opened = (Box<dyn MasterPty + Send>, Box<dyn Child + Send + Sync>, String);

const CMS: &str = env!("CARGO_BIN_EXE_cms");

/// A program on a terminal of its own, and the modes of the terminal before.
fn opened(dir: &Path, program: &str, args: &[&str]) -> Opened {
    let pair = native_pty_system().openpty(size(30, 100)).expect("a terminal");
    let mut command = CommandBuilder::new(program);
    for (name, _) in std::env::vars() {
        if name.starts_with("CMS_") || name == "NO_COLOR" || name == "ACCESSIBLE" {
            command.env_remove(name);
        }
    }
    command.env("TERM", "xterm-256color");
    command.env("CMS_DIR", dir);
    command.env("XDG_CONFIG_HOME", dir.join("config"));
    command.env("XDG_STATE_HOME", dir.join("state"));
    command.args(args);
    let before = format!("{:?}", pair.master.get_termios());
    let child = pair.slave.spawn_command(command).expect("cms starts");
    drop(pair.slave);
    (pair.master, child, before)
}

impl Terminal {
    fn start(dir: &Path, args: &[&str]) -> Self {
        Self::of(opened(dir, CMS, args))
    }

    fn of((master, child, before): Opened) -> Self {
        let screen = Arc::new(Mutex::new(parser(30, 100)));
        let (mut output, shown) = (master.try_clone_reader().expect("output"), screen.clone());
        std::thread::spawn(move || {
            let mut part = [0; 8192];
            while let Ok(n @ 1..) = output.read(&mut part) {
                shown.lock().expect("a lock").process(&part[..n]);
            }
        });
        let keys = master.take_writer().expect("input");
        Self { master, keys, child, screen, before }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("taken");
        self.keys.flush().expect("taken");
    }

    fn text(&self) -> String {
        self.screen.lock().expect("a lock").screen().contents()
    }

    /// Waits until this holds.
    #[track_caller]
    fn until(&mut self, what: &str, holds: impl Fn(&mut Self) -> bool) {
        let begun = Instant::now();
        while !holds(self) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{what}:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[track_caller]
    fn shows(&mut self, text: &str) {
        self.until(&format!("{text:?} is not shown"), |terminal| terminal.text().contains(text));
    }

    /// The terminal is as it was before.
    #[track_caller]
    fn is_given_back(&mut self) {
        self.until("the terminal is not given back", |terminal| {
            let parser = terminal.screen.lock().expect("a lock");
            let screen = parser.screen();
            let modes = format!("{:?}", terminal.master.get_termios());
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
                && modes == terminal.before
        });
    }

    fn mouse(&self) -> vt100::MouseProtocolMode {
        self.screen.lock().expect("a lock").screen().mouse_protocol_mode()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.process_id().expect("a process").to_string();
        assert!(Command::new("kill").args([name, &pid]).status().expect("kill").success());
    }
}

/// The window was closed, or the connection broke.
#[test]
fn a_terminal_that_is_gone_ends_it_quietly() {
    let dir = site();
    let (master, mut child, _) = opened(dir.path(), CMS, &["tui"]);
    let (mut output, mut screen) = (master.try_clone_reader().expect("output"), parser(30, 100));
    let mut part = [0; 8192];
    while !screen.screen().contents().contains("What needs attention") {
        let n = output.read(&mut part).expect("output");
        screen.process(&part[..n]);
    }
    drop((output, master));
    // It learns that from the signal, or from a drawing that fails. It does not panic.
    let status = child.wait().expect("it ends");
    assert!(matches!(status.exit_code(), 0 | 1), "{status:?}");
}

#[test]
fn work_resize_suspend_and_leave() {
    let dir = site();
    let mut terminal = Terminal::start(dir.path(), &["tui"]);
    terminal.shows("What needs attention");
    terminal.press("6");
    terminal.shows("notes");
    terminal.master.resize(size(24, 80)).expect("resized");
    terminal.screen.lock().expect("a lock").screen_mut().set_size(cells(24), cells(80));
    terminal.until("it is not drawn again", |terminal| {
        terminal
            .text()
            .lines()
            .last()
            .is_some_and(|line| line.contains("? help") || line.contains("Hint"))
            && terminal.text().lines().all(|line| line.chars().count() <= 80)
    });
    // Stopped, the only program of a terminal would never go on.
    terminal.press("\x1a");
    terminal.shows("no shell that could let it go on");
    terminal.press("5");
    terminal.shows("API keys");
    terminal.press("q");
    assert_eq!(terminal.child.wait().expect("ended").exit_code(), 0);
    terminal.is_given_back();
    // The next session begins where this one ended.
    let mut terminal = Terminal::start(dir.path(), &["tui"]);
    terminal.shows("API keys");
    terminal.signal("-TERM");
    assert_eq!(terminal.child.wait().expect("ended").exit_code(), 0);
    terminal.is_given_back();
}

#[test]
fn a_shell_has_the_terminal_until_it_lets_the_session_go_on() {
    let dir = site();
    let line = format!("{CMS} tui; read go; fg");
    let mut terminal = Terminal::of(opened(dir.path(), "sh", &["-m", "-c", &line]));
    terminal.shows("What needs attention");
    terminal.press("6");
    terminal.shows("notes");
    terminal.press("\x1a");
    terminal.is_given_back();
    terminal.press("\r");
    terminal.shows("notes");
    terminal.press("5");
    terminal.shows("API keys");
    terminal.press("q");
    assert_eq!(terminal.child.wait().expect("ended").exit_code(), 0);
    terminal.is_given_back();
}

#[test]
fn a_first_login_with_code_and_recovery_codes() {
    let dir = site_of_ana();
    let served = Served::start(dir.path(), &[]);
    let mut terminal = Terminal::start(dir.path(), &["tui", "--url", &served.url]);
    terminal.shows("Password");
    terminal.press(&format!("ana\t{PASSWORD}\r"));
    terminal.shows("Type its 6 digits");
    let text = terminal.text();
    assert!(text.contains('▀') && text.contains('▄'), "the QR code is there:\n{text}");
    let secret = text.lines().filter_map(|line| {
        let line = line.trim_end().rsplit("  ").next().unwrap_or_default().trim();
        let is_part = |part: &str| {
            part.len() == 4 && part.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        };
        (!line.is_empty() && line.split(' ').all(is_part)).then(|| line.replace(' ', ""))
    });
    let secret: String = secret.collect();
    assert!(secret.len() >= 16, "no secret:\n{text}");
    terminal.press(&format!("{}\r", code(&secret, 0)));
    terminal.shows("Recovery codes");
    terminal.press("SAVED");
    terminal.shows("Logged in as ana");
    terminal.press("7");
    terminal.shows("GROUPS");
    terminal.press("q");
    assert_eq!(terminal.child.wait().expect("ended").exit_code(), 0);
    terminal.is_given_back();
    // The session is that of `cms login`.
    cms(dir.path(), &format!("whoami --url {}", served.url)).shows("ana");
    served.stop();
}

/// Over HTTP with a code of the authenticator: work, another size, the end of the session.
#[test]
fn a_later_login_work_and_the_end_of_the_session() {
    let dir = site_of_ana();
    let served = Served::start(dir.path(), &[]);
    let remote = ["--url", &served.url];
    let (secret, login) = first_login(dir.path(), &remote);
    login.ok();
    cms(dir.path(), &format!("logout --url {}", served.url)).ok();
    let mut terminal = Terminal::start(dir.path(), &["tui", "--url", &served.url]);
    terminal.shows("Password");
    terminal.press(&format!("ana\t{PASSWORD}\r"));
    terminal.shows("6 digits of your app");
    // A code is good once: this is the next one.
    terminal.press(&format!("{}\r", code(&secret, 1)));
    terminal.shows("Logged in as ana");
    terminal.press("6");
    terminal.shows("notes");
    terminal.press("/notes\r");
    terminal.press("\r");
    terminal.shows("No record. n makes one.");
    terminal.press("n");
    terminal.shows("New record of notes");
    terminal.press("from afar\x13");
    terminal.shows("is made");
    let made = cms(dir.path(), &format!("items list notes --json --url {}", served.url));
    assert!(made.ok().contains("from afar"));
    terminal.master.resize(size(24, 80)).expect("resized");
    terminal.screen.lock().expect("a lock").screen_mut().set_size(cells(24), cells(80));
    terminal.until("it is not drawn for 80 columns", |terminal| {
        !terminal.text().contains("2 Webhooks")
    });
    terminal.shows("from afar");
    let kept = || {
        let file = dir.path().join("config/cms/sessions.toml");
        std::fs::read_to_string(file).unwrap_or_default().contains("token")
    };
    assert!(kept(), "the session is that of cms login");
    terminal.press(":app.logout\r");
    terminal.shows("The session is over");
    terminal.until("the token is kept", |_| !kept());
    cms(dir.path(), &format!("whoami --url {}", served.url)).fails(4);
    // The login form lies over home; nothing of the user is left.
    terminal.press("\x1b");
    assert!(!terminal.text().contains("from afar"), "{}", terminal.text());
    terminal.press("\x03");
    assert_eq!(terminal.child.wait().expect("ended").exit_code(), 0);
    terminal.is_given_back();
    served.stop();
}

#[test]
fn the_operator_looks_as_a_user_for_as_long_as_the_session() {
    let dir = site_of_ana();
    let mut terminal = Terminal::start(dir.path(), &["tui", "--as", "ana"]);
    terminal.shows("as ana");
    let sessions = || cms(dir.path(), "users sessions ana").ok();
    assert!(sessions().contains("operator"), "{}", sessions());
    terminal.press("8");
    terminal.shows("2 Webhooks");
    terminal.press("q");
    assert_eq!(terminal.child.wait().expect("ended").exit_code(), 0);
    terminal.is_given_back();
    assert!(!sessions().contains("operator"), "{}", sessions());
    cms(dir.path(), "audit list").shows("act_as");
    let mut terminal = Terminal::start(dir.path(), &["tui", "--as", "nobody"]);
    assert_eq!(terminal.child.wait().expect("ended").exit_code(), 5);
}

#[test]
fn a_click_selects_and_opens_and_another_site_is_a_command_away() {
    let (dir, other) = (site(), site_of_ana());
    let served = Served::start(other.path(), &[]);
    cms(dir.path(), &format!("context add shop --url {}", served.url)).ok();
    let mut terminal = Terminal::start(dir.path(), &["tui"]);
    terminal.shows("What needs attention");
    // The tab of the keys: a click at the end of the second line's text for it.
    let line = terminal.text().lines().nth(1).unwrap_or_default().to_owned();
    let at = line.split("5 Keys").next().unwrap_or_default().chars().count() + 2;
    terminal.press(&format!("\x1b[<0;{at};2M\x1b[<0;{at};2m"));
    terminal.shows("API keys");
    terminal.press(":app.context\r");
    terminal.shows("Go to another site");
    terminal.press("\r");
    terminal.shows("Password");
    terminal.signal("-TERM");
    assert_eq!(terminal.child.wait().expect("ended").exit_code(), 0);
    terminal.is_given_back();
    let mut terminal = Terminal::start(dir.path(), &["tui", "--no-mouse"]);
    terminal.shows("API keys");
    assert_eq!(terminal.mouse(), vt100::MouseProtocolMode::None);
    terminal.signal("-TERM");
    terminal.is_given_back();
    served.stop();
}

/// Both wake the reader at the same time, and it may lose neither.
#[test]
fn keys_that_come_with_a_new_size_are_taken() {
    let dir = site();
    let mut terminal = Terminal::start(dir.path(), &["tui"]);
    terminal.shows("What needs attention");
    for cols in 90..150 {
        terminal.screen.lock().expect("a lock").screen_mut().set_size(cells(30), cells(cols));
        terminal.master.resize(size(30, cols)).expect("resized");
        let (key, shown) = if cols % 2 == 0 { ("5", "API keys") } else { ("6", "notes") };
        terminal.press(key);
        terminal.shows(shown);
    }
    terminal.press("q");
    assert_eq!(terminal.child.wait().expect("ended").exit_code(), 0);
}

#[test]
fn a_terminal_that_cannot_show_it_is_told_the_commands() {
    let dir = site();
    cms(dir.path(), "tui").fails(2).tells("needs a terminal").tells("cms webhooks list");
    cms(dir.path(), "tui inbax").fails(2).tells("'inbax'").tells("inbox").tells("funnels");
    let help = cms(dir.path(), "tui --help").ok();
    assert!(["audit", "limits", "pages"].iter().all(|name| help.contains(name)), "{help}");
}
