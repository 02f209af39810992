//! `cms login`, `logout`, `whoami` and `context`.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::support::{
    PASSWORD, Run, Served, cms, cms_env, cms_with, code, command, finish, first_login, has, site,
    site_of_ana,
};

fn login(dir: &Path, url: &str, password: &str, proof: &str) -> Run {
    let args = format!("login --url {url} --username ana --password-stdin --code-stdin");
    cms_with(dir, &args, &format!("{password}\n{proof}\n"))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn from_the_first_login_to_logout() {
    let dir = site_of_ana();
    let (at, server) = (dir.path(), Served::start(dir.path(), &[]));
    let url = server.url.as_str();
    let (secret, run) = first_login(at, &["--url", url]);
    let codes: Vec<String> = run.out.lines().map(str::to_owned).collect();
    assert_eq!((run.code, codes.len()), (0, 8), "{run:?}");
    assert!(
        run.err.contains("otpauth://totp/CMS:ana?secret=") && run.err.contains("shown this once"),
        "{run:?}"
    );

    let folder = at.join("config/cms");
    assert_eq!((mode(&folder), mode(&folder.join("sessions.toml"))), (0o700, 0o600));
    let kept = || fs::read_to_string(folder.join("sessions.toml")).expect("sessions");
    let token = kept()
        .lines()
        .find_map(|line| line.strip_prefix("token = "))
        .expect("a token")
        .trim_matches('"')
        .to_owned();
    assert!(token.starts_with("cms_s1_"), "{token}");

    let me = cms(at, &format!("whoami --url {url} --json")).json();
    let expected = [("/username", "ana".into()), ("/site", url.into()), ("/rights", "0".into())];
    has(&me["data"], expected);
    let secrets = codes.iter().chain([&token, &secret]).map(String::as_str).chain([PASSWORD]);
    let secrets: Vec<&str> = secrets.collect();
    for args in ["users list", "users show ana", "users sessions ana", "auth audit", "whoami"] {
        for more in ["--verbose", "--json", ""] {
            let line = format!("{args} {more}");
            let run = cms_env(at, &line, &[("CMS_URL", url), ("CMS_LOG", "trace")]);
            assert_eq!(run.code, 0, "{run:?}");
            for secret in &secrets {
                let is_told = run.out.contains(secret) || run.err.contains(secret);
                assert!(!is_told, "{line}: {run:?}");
            }
        }
    }
    let unknown = [("CMS_API_KEY", "cms_k1_unknown")];
    cms_env(at, &format!("whoami --url {url}"), &unknown).fails(4);
    let spelled = url.to_uppercase().replace("HTTP", "http") + "/";
    cms(at, &format!("logout --url {spelled}")).ok();
    assert!(!kept().contains(&token));
    cms(at, &format!("users list --url {url}")).fails(4).tells("cms login --url");
    assert_eq!(cms(at, &format!("logout --url {url} --json")).json()["data"]["ended"], false);
}

#[test]
fn a_code_a_recovery_code_and_nothing_else_completes_a_login() {
    let dir = site_of_ana();
    let (at, server) = (dir.path(), Served::start(dir.path(), &[]));
    let file = at.join("codes.txt");
    let out = format!("--url {} --codes-out {} --json", server.url, file.display());
    let (secret, run) = first_login(at, &out);
    assert_eq!((run.code, mode(&file)), (0, 0o600), "{run:?}");
    let data: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        (&data["data"]["user"]["username"], data["data"].get("recovery_codes")),
        (&"ana".into(), None),
        "{run:?}"
    );
    let codes = fs::read_to_string(&file).expect("codes");
    let recovery = codes.lines().next().expect("a code");

    // The code of the next step is valid too, and not used yet.
    let again = login(at, &server.url, PASSWORD, &code(&secret, 1));
    assert_eq!((again.code, again.out.as_str()), (0, ""), "{again:?}");
    login(at, &server.url, PASSWORD, recovery).ok();
    let twice = login(at, &server.url, PASSWORD, recovery).fails(4);
    assert!(!twice.err.contains(recovery) && !twice.err.contains(PASSWORD), "{twice:?}");
    login(at, &server.url, "wrong horse", "123456").fails(4);
    let status = cms(at, "users 2fa-status ana --json").json();
    has(&status["data"], [("/two_factor", true.into()), ("/recovery_codes", 7.into())]);
}

#[test]
fn a_session_that_was_ended_elsewhere_is_said() {
    let dir = site_of_ana();
    let (at, server) = (dir.path(), Served::start(dir.path(), &[]));
    cms(at, &format!("context add shop --url {}", server.url)).ok();
    first_login(at, &["--context", "shop"]).1.ok();
    let listed = cms(at, "users sessions ana --json").json();
    let id = listed["data"][0]["id"].to_string();
    assert!(
        listed["data"][0]["user_agent"].as_str().is_some_and(|agent| agent.starts_with("cms/")),
        "{listed}"
    );
    // A key takes precedence over the session.
    let key = cms(at, "keys create -q --name k --right 'GET /api/pages'").ok();
    let with_key = cms_env(at, "users list --context shop", &[("CMS_API_KEY", key.trim())]);
    assert!(with_key.fails(4).err.contains("has no right"));
    cms(at, "users list --context shop").ok();
    cms(at, &format!("users sessions ana --revoke {id}")).ok();
    cms(at, "users list --context shop").fails(4).tells("next: cms login");
}

#[test]
fn users_change_their_own_password_and_codes() {
    const NEW: &str = "three men in a boat";
    let dir = site_of_ana();
    let (at, server) = (dir.path(), Served::start(dir.path(), &[]));
    let url = server.url.as_str();
    let (secret, run) = first_login(at, &["--url", url]);
    run.ok();
    let auth = |args: &str, input: &str| {
        let run = cms_with(at, &format!("auth {args} --url {url}"), input);
        for hidden in [PASSWORD, NEW] {
            assert!(!run.out.contains(hidden) && !run.err.contains(hidden), "{run:?}");
        }
        run
    };
    let passwd =
        |current: &str, new: &str| auth("passwd --password-stdin", &format!("{current}\n{new}\n"));
    let wrong = passwd("wrong horse", NEW).fails(4);
    assert!(wrong.err.contains("not your present password"), "{wrong:?}");
    passwd(PASSWORD, "short").fails(1);
    auth("passwd --password-stdin", PASSWORD).fails(2);
    auth("passwd", "").fails(2);
    assert_eq!(passwd(PASSWORD, NEW).code, 0);
    login(at, url, PASSWORD, "123456").fails(4);

    let listed = auth("sessions --json", "").json();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed["data"][0]["current"], true);
    assert_eq!(auth("sessions --revoke --json", "").json()["data"]["revoked"], "others");
    auth("sessions --revoke 4711", "").fails(5);

    let file = at.join("new-codes.txt");
    let to_file = format!("recovery-codes --password-stdin --out {}", file.display());
    assert_eq!(auth(&to_file, "wrong horse\n").fails(4).out, "");
    assert!(!file.exists(), "no file is left without codes");
    assert_eq!(auth(&to_file, NEW).code, 0);
    let codes = fs::read_to_string(&file).expect("codes");
    assert_eq!((codes.lines().count(), mode(&file)), (8, 0o600));
    let printed = auth("recovery-codes --password-stdin", &code(&secret, 1)).ok();
    assert_eq!(printed.lines().count(), 8);
    assert!(!printed.contains(codes.lines().next().expect("a code")));
    login(at, url, NEW, codes.lines().next().expect("a code")).fails(4);
    login(at, url, NEW, printed.lines().next().expect("a code")).ok();

    // The operator has no account.
    cms_with(at, "auth passwd --password-stdin", "a\nb\n").fails(4).tells("cms users passwd");
    cms(at, "auth sessions").fails(4);
}

#[test]
fn who_is_not_there_is_not_asked() {
    let dir = site_of_ana();
    let at = dir.path();
    for (args, flag) in [
        ("", "--username"),
        ("--username ana", "--password-stdin"),
        ("--username ana --password-stdin", "--code-stdin"),
    ] {
        cms(at, &format!("login --url http://127.0.0.1:1 {args}")).fails(2).tells(flag);
    }
    cms(at, "login").fails(2).tells("--url");
    login(at, "http://127.0.0.1:1", PASSWORD, "123456").fails(7);
    login(at, "http://127.0.0.1:1", "", "123456").fails(2);
}

#[test]
fn the_site_that_is_meant() {
    let (dir, elsewhere) = (site(), tempfile::tempdir().expect("a folder"));
    let at = dir.path();
    for (name, url) in [("one", "http://127.0.0.1:1"), ("two", "http://127.0.0.1:2")] {
        cms(at, &format!("context add {name} --url {url}")).ok();
    }
    cms(at, "context use one").ok();
    // Nobody is logged in, so the message names the address.
    let whoami = |folder: &Path, args: &[&str], url: Option<&str>| {
        let mut command = command(at);
        command.env_remove("CMS_DIR").current_dir(folder).arg("whoami").args(args);
        if let Some(url) = url {
            command.env("CMS_URL", url);
        }
        let run = finish(command, None);
        let port = run.err.split("127.0.0.1:").nth(1).and_then(|rest| rest.chars().next());
        port.map_or(run.out, String::from)
    };
    let (url, context) = (["--url", "http://127.0.0.1:3"], ["--context", "two"]);
    assert_eq!(
        whoami(elsewhere.path(), &[&url[..], &context].concat(), Some("http://127.0.0.1:4")),
        "3"
    );
    assert_eq!(whoami(elsewhere.path(), &context, Some("http://127.0.0.1:4")), "2");
    assert_eq!(whoami(at, &[], Some("http://127.0.0.1:4")), "4");
    assert_eq!(
        whoami(at, &[], None),
        "site\t.\nuser\toperator\n",
        "a chosen context takes no command away from a site's folder"
    );
    assert_eq!(whoami(elsewhere.path(), &[], None), "1");
    let named = cms(at, &["whoami", "--dir", elsewhere.path().to_str().expect("a path")]).fails(7);
    assert!(named.err.contains("there is no site"), "nor from a folder that is named: {named:?}");

    cms(at, "users list --context three").fails(5);
    for args in ["context add 'a b' --url http://h", "context add a", "context add a --url h"] {
        cms(at, args).fails(2);
    }
    assert_eq!(cms(at, "context remove one --json").json()["data"]["deleted"][0], "one");
    cms(at, "context show").fails(5);
    assert_eq!(cms(at, "context list").ok(), "two\thttp://127.0.0.1:2\tfalse\t\n");
}
