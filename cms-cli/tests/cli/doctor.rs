//! `cms doctor` on broken sites: each is named with its remedy, and none is changed.

use std::{
    any::Any,
    collections::BTreeSet,
    fs,
    net::TcpListener,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
};

use crate::{
    support::{PASSWORD, Run, Served, cms, cms_with, command, finish, site},
    untouched::{content, sql},
};

/// What must stay while `cms doctor` runs: variables, a limit on open files, a lock, a listener.
#[derive(Default)]
pub(crate) struct Held {
    variables: Vec<(&'static str, String)>,
    open_files: Option<u32>,
    _kept: Option<Box<dyn Any>>,
}

impl Held {
    fn variable(name: &'static str, value: impl Into<String>) -> Self {
        Self { variables: vec![(name, value.into())], ..Self::default() }
    }

    fn and(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    fn keeping(mut self, kept: impl Any) -> Self {
        self._kept = Some(Box::new(kept));
        self
    }
}

/// A way to break a site.
struct Broken {
    how: &'static str,
    by: fn(&Path) -> Held,
    /// Level and name of the check that says so; all others are good.
    says: (&'static str, &'static str),
    /// Words of what is found.
    found: &'static str,
    /// Words of the remedy.
    remedy: &'static str,
}

const RESTORE: &str = "restore the database from a backup";

/// Breaks a file of the site, and nothing else.
macro_rules! broken {
    (
        $how:literal, |$dir:ident| $by:expr, $state:ident $check:literal, $found:expr, $remedy:expr
    ) => {
        Broken {
            how: $how,
            by: |$dir| $by,
            says: (stringify!($state), $check),
            found: $found,
            remedy: $remedy,
        }
    };
}

pub(crate) fn write(path: &Path, text: &str) -> Held {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("written");
    Held::default()
}

pub(crate) fn change(path: &Path, old: &str, new: &str) -> Held {
    let text = fs::read_to_string(path).expect("text");
    assert!(text.contains(old), "{old} is not in {text}");
    write(path, &text.replace(old, new))
}

pub(crate) fn mode(path: &Path, mode: u32) -> Held {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    Held::default()
}

pub(crate) fn statement(dir: &Path, statement: &'static str) -> Held {
    sql(dir, statement);
    Held::default()
}

/// Gives the local file another value for a secret.
pub(crate) fn secret(dir: &Path, name: &str, value: &str) -> Held {
    let path = dir.join("cms.local.toml");
    let text = fs::read_to_string(&path).expect("text");
    let line = text.lines().find(|line| line.starts_with(name)).expect("the secret").to_owned();
    let new = if value.is_empty() { String::new() } else { format!("{name} = \"{value}\"") };
    change(&path, &line, &new)
}

pub(crate) fn plugin(dir: &Path, manifest: &str) -> Held {
    write(&dir.join("plugins/shop/plugin.json"), manifest)
}

fn bytes(dir: &Path, change: impl Fn(&mut Vec<u8>)) -> Held {
    let path = dir.join("data/cms.db");
    let mut bytes = fs::read(&path).expect("a database");
    change(&mut bytes);
    fs::write(&path, bytes).expect("written");
    Held::default()
}

/// A port that somebody listens at, who answers nothing.
pub(crate) fn taken() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}

const SITES: &[Broken] = &[
    // settings
    broken!("no cms.toml", |dir| {
        for name in ["cms.toml", "cms.local.toml"] {
            fs::remove_file(dir.join(name)).expect("removed");
        }
        Held::default()
    }, error "settings", "there is no cms.toml in", "cms init"),
    broken!("a mistyped key", |dir| write(&dir.join("cms.toml"), "lisen = \"x\"\n"),
        error "settings", "did you mean `listen`", "correct the setting"),
    broken!("no TOML", |dir| write(&dir.join("cms.toml"), "listen = \n"),
        error "settings", "cms.toml:1", "correct the setting"),
    broken!("settings that are not UTF-8", |dir| {
        fs::write(dir.join("cms.toml"), b"# caf\xe9\n").expect("written");
        Held::default()
    }, error "settings", "save it as UTF-8", "save it as UTF-8"),
    broken!("settings that are a folder", |dir| {
        fs::remove_file(dir.join("cms.toml")).expect("removed");
        fs::create_dir(dir.join("cms.toml")).expect("a folder");
        Held::default()
    }, error "settings", "cannot be read", "put a file in the place"),
    broken!("an address of a database that has no port",
        |_dir| Held::variable("CMS_DATABASE_URL", "postgres://u:p@h:port/d"),
        error "settings", "`database_url` must be postgres://", "correct the setting"),
    broken!("a database that is a folder", |_dir| Held::variable("CMS_DATABASE_URL", "sqlite:///"),
        error "settings", "`database_url` must name a file", "correct the setting"),
    broken!("a mail server without a port",
        |_dir| Held::variable("CMS_MAIL__SMTP_URL", "smtp://u:p@h:99999"),
        error "settings", "`mail.smtp_url` must be smtp://", "correct the setting"),
    broken!("a time zone that is none", |_dir| Held::variable("CMS_TIMEZONE", "Europe/Nowhere"),
        error "settings", "timezone", "correct the setting"),
    broken!("two databases", |_dir| Held::variable("CMS_DATABASE_URL", "sqlite://data/cms.db")
        .and("CMS_DB_HOST", "db").and("CMS_DB_USER", "u").and("CMS_DB_DB", "d"),
        error "settings", "must not be set together", "correct the setting"),
    broken!("a mistyped variable", |_dir| Held::variable("CMS_LISEN", "x"),
        warning "variables", "CMS_LISEN", "correct or remove the variable"),
    broken!("no salt", |dir| secret(dir, "password_salt", ""),
        error "password_salt", "missing, and users", "from a backup"),
    broken!("another salt", |dir| secret(dir, "password_salt", "another"),
        error "password_salt", "changed: 1 of 1 users cannot log in",
        "put the old password_salt back"),
    broken!("no encryption key", |dir| secret(dir, "encryption_key", ""),
        error "encryption_key", "missing, and 1 sealed values", "from a backup"),
    broken!("another encryption key",
        |dir| secret(dir, "encryption_key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        error "encryption_key", "does not open 1 of 1 sealed values",
        "put the old encryption_key back"),
    broken!("an encryption key that is none", |dir| secret(dir, "encryption_key", "c2hvcnQ="),
        error "settings", "base64 of 32 bytes", "correct the setting"),
    // files
    broken!("secrets that others can read", |dir| mode(&dir.join("cms.local.toml"), 0o644),
        error "settings_files", "mode 0644", "chmod 600"),
    broken!("a data folder that others can read", |dir| mode(&dir.join("data"), 0o755),
        warning "files", "data has mode 0755", "chmod go="),
    broken!("a database that others can read", |dir| mode(&dir.join("data/cms.db"), 0o640),
        warning "files", "cms.db has mode 0640", "chmod go="),
    broken!("a database that all can read", |dir| mode(&dir.join("data/cms.db"), 0o644),
        warning "files", "cms.db has mode 0644", "chmod go="),
    broken!("a data folder that is none", |dir| {
        let url = format!("sqlite://{}/data/cms.db", dir.display());
        let database = Held::variable("CMS_DATABASE_URL", url);
        database.and("CMS_DIRS__DATA", "cms.toml")
    }, error "data_folder", "it is not a folder", "let dirs.data name a folder"),
    broken!("no data folder", |dir| {
        let url = format!("sqlite://{}/data/cms.db", dir.display());
        let database = Held::variable("CMS_DATABASE_URL", url);
        database.and("CMS_DIRS__DATA", "elsewhere")
    }, error "data_folder", "No such file", "mkdir -p -m 700"),
    broken!("no room", |_dir| Held::variable("CMS_DIRS__MEDIA", "/proc"),
        error "disk_space", "0 MiB are free in /proc", "make room"),
    // the machine
    broken!("few open files", |_dir| Held { open_files: Some(64), ..Held::default() },
        warning "open_files", "the limit of 64 leaves 16 connections", "LimitNOFILE=4128"),
    broken!("a port that another program has", |_dir| {
        let (listener, address) = taken();
        Held::variable("CMS_LISTEN", address).keeping(listener)
    }, error "listen", "in use", "end the other program"),
    broken!("an address of another machine", |_dir| Held::variable("CMS_LISTEN", "192.0.2.1:8080"),
        error "listen", "192.0.2.1:8080", "an address of this machine"),
    broken!("Redis away", |_dir| Held::variable("CMS_REDIS_URL", "redis://127.0.0.1:1/")
        .and("CMS_LIMITER__STORE", "redis"),
        error "redis", "refused", "start Redis"),
    broken!("a Redis that answers nothing", |_dir| {
        let (listener, address) = taken();
        Held::variable("CMS_REDIS_URL", format!("redis://{address}/"))
            .and("CMS_CACHE__STORE", "redis").keeping(listener)
    }, error "redis", "cannot be reached", "start Redis"),
    broken!("an address of Redis that is none",
        |_dir| Held::variable("CMS_REDIS_URL", "redis://:pa#ss@h")
            .and("CMS_LIMITER__STORE", "redis"),
        error "redis", "# as %23", "correct what the error names"),
    // Also a program with s3 cannot use it: the host would be pics.127.0.0.1.
    broken!("a bucket that the program cannot use",
        |_dir| Held::variable("CMS_MEDIA__BUCKET", "pics")
            .and("CMS_MEDIA__ENDPOINT", "http://127.0.0.1:9000")
            .and("CMS_MEDIA__PATH_STYLE", "false")
            .and("CMS_MEDIA__ACCESS_KEY", "aaaa")
            .and("CMS_MEDIA__SECRET_KEY", "secret"),
        error "media", "Please correct: media.", "built with s3"),
    // the database
    broken!("no database file", |dir| {
        fs::remove_file(dir.join("data/cms.db")).expect("removed");
        Held::default()
    }, error "database", "There is no database file", "put the file back"),
    broken!("a file that is no database",
        |dir| write(&dir.join("data/cms.db"), &"text ".repeat(9_999)),
        error "database", "file is not a database", RESTORE),
    broken!("half a database", |dir| bytes(dir, |file| file.truncate(file.len() / 2)),
        error "database", "malformed", RESTORE),
    broken!("a damaged page", |dir| bytes(dir, |file| {
        let last = file.len() - 4096;
        file[last..].fill(0xa5);
    }), error "database_intact", "", RESTORE),
    broken!("a server that is away",
        |_dir| Held::variable("CMS_DATABASE_URL", "postgres://127.0.0.1:1/d"),
        error "database", "onnection refused", "nothing listens at 127.0.0.1:1: start PostgreSQL"),
    broken!("an old schema", |dir| statement(dir,
        "delete from cms_migrations where version = (select max(version) from cms_migrations)"),
        error "migrations", "1 pending", "cms migrate up"),
    broken!("a newer schema", |dir| statement(dir,
        "insert into cms_migrations values (99, 'future', 'x', 0)"),
        error "database", "step 99", "or a newer one"),
    broken!("a copy that was broken off", |dir| statement(dir,
        "insert into cms_migrations values (1000000000, 'copying', 'x', 0)"),
        error "database", "a copy into this database is not complete", "cms db copy --resume"),
    broken!("a migration that was edited", |dir| statement(dir,
        "update cms_migrations set checksum = 'x' where version = 1"),
        error "database", "was edited", "the version of cms that made this schema"),
    broken!("a database that another program locks", |dir| {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let path = dir.join("data/cms.db");
        let locked = runtime.block_on(async {
            use sqlx::{ConnectOptions, Executor, sqlite::SqliteConnectOptions};
            let options = SqliteConnectOptions::new().filename(path);
            let mut connection = options.connect().await.expect("a database");
            connection.execute("begin immediate").await.expect("a lock");
            connection
        });
        Held::default().keeping((locked, runtime))
    }, error "database_writable", "locked", "end the program that keeps it locked"),
    broken!("a clock that was set back", |dir| statement(dir,
        "update cms_audit set created_at = created_at + 90000000 where id = 1"),
        error "database_clock", "in the future by this clock", "set the clocks"),
    // plugins
    broken!("a manifest that is no JSON", |dir| plugin(dir, "{"),
        error "plugin", "shop: line 1", "do what the message says"),
    broken!("a type that is none", |dir| plugin(dir,
        r#"{"id": "shop", "tables": [{"name": "t",
            "columns": [{"name": "x", "type": "string"}]}]}"#),
        error "plugin", "/tables/0/columns/0/type", "do what the message says"),
    broken!("a plugin in a folder of another name", |dir| plugin(dir, r#"{"id": "store"}"#),
        error "plugin", "the folder is named", "do what the message says"),
    broken!("tables that are not made", |dir| plugin(dir,
        r#"{"id": "shop", "tables": [{"name": "t", "columns": [{"name": "x", "type": "text"}]}]}"#),
        error "plugin", "cms migrate up", "`cms migrate up`"),
    broken!("a plugin that would lose data", |dir| change(&dir.join("plugins/notes/plugin.json"),
        r#"{"name": "text", "type": "text"}, "#, ""),
        error "plugin", "data would be lost", "do what the message says"),
    broken!("a plugin that was changed and not applied",
        |dir| change(&dir.join("plugins/notes/plugin.json"), "Notes", "Other"),
        warning "plugin", "not the one that was applied last", "`cms plugins apply notes`"),
    broken!("an adopted table that is not there", |dir| plugin(dir,
        r#"{"id": "shop", "tables": [{"name": "t", "adopt": true}]}"#),
        error "plugin", "no table \"t\" to adopt", "do what the message says"),
    broken!("a manifest that is a folder", |dir| {
        fs::create_dir_all(dir.join("plugins/shop/plugin.json")).expect("a folder");
        Held::default()
    }, error "plugin", "shop: plugin.json is no file", "do what the message says"),
    broken!("a manifest that leads nowhere", |dir| {
        fs::create_dir_all(dir.join("plugins/shop")).expect("a folder");
        symlink("nowhere", dir.join("plugins/shop/plugin.json")).expect("a link");
        Held::default()
    }, error "plugin", "shop: plugin.json: No such file", "do what the message says"),
    broken!("plugins that are no folder", |_dir| Held::variable("CMS_DIRS__PLUGINS", "cms.toml"),
        error "plugin", "the folder cannot be read", "do what the message says"),
    broken!("a plugin without a manifest", |dir| {
        fs::create_dir_all(dir.join("plugins/shop")).expect("a folder");
        Held::default()
    }, warning "plugin", "shop has no plugin.json", "add one"),
    // people
    broken!("nobody who may administer",
        |dir| statement(dir, "update cms_users set active = false"),
        warning "administrators", "nobody can log in", "cms init --admin"),
];

/// A site with an administrator, a webhook and a plugin, and nothing wrong.
pub(crate) fn sound() -> tempfile::TempDir {
    let dir = site();
    let at = dir.path();
    cms_with(at, "init --admin ana --password-stdin", PASSWORD).ok();
    cms(at, "webhooks create --name w --url https://hooks.example.org/x --event item.*").ok();
    // The last pages of the file hold what no start reads.
    let long = format!(r#"{{"name": "long", "value": "{}"}}"#, "x".repeat(20_000));
    cms_with(at, "items create settings -", &long).ok();
    dir
}

pub(crate) fn doctor(dir: &Path, held: &Held) -> Run {
    let mut plain = command(dir);
    plain.arg("doctor").envs(held.variables.iter().cloned());
    let Some(limit) = held.open_files else { return finish(plain, None) };
    let mut limited = Command::new("bash");
    limited
        .args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")])
        .arg(plain.get_program())
        .args(plain.get_args())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("PATH", std::env::var_os("PATH").expect("a path"))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    finish(limited, None)
}

/// State, name, finding and remedy of each check.
pub(crate) fn checks(run: &Run) -> Vec<[&str; 4]> {
    run.out
        .lines()
        .map(|line| {
            let cells: Vec<_> = line.split('\t').collect();
            cells.try_into().unwrap_or_else(|cells| panic!("{cells:?}"))
        })
        .collect()
}

#[test]
fn a_sound_site_is_found_sound() {
    let dir = sound();
    let before = content(dir.path());
    let run = doctor(dir.path(), &Held::default());
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(checks(&run).iter().all(|[state, ..]| *state == "ok"), "{run:?}");
    assert!(content(dir.path()) == before);

    // While it is served, its port is taken by itself.
    let served = Served::start(dir.path(), &[]);
    let address = served.url.trim_start_matches("http://");
    let run = doctor(dir.path(), &Held::variable("CMS_LISTEN", address));
    assert!(
        run.out.contains(&format!("ok\tlisten\t`cms serve` already runs at {address}")),
        "{run:?}"
    );
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn every_broken_site_is_named_with_its_remedy() {
    let sound = sound();
    let wrong: Vec<_> = SITES.iter().filter_map(|broken| judged(sound.path(), broken)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(SITES.len() >= 30);
}

/// Breaks a copy of the sound site; returns what doctor gets wrong.
fn judged(sound: &Path, broken: &Broken) -> Option<String> {
    let dir = tempfile::tempdir().expect("a folder");
    let copied = Command::new("cp").arg("-a").arg(sound.join(".")).arg(dir.path()).status();
    assert!(copied.expect("cp").success());
    let held = (broken.by)(dir.path());
    let before = content(dir.path());
    let run = doctor(dir.path(), &held);
    drop(held);
    let bad: Vec<_> = checks(&run).into_iter().filter(|[state, ..]| *state != "ok").collect();
    let names: BTreeSet<_> = bad.iter().map(|[state, name, ..]| (*state, *name)).collect();
    let said = |[_, _, found, remedy]: &[&str; 4]| {
        found.contains(broken.found) && remedy.contains(broken.remedy)
    };
    let what = if content(dir.path()) != before {
        "the site was changed"
    } else if run.code != i32::from(broken.says.0 == "error") {
        "the exit code is wrong"
    } else if names != BTreeSet::from([broken.says]) {
        "another check says so"
    } else if !bad.iter().any(said) {
        "the words are wrong"
    } else {
        return None;
    };
    Some(format!("{}: {what}: code {} {bad:?} {}", broken.how, run.code, run.err))
}
