//! `cms users`, `groups`, `auth`, `init --admin`, and what `doctor` finds about them.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::{
    support::{PASSWORD, Served, at_terminal, cms, cms_with, first_login, has, site, site_of_ana},
    untouched::sql,
};

#[test]
fn the_first_administrator_is_made_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = dir.path();
    cms(at, "init --admin ana").fails(2);
    assert!(!at.join("cms.toml").exists(), "nothing is made when the password is missing");
    let init = |password: &str| cms_with(at, "init --admin ana --password-stdin", password);
    init("short").fails(1);
    let first = init(PASSWORD);
    assert!(
        first.err.contains("made  the administrator ana") && first.err.contains("cms login --url"),
        "{first:?}"
    );
    assert!(!first.err.contains(PASSWORD));
    let again = init("another password");
    assert!(again.code == 0 && again.err.contains("kept  the administrator ana"), "{again:?}");
    let users = cms(at, "users list --json").json();
    assert_eq!(users["data"].as_array().map(Vec::len), Some(1), "{users}");
    assert_eq!(users["data"][0]["groups"][0]["name"], "admins");
    assert_eq!(cms(at, "groups rights admins").ok(), "everything\n");

    let server = Served::start(at, &[]);
    let url = &server.url;
    let login = format!("login --url {url} --username ana --password-stdin --code-stdin");
    cms_with(at, &login, "another password\n000000\n").fails(4);
    first_login(at, &["--url", &server.url]).1.ok();

    cms(at, "groups create editors").ok();
    cms_with(at, "users create bob --group editors --password-stdin", PASSWORD).ok();
    cms_with(at, "init --admin bob --password-stdin", PASSWORD)
        .fails(6)
        .tells("cms users edit bob");
}

#[test]
fn a_user_from_making_to_deleting() {
    let dir = site_of_ana();
    let run = |args: &str| cms(dir.path(), args);
    let with = |args: &str, password: &str| cms_with(dir.path(), args, password);
    run("groups create editors --right pages_pages_view").ok();
    let create = "users create bob --group editors --inactive --password-stdin --json";
    let made = with(create, "a long password").json();
    has(&made["data"], [("/active", false.into()), ("/groups/0/name", "editors".into())]);
    assert!(!made.to_string().contains("password"), "{made}");
    with(create, "a long password").fails(6);
    with("users create eve --group nobodies --password-stdin", "a long password")
        .fails(5)
        .tells("cms groups list");
    run("users create eve --group editors").fails(2);
    with("users create eve --group editors --password-stdin", "").fails(2);

    assert!(run("users list").ok().contains("2\tbob\tfalse\teditors\tfalse\t0\t\n"));
    assert_eq!(run("users enable BOB --json").json()["data"]["active"], true);
    let edited = run("users edit bob --rename bert --group 1 --group editors --json").json();
    let names = [("/groups/0/name", "admins".into()), ("/groups/1/name", "editors".into())];
    has(&edited["data"], names);
    assert_eq!(edited["data"]["groups"].as_array().map(Vec::len), Some(2), "{edited}");
    assert_eq!(edited["data"]["username"], "bert");
    run("users edit bert").fails(2);
    with("users passwd 2 --password-stdin", "one more password").ok();
    run("users show bob").fails(5).tells("cms users list");
    assert_eq!(run("users sessions bert").ok(), "");
    run("users sessions bert --revoke").ok();
    run("users sessions bert --revoke 7").fails(5);

    assert_eq!(run("users 2fa-codes bert --yes").ok().lines().count(), 8);
    assert!(run("users 2fa-status bert").ok().contains("recovery_codes\t8\n"));
    run("users 2fa-reset bert --yes").ok();
    assert!(run("users 2fa-status bert").ok().contains("recovery_codes\t0\n"));
    for verb in ["2fa-codes", "2fa-reset", "delete"] {
        run(&format!("users {verb} bert")).fails(2);
    }
    for verb in ["2fa-codes", "2fa-reset"] {
        run(&format!("users {verb} bert --yes --url http://127.0.0.1:1")).fails(2).tells("folder");
    }
    run("users delete bert --yes").ok();
    run("users delete bert --yes").fails(5);
    for args in ["users delete ana --yes", "users disable ana", "users edit ana --group editors"] {
        assert!(run(args).fails(6).err.contains("last administrator"), "{args:?}");
    }
}

#[test]
fn rights_of_a_group() {
    let dir = site_of_ana();
    let run = |args: &str| cms(dir.path(), args);
    run("groups create editors --right pages_pages_view --right media_media_view").ok();
    let change = "groups rights Editors --grant pages_pages_edit --revoke media_media_view";
    assert_eq!(run(change).ok(), "pages_pages_edit\npages_pages_view\n");
    assert_eq!(run("groups rights 2").ok(), "pages_pages_edit\npages_pages_view\n");
    run("groups rights editors --grant nonsense").fails(1);
    run("groups rights admins --grant pages_pages_view").fails(1);
    run("groups create x --right pages_pages_view --admin").fails(2);
    run("groups create EDITORS").fails(6);
    assert_eq!(run("groups rename editors writers --json").json()["data"]["name"], "writers");
    assert_eq!(
        run("groups list").ok(),
        "1\tadmins\t1\teverything\n2\twriters\t0\tpages_pages_edit pages_pages_view\n"
    );
    run("groups show editors").fails(5);
    run("groups delete admins --yes").fails(6);
    let question = "Delete 1 group: 2 (writers)?";
    run("groups delete 2").fails(2).tells(question);
    let left = at_terminal(dir.path(), "groups delete 2", &[], "n\n").fails(3);
    assert!(left.out.contains(question), "{left:?}");
    run("groups delete writers --yes").tells("1 group deleted: writers").ok();
}

#[test]
fn wrong_logins_are_listed_forgotten_and_logged() {
    let dir = site_of_ana();
    let at = dir.path();
    cms_with(at, "items create notes -", r#"{"text": "a"}"#).ok();
    cms(at, "keys create --name k").ok();
    let server = Served::start(at, &[]);
    let url = &server.url;
    let login = format!("login --url {url} --username ana --password-stdin --code-stdin");
    for _ in 0..2 {
        cms_with(at, &login, "wrong horse\n000000\n").fails(4);
    }
    let attempts = cms(at, "auth attempts --json").json();
    has(&attempts["data"][0], [("/network", "127.0.0.1".into()), ("/attempts", 2.into())]);
    cms(at, "auth clear --address 127.0.0.1").ok();
    assert_eq!(cms(at, "auth attempts").ok(), "");
    cms(at, "auth clear --address here").fails(2);

    let tables = |args: &str| -> Vec<String> {
        let log = cms(at, args).json();
        log["data"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| row["table"].as_str().expect("a table").to_owned())
            .collect()
    };
    assert_eq!(tables("auth audit --json"), ["loginattempts", "api_keys", "users", "user_groups"]);
    assert_eq!(tables("auth audit --json --limit 1"), ["loginattempts"]);
    assert_eq!(tables("audit list --table notes,user --json"), ["notes", "notes"]);
    assert!(
        cms(at, "auth audit")
            .ok()
            .contains("\toperator\tcreate\tusers\t1\tusername password groups active\n")
    );
}

fn local(at: &Path) -> String {
    fs::read_to_string(at.join("cms.local.toml")).expect("local")
}

#[test]
fn a_refused_init_leaves_the_schema_as_it_is() {
    let dir = site_of_ana();
    let at = dir.path();
    fs::remove_file(at.join("cms.local.toml")).expect("removed");
    sql(at, "delete from cms_migrations where version = (select max(version) from cms_migrations)");
    cms(at, "init").fails(6).tells("password_salt").tells("cms migrate up");
    assert!(cms(at, "migrate status").ok().contains("pending"));
    assert!(!at.join("cms.local.toml").exists());

    // An empty database depends on nothing, and init reports the schema that it makes there.
    let empty = tempfile::tempdir().expect("a folder");
    fs::create_dir(empty.path().join("data")).expect("a folder");
    fs::write(empty.path().join("data/cms.db"), "").expect("written");
    let made = cms(empty.path(), "init");
    assert!(made.code == 0 && made.err.contains("made  the schema of the database"), "{made:?}");
}

#[test]
fn a_used_salt_is_not_replaced() {
    let dir = site();
    let at = dir.path();
    cms(at, "doctor").shows("warning\tadministrators\t").shows("cms init --admin");
    cms_with(at, "init --admin ana --password-stdin", PASSWORD).ok();
    cms(at, "doctor").shows("ok\tpassword_salt\t").shows("ok\tadministrators\t1");

    let good = local(at);
    let without: String = good
        .lines()
        .filter(|line| !line.starts_with("password_salt"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(at.join("cms.local.toml"), &without).expect("written");
    cms(at, "init").fails(6).tells("password_salt");
    assert_eq!(local(at), without);
    fs::remove_file(at.join("cms.local.toml")).expect("removed");
    cms(at, "init").fails(6);
    assert!(!at.join("cms.local.toml").exists());
    let salt = good.lines().find(|line| line.starts_with("password_salt")).expect("a salt");
    let key = good.lines().find(|line| line.starts_with("encryption_key")).expect("a key");
    fs::write(at.join("cms.toml"), format!("{salt}\n{key}\n")).expect("written");
    // It holds secrets now.
    let run = cms(at, "doctor").fails(1);
    assert!(run.out.contains("error\tsettings_files\tcms.toml has mode 0644"), "{run:?}");
    fs::set_permissions(at.join("cms.toml"), fs::Permissions::from_mode(0o600)).expect("a mode");
    cms(at, "init").ok();
    assert!(!local(at).contains("\npassword_salt"), "{}", local(at));
    assert!(cms(at, "doctor").ok().contains("ok\tpassword_salt\t"));
}
