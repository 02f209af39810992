//! The broken sites. The list is long because each is told with its three doors and its remedy.

use std::{
    any::Any,
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
};

use super::{Case, Cure, Ready, World};
use crate::{
    doctor::{mode, plugin, secret, statement, taken, write},
    mail::Sink,
    support::{PASSWORD, cms},
    untouched::sql,
};

pub(super) const CASES: &[Case] = &[
    Case {
        how: "cms.toml is gone",
        by: |dir, _| fs::remove_file(dir.join("cms.toml")).expect("removed"),
        check: "site_file",
        level: "warning",
        status: true,
        ready: Ready::Names("warning"),
        cure: Cure::Printed(0),
    },
    Case {
        how: "others can read cms.local.toml",
        by: |dir, _| drop(mode(&dir.join("cms.local.toml"), 0o644)),
        check: "settings_files",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::Printed(0),
    },
    Case {
        how: "a secret in a cms.toml that others can read",
        by: |dir, _| {
            let path = dir.join("cms.toml");
            let text = fs::read_to_string(&path).expect("text");
            write(&path, &format!("update_password = \"sesame\"\n{text}"));
            mode(&path, 0o644);
        },
        check: "settings_files",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::Printed(0),
    },
    Case {
        how: "others can read the data",
        by: |dir, _| drop(mode(&dir.join("data"), 0o755)),
        check: "files",
        level: "warning",
        status: true,
        ready: Ready::Names("warning"),
        cure: Cure::Printed(0),
    },
    Case {
        how: "no data folder",
        by: |dir, world| {
            world.set("CMS_DATABASE_URL", format!("sqlite://{}/data/cms.db", dir.display()));
            world.set("CMS_DIRS__DATA", "elsewhere");
        },
        check: "data_folder",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::Printed(0),
    },
    Case {
        how: "a disk without room",
        by: |_, world| world.set("CMS_DIRS__MEDIA", "/proc"),
        check: "disk_space",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("dirs.media name a larger disk", |_, world| {
            world.set("CMS_DIRS__MEDIA", "media");
        }),
    },
    Case {
        how: "a misspelt variable",
        by: |_, world| world.set("CMS_LISEN", "x"),
        check: "variables",
        level: "warning",
        status: true,
        ready: Ready::Names("warning"),
        cure: Cure::By("remove the variable", |_, world| {
            world.variables.remove("CMS_LISEN");
        }),
    },
    Case {
        how: "a port that another program has",
        by: |_, world| {
            let (listener, address) = taken();
            world.set("CMS_LISTEN", address);
            world.kept.push(Box::new(listener));
        },
        check: "listen",
        level: "error",
        status: false,
        ready: Ready::Ends,
        cure: Cure::By("end the other program", |_, world| world.kept.clear()),
    },
    Case {
        how: "Redis is away",
        by: |_, world| {
            world.set("CMS_REDIS_URL", "redis://127.0.0.1:1/");
            world.set("CMS_LIMITER__STORE", "redis");
        },
        check: "redis",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("start Redis or correct redis_url", |_, world| {
            let listener = redis(world);
            world.kept.push(Box::new(listener));
        }),
    },
    Case {
        how: "the file of the database is gone",
        by: |dir, world| moved(dir, world, "data/cms.db"),
        check: "database",
        level: "error",
        status: true,
        // A start makes a new site: whoever sees that puts the file back.
        ready: Ready::Well,
        cure: Cure::By("put the file back", put_back),
    },
    Case {
        how: "a file that is no database",
        by: |dir, world| {
            moved(dir, world, "data/cms.db");
            write(&dir.join("data/cms.db"), &"text ".repeat(9_999));
            mode(&dir.join("data/cms.db"), 0o600);
        },
        check: "database",
        level: "error",
        status: true,
        ready: Ready::Ends,
        cure: Cure::By("restore the database from a backup", put_back),
    },
    Case {
        how: "steps of the schema are missing",
        by: |dir, world| {
            world.set("CMS_MIGRATE", "false");
            moved(dir, world, "data/cms.db");
            fs::write(dir.join("data/cms.db"), "").expect("written");
            mode(&dir.join("data/cms.db"), 0o600);
            sql(dir, "create table other_software (id integer)");
        },
        check: "migrations",
        level: "error",
        status: true,
        ready: Ready::Ends,
        cure: Cure::By("`cms migrate up`", |dir, world| {
            world.types(dir, "cms migrate up", None).ok();
            // Nobody is in the new database.
            world.types(dir, "cms init --admin ana --password-stdin", Some(PASSWORD)).ok();
        }),
    },
    Case {
        how: "a database that another program keeps locked",
        by: |dir, world| world.kept.push(Box::new(locked(dir))),
        check: "database_writable",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("end the program that keeps it locked", |_, world| world.kept.clear()),
    },
    Case {
        how: "another encryption key",
        by: |dir, _| drop(secret(dir, "encryption_key", OTHER_KEY)),
        check: "encryption_key",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("put the old encryption_key back", |dir, world| {
            copy_back(dir, world, "cms.local.toml");
        }),
    },
    Case {
        how: "an encryption key that is lost for good",
        by: |dir, _| drop(secret(dir, "encryption_key", OTHER_KEY)),
        check: "encryption_key",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("`cms webhooks rotate-secret ID --yes` for each webhook", |dir, world| {
            world.types(dir, "cms webhooks rotate-secret 1 --yes", None).ok();
        }),
    },
    Case {
        how: "no encryption key, and values that need it",
        by: |dir, _| drop(secret(dir, "encryption_key", "")),
        check: "encryption_key",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("put encryption_key back into cms.local.toml", |dir, world| {
            cms(dir, &["init"]).fails(6);
            copy_back(dir, world, "cms.local.toml");
        }),
    },
    Case {
        how: "no encryption key, and nothing that needs it",
        by: |dir, _| {
            cms(dir, &["webhooks", "delete", "1", "--yes"]).ok();
            secret(dir, "encryption_key", "");
        },
        check: "encryption_key",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::Printed(0),
    },
    Case {
        how: "another salt",
        by: |dir, _| drop(secret(dir, "password_salt", "another")),
        check: "password_salt",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("`cms users passwd NAME` for each user", |dir, world| {
            world.types(dir, "cms users passwd ana --password-stdin", Some(PASSWORD)).ok();
        }),
    },
    Case {
        how: "no salt",
        by: |dir, _| drop(secret(dir, "password_salt", "")),
        check: "password_salt",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("put password_salt back into cms.local.toml", |dir, world| {
            copy_back(dir, world, "cms.local.toml");
        }),
    },
    Case {
        how: "nobody who may administer",
        by: |dir, _| drop(statement(dir, "update cms_users set active = false")),
        check: "administrators",
        level: "warning",
        status: true,
        ready: Ready::Names("warning"),
        cure: Cure::By("`cms init --admin NAME`", |dir, world| {
            let line = "cms init --admin bob --password-stdin";
            world.types(dir, line, Some(PASSWORD)).ok();
        }),
    },
    Case {
        how: "a plugin with a fault",
        by: |dir, _| drop(plugin(dir, "{")),
        check: "plugin",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::Both(
            "do what the message says in",
            |dir, _| drop(plugin(dir, r#"{"id": "shop"}"#)),
            0,
        ),
    },
    Case {
        how: "a plugin whose tables are not made",
        by: |dir, _| {
            let columns = r#"[{"name": "x", "type": "text"}]"#;
            let tables = format!(r#"[{{"name": "t", "columns": {columns}}}]"#);
            plugin(dir, &format!(r#"{{"id": "shop", "tables": {tables}}}"#));
        },
        check: "plugin",
        level: "error",
        status: true,
        ready: Ready::Well,
        cure: Cure::Printed(0),
    },
    Case {
        how: "a folder of a plugin is gone, and comes back",
        by: |dir, world| moved(dir, world, "plugins/notes"),
        check: "plugin_folders",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::Both("put the folder back", put_back, 0),
    },
    Case {
        how: "a folder of a plugin is gone, and is to go",
        by: |dir, world| moved(dir, world, "plugins/notes"),
        check: "plugin_folders",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::Printed(1),
    },
    Case {
        how: "a folder without a manifest",
        by: |dir, _| fs::create_dir_all(dir.join("plugins/shop")).expect("a folder"),
        check: "plugin",
        level: "warning",
        status: true,
        ready: Ready::Names("warning"),
        cure: Cure::By("move the folder elsewhere", |dir, _| {
            fs::rename(dir.join("plugins/shop"), dir.join("shop")).expect("moved");
        }),
    },
    Case {
        how: "no interpreter for a plugin's scripts",
        by: |dir, world| {
            script(dir, "exit 0");
            let button = r#"{"button_id": "sync", "type": "script", "script": "sync.php"}"#;
            plugin(dir, &format!(r#"{{"id": "shop", "content_button": [{button}]}}"#));
            world.run(dir, &["plugins", "apply", "shop"]).ok();
            world.set("CMS_SCRIPTS__INTERPRETER", "/no/such/php");
        },
        check: "interpreter",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("set scripts.interpreter to the path of one", |_, world| {
            world.set("CMS_SCRIPTS__INTERPRETER", "/bin/sh");
        }),
    },
    Case {
        how: "a task whose latest run failed",
        by: |dir, world| {
            task(dir, world, "exit 1");
            world.run(dir, &["tasks", "run", "sync"]).fails(1);
        },
        check: "tasks",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::Both("mend what it says", |dir, _| script(dir, "exit 0"), 0),
    },
    Case {
        how: "a webhook that was switched off",
        by: |dir, _| {
            sql(dir, "delete from cms_webhook_queue");
            let off = "update cms_webhook_subscriptions set active = false, failure_count = 10, \
                       disabled_reason = '10 failures in a row'";
            sql(dir, off);
        },
        check: "webhooks",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::Both("mend its receiver", |_, _| (), 0),
    },
    Case {
        how: "jobs that are held",
        by: |dir, _| drop(cms(dir, &["webhooks", "pause", "1"]).ok()),
        check: "queue",
        level: "warning",
        status: true,
        ready: Ready::Names("warning"),
        cure: Cure::By("`cms webhooks activate ID` sends what is held", |dir, world| {
            world.types(dir, "cms queue list --status held", None).ok();
            world.types(dir, "cms webhooks activate 1", None).ok();
        }),
    },
    Case {
        how: "jobs that nobody delivers",
        by: |dir, world| {
            receiver(dir, world);
            sql(dir, "update cms_webhook_queue set next_retry_at = 1");
        },
        check: "queue",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::Printed(0),
    },
    Case {
        how: "jobs that were given up",
        by: |dir, _| {
            sql(dir, "update cms_webhook_queue set status = 'failed', settled_at = created_at");
        },
        check: "queue",
        level: "warning",
        status: true,
        ready: Ready::Names("warning"),
        cure: Cure::Printed(2),
    },
    Case {
        how: "mails without a sender",
        by: |_, world| world.set("CMS_MAIL__SMTP_URL", "smtp://127.0.0.1:9"),
        check: "mail",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("set mail.from", |_, world| {
            world.set("CMS_MAIL__FROM", "shop@example.org");
        }),
    },
    Case {
        how: "a mail provider that rests",
        by: |dir, world| {
            world.set("CMS_MAIL__FROM", "shop@example.org");
            world.set("CMS_MAIL__SMTP_URL", "smtp://127.0.0.1:1");
            for _ in 0..5 {
                let test = ["mail", "test", "ana@example.org", "--provider", "smtp"];
                assert_ne!(world.run(dir, &test).code, 0);
            }
            // They are given up; their number is another case.
            sql(dir, "delete from cms_mails");
        },
        check: "mail",
        level: "error",
        status: true,
        ready: Ready::Names("error"),
        cure: Cure::By("`cms mail test ADDRESS --provider smtp` tries it", |dir, world| {
            let sink = Sink::start(dir, &[]);
            world.set("CMS_MAIL__SMTP_URL", sink.url.clone());
            world.kept.push(Box::new(sink));
            let line = "cms mail test ana@example.org --provider smtp";
            world.types(dir, line, None).ok();
        }),
    },
    Case {
        how: "mails that were given up",
        by: |dir, world| {
            world.set("CMS_MAIL__FROM", "shop@example.org");
            world.set("CMS_MAIL__SMTP_URL", "smtp://127.0.0.1:1");
            assert_ne!(world.run(dir, &["mail", "test", "ana@example.org"]).code, 0);
            sql(dir, "update cms_mails set status = 'failed', settled_at = created_at");
            sql(dir, "delete from cms_mail_providers");
        },
        check: "mail",
        level: "warning",
        status: true,
        ready: Ready::Names("warning"),
        cure: Cure::Printed(1),
    },
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

fn copy_back(dir: &Path, world: &World, file: &str) {
    let sound = world.sound.as_ref().expect("a site");
    fs::copy(sound.path().join(file), dir.join(file)).expect("copied");
}

/// A plugin with a task that runs this shell script.
fn task(dir: &Path, world: &mut World, text: &str) {
    world.set("CMS_SCRIPTS__INTERPRETER", "/bin/sh");
    let task = r#"{"name": "sync", "interval_s": 31536000, "script": "sync.php"}"#;
    script(dir, text);
    plugin(dir, &format!(r#"{{"id": "shop", "tasks": [{task}]}}"#));
    world.run(dir, &["migrate", "up"]).ok();
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

/// A server that answers as Redis does to those who only greet it.
fn redis(world: &mut World) -> TcpListener {
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
                    let word = if asked.contains("PING") { "+PONG\r\n" } else { "+OK\r\n" };
                    if stream.write_all(word.repeat(commands).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    listener
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
