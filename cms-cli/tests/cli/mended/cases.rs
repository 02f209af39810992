//! The broken sites. The list is long because each is told with its three doors and its remedy.

use std::{
    any::Any,
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
};

use super::{Case, Cure, Ready, World, error, warning};
use crate::{
    doctor::{change, mode, plugin, secret, statement, taken, write},
    mail::Sink,
    support::{PASSWORD, cms},
    untouched::sql,
};

/// A case in few lines: who says it, the check, how the site is broken, the cure.
macro_rules! broken {
    ($level:ident $check:literal, $how:literal, $by:expr, $cure:expr) => {
        $level($how, $check, $by, $cure)
    };
}

pub(super) const CASES: &[Case] = &[
    broken!(warning "site_file", "cms.toml is gone",
        |dir, _| fs::remove_file(dir.join("cms.toml")).expect("removed"), Cure::Printed(0)),
    broken!(error "settings_files", "others can read cms.local.toml",
        |dir, _| drop(mode(&dir.join("cms.local.toml"), 0o644)), Cure::Printed(0)),
    broken!(error "settings_files", "a secret in a cms.toml that others can read", |dir, _| {
        let path = dir.join("cms.toml");
        let text = fs::read_to_string(&path).expect("text");
        write(&path, &format!("update_password = \"sesame\"\n{text}"));
        mode(&path, 0o644);
    }, Cure::Printed(0)),
    broken!(warning "files", "others can read the data",
        |dir, _| drop(mode(&dir.join("data"), 0o755)), Cure::Printed(0)),
    broken!(error "data_folder", "no data folder", |dir, world| {
        world.set("CMS_DATABASE_URL", format!("sqlite://{}/data/cms.db", dir.display()));
        world.set("CMS_DIRS__DATA", "elsewhere");
    }, Cure::Printed(0)),
    broken!(error "disk_space", "a disk without room",
        |_, world| world.set("CMS_DIRS__MEDIA", "/proc"),
        Cure::By("dirs.media name a larger disk",
            |_, world| world.set("CMS_DIRS__MEDIA", "media"))),
    broken!(warning "variables", "a misspelt variable", |_, world| world.set("CMS_LISEN", "x"),
        Cure::By("remove the variable", |_, world| drop(world.variables.remove("CMS_LISEN")))),
    broken!(error "listen", "a port that another program has", |_, world| {
        let (listener, address) = taken();
        world.set("CMS_LISTEN", address);
        world.kept.push(Box::new(listener));
    }, Cure::By("end the other program", |_, world| world.kept.clear()))
    .ready(Ready::Ends)
    .without_status(),
    broken!(error "redis", "Redis is away", |_, world| {
        world.set("CMS_REDIS_URL", "redis://127.0.0.1:1/");
        world.set("CMS_LIMITER__STORE", "redis");
    }, Cure::By("start Redis or correct redis_url", redis)),
    // A start makes a new site: whoever sees that puts the file back.
    broken!(error "database", "the file of the database is gone",
        |dir, world| moved(dir, world, "data/cms.db"),
        Cure::By("put the file back", put_back))
    .ready(Ready::Well),
    broken!(error "database", "a file that is no database", |dir, world| {
        moved(dir, world, "data/cms.db");
        write(&dir.join("data/cms.db"), &"text ".repeat(9_999));
        mode(&dir.join("data/cms.db"), 0o600);
    }, Cure::By("restore the database from a backup", put_back))
    .ready(Ready::Ends),
    broken!(error "migrations", "steps of the schema are missing", |dir, world| {
        world.set("CMS_MIGRATE", "false");
        moved(dir, world, "data/cms.db");
        fs::write(dir.join("data/cms.db"), "").expect("written");
        mode(&dir.join("data/cms.db"), 0o600);
        sql(dir, "create table other_software (id integer)");
    }, Cure::By("`cms migrate up`", |dir, world| {
        world.types(dir, "cms migrate up", None).ok();
        // Nobody is in the new database.
        world.types(dir, "cms init --admin ana --password-stdin", Some(PASSWORD)).ok();
    }))
    .ready(Ready::Ends),
    broken!(error "database_writable", "a database that another program keeps locked",
        |dir, world| world.kept.push(Box::new(locked(dir))),
        Cure::By("end the program that keeps it locked", |_, world| world.kept.clear())),
    broken!(error "encryption_key", "another encryption key",
        |dir, _| drop(secret(dir, "encryption_key", OTHER_KEY)),
        Cure::By("put the old encryption_key back", local_back)),
    broken!(error "encryption_key", "an encryption key that is lost for good",
        |dir, _| drop(secret(dir, "encryption_key", OTHER_KEY)),
        Cure::By("`cms webhooks rotate-secret ID --yes` for each webhook",
            |dir, world| drop(world.types(dir, "cms webhooks rotate-secret 1 --yes", None).ok()))),
    broken!(error "encryption_key", "no encryption key, and values that need it", |dir, _| {
        secret(dir, "encryption_key", "");
    }, Cure::By("put encryption_key back into cms.local.toml", |dir, world| {
        cms(dir, "init").fails(6);
        local_back(dir, world);
    })),
    broken!(error "encryption_key", "no encryption key, and nothing that needs it", |dir, _| {
        cms(dir, "webhooks delete 1 --yes").ok();
        secret(dir, "encryption_key", "");
    }, Cure::Printed(0)),
    broken!(error "password_salt", "another salt", |dir, _| {
        secret(dir, "password_salt", "another");
    }, Cure::By("`cms users passwd NAME` for each user", |dir, world| {
        world.types(dir, "cms users passwd ana --password-stdin", Some(PASSWORD)).ok();
    })),
    broken!(error "password_salt", "no salt", |dir, _| drop(secret(dir, "password_salt", "")),
        Cure::By("put password_salt back into cms.local.toml", local_back)),
    broken!(warning "administrators", "nobody who may administer", |dir, _| {
        statement(dir, "update cms_users set active = false");
    }, Cure::By("`cms init --admin NAME`", |dir, world| {
        let line = "cms init --admin bob --password-stdin";
        world.types(dir, line, Some(PASSWORD)).ok();
    })),
    broken!(error "plugin", "a plugin with a fault", |dir, _| drop(plugin(dir, "{")),
        Cure::Both("do what the message says in",
            |dir, _| drop(plugin(dir, r#"{"id": "shop"}"#)), 0)),
    broken!(error "plugin", "a plugin whose tables are not made", |dir, _| {
        let columns = r#"[{"name": "x", "type": "text"}]"#;
        let tables = format!(r#"[{{"name": "t", "columns": {columns}}}]"#);
        plugin(dir, &format!(r#"{{"id": "shop", "tables": {tables}}}"#));
    }, Cure::Printed(0))
    .ready(Ready::Well),
    // A start takes it into service.
    broken!(warning "plugin", "a plugin that was changed and not applied",
        |dir, _| drop(change(&dir.join("plugins/notes/plugin.json"), "Notes", "Other")),
        Cure::Printed(0))
    .ready(Ready::Well),
    broken!(error "plugin_folders", "a folder of a plugin is gone, and comes back",
        |dir, world| moved(dir, world, "plugins/notes"),
        Cure::Both("put the folder back", put_back, 0)),
    broken!(error "plugin_folders", "a folder of a plugin is gone, and is to go",
        |dir, world| moved(dir, world, "plugins/notes"), Cure::Printed(1)),
    broken!(warning "plugin", "a folder without a manifest",
        |dir, _| fs::create_dir_all(dir.join("plugins/shop")).expect("a folder"),
        Cure::By("move the folder elsewhere",
            |dir, _| fs::rename(dir.join("plugins/shop"), dir.join("shop")).expect("moved"))),
    broken!(error "interpreter", "no interpreter for a plugin's scripts", |dir, world| {
        script(dir, "exit 0");
        let button = r#"{"button_id": "sync", "type": "script", "script": "sync.php"}"#;
        plugin(dir, &format!(r#"{{"id": "shop", "content_button": [{button}]}}"#));
        world.run(dir, "plugins apply shop").ok();
        world.set("CMS_SCRIPTS__INTERPRETER", "/no/such/php");
    }, Cure::By("set scripts.interpreter to the path of one",
        |_, world| world.set("CMS_SCRIPTS__INTERPRETER", "/bin/sh"))),
    broken!(error "tasks", "a task whose latest run failed", |dir, world| {
        task(dir, world, "exit 1");
        world.run(dir, "tasks run sync").fails(1);
    }, Cure::Both("mend what it says", |dir, _| script(dir, "exit 0"), 0)),
    broken!(error "webhooks", "a webhook that was switched off", |dir, _| {
        sql(dir, "delete from cms_webhook_queue");
        let off = "update cms_webhook_subscriptions set active = false, failure_count = 10, \
                   disabled_reason = '10 failures in a row'";
        sql(dir, off);
    }, Cure::Both("mend its receiver", |_, _| (), 0)),
    broken!(warning "queue", "jobs that are held", |dir, _| {
        cms(dir, "webhooks pause 1").ok();
    }, Cure::By("`cms webhooks activate ID` sends what is held", |dir, world| {
        world.types(dir, "cms queue list --status held", None).ok();
        world.types(dir, "cms webhooks activate 1", None).ok();
    })),
    broken!(error "queue", "jobs that nobody delivers", |dir, world| {
        receiver(dir, world);
        sql(dir, "update cms_webhook_queue set next_retry_at = 1");
    }, Cure::Printed(0)),
    broken!(warning "queue", "jobs that were given up", |dir, _| {
        sql(dir, "update cms_webhook_queue set status = 'failed', settled_at = created_at");
    }, Cure::Printed(2)),
    broken!(error "mail", "mails without a sender",
        |_, world| world.set("CMS_MAIL__SMTP_URL", "smtp://127.0.0.1:9"),
        Cure::By("set mail.from", |_, world| world.set("CMS_MAIL__FROM", "shop@example.org"))),
    broken!(error "mail", "a mail provider that rests", |dir, world| {
        world.set("CMS_MAIL__FROM", "shop@example.org");
        world.set("CMS_MAIL__SMTP_URL", "smtp://127.0.0.1:1");
        for _ in 0..5 {
            let test = ["mail", "test", "ana@example.org", "--provider", "smtp"];
            assert_ne!(world.run(dir, &test).code, 0);
        }
        // They are given up; their number is another case.
        sql(dir, "delete from cms_mails");
    }, Cure::By("`cms mail test ADDRESS --provider smtp` tries it", |dir, world| {
        let sink = Sink::start(dir, &[]);
        world.set("CMS_MAIL__SMTP_URL", sink.url.clone());
        world.kept.push(Box::new(sink));
        let line = "cms mail test ana@example.org --provider smtp";
        world.types(dir, line, None).ok();
    })),
    broken!(warning "mail", "mails that were given up", |dir, world| {
        world.set("CMS_MAIL__FROM", "shop@example.org");
        world.set("CMS_MAIL__SMTP_URL", "smtp://127.0.0.1:1");
        assert_ne!(world.run(dir, "mail test ana@example.org").code, 0);
        sql(dir, "update cms_mails set status = 'failed', settled_at = created_at");
        sql(dir, "delete from cms_mail_providers");
    }, Cure::Printed(1)),
];

const OTHER_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Takes something of the site away.
fn moved(dir: &Path, _: &mut World, what: &str) {
    fs::rename(dir.join(what), dir.join("config").join("away")).expect("moved");
    fs::write(dir.join("config/where"), what).expect("written");
}

fn put_back(dir: &Path, _: &mut World) {
    let path = dir.join(fs::read_to_string(dir.join("config/where")).expect("moved before"));
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", path.display()));
    }
    fs::rename(dir.join("config/away"), path).expect("put back");
}

/// The local settings as they were.
fn local_back(dir: &Path, world: &mut World) {
    let sound = world.sound.as_ref().expect("a site").path().join("cms.local.toml");
    fs::copy(sound, dir.join("cms.local.toml")).expect("copied");
}

/// A plugin with a task that runs this shell script.
fn task(dir: &Path, world: &mut World, text: &str) {
    world.set("CMS_SCRIPTS__INTERPRETER", "/bin/sh");
    let task = r#"{"name": "sync", "interval_s": 31536000, "script": "sync.php"}"#;
    script(dir, text);
    plugin(dir, &format!(r#"{{"id": "shop", "tasks": [{task}]}}"#));
    world.run(dir, "migrate up").ok();
}

fn script(dir: &Path, text: &str) {
    write(&dir.join("plugins/shop/script/sync.php"), text);
}

/// A receiver on this machine that takes everything.
fn receiver(dir: &Path, world: &mut World) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 16_384]);
            let reply = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    world.set("CMS_WEBHOOKS__ALLOW_HTTP", "true");
    world.set("CMS_WEBHOOKS__ALLOW_CIDRS", "127.0.0.0/8");
    let url = format!("http://{address}/x");
    world.run(dir, &["webhooks", "edit", "1", "--url", &url]).ok();
}

/// A server that answers as Redis does.
fn redis(_: &Path, world: &mut World) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    world.set("CMS_REDIS_URL", format!("redis://{}/", listener.local_addr().expect("an address")));
    let heard = listener.try_clone().expect("a listener");
    std::thread::spawn(move || {
        for stream in heard.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut heard = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut heard) {
                    let asked = String::from_utf8_lossy(&heard[..n]);
                    let commands = asked.matches('*').count().max(1);
                    // A bucket with a token, or what suits any other command.
                    let word = match asked.contains("EVALSHA") {
                        true => "*2\r\n$1\r\n1\r\n$1\r\n9\r\n",
                        false => "+OK\r\n",
                    };
                    if stream.write_all(word.repeat(commands).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    world.kept.push(Box::new(listener));
}

/// SQLite's file, locked until this is dropped.
fn locked(dir: &Path) -> impl Any {
    use sqlx::{ConnectOptions, Executor, sqlite::SqliteConnectOptions};
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let connection = runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(dir.join("data/cms.db"));
        let mut connection = options.connect().await.expect("a database");
        connection.execute("begin immediate").await.expect("a lock");
        connection
    });
    (connection, runtime)
}
