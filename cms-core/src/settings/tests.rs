//! Loading as a whole: layers, origins, refusals, masks.

use std::fs;

use super::*;

/// Loads a folder with the two files, the variables and the flags.
fn load(
    shared: &str,
    local: &str,
    env: &[(&str, &str)],
    flags: &[(&str, &str)],
) -> Result<(tempfile::TempDir, Loaded), String> {
    let dir = tempfile::tempdir().expect("folder");
    fs::write(dir.path().join("cms.toml"), shared).expect("cms.toml");
    fs::write(dir.path().join("cms.local.toml"), local).expect("cms.local.toml");
    let env = env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let flags: Vec<_> = flags.iter().map(|(key, text)| (*key, (*text).to_owned())).collect();
    let loaded = Settings::load(dir.path(), env, &flags).map_err(|error| error.to_string())?;
    Ok((dir, loaded))
}

fn refused(shared: &str, env: &[(&str, &str)]) -> String {
    load(shared, "", env, &[]).map(|_| ()).expect_err(shared)
}

#[test]
fn each_layer_overrides_the_one_below_and_is_named() {
    let shared = "listen = \"a:1\"\n\n[http]\nmax_connections = 5\nrequest_timeout_s = 6\n";
    let local = "# mine\nlisten = \"b:2\"\n";
    let env = [("CMS_LISTEN", "c:3"), ("CMS_HTTP__REQUEST_TIMEOUT_S", "7"), ("PATH", "/bin")];
    let table: [(&str, &[_], &[_], &str, &str); 4] = [
        ("", &[], &[], "a:1", "cms.toml:1"),
        (local, &[], &[], "b:2", "cms.local.toml:2"),
        (local, &env, &[], "c:3", "CMS_LISTEN"),
        (local, &env, &[("listen", "d:4")], "d:4", "--listen"),
    ];
    for (local, env, flags, value, origin) in table {
        let (_dir, loaded) = load(shared, local, env, flags).expect(origin);
        let setting = loaded.origins.get("listen").expect("setting");
        assert_eq!((loaded.settings.listen.as_str(), setting.value.as_str()), (value, value));
        assert_eq!(setting.origin.to_string(), origin);
        assert_eq!(loaded.settings.http.max_connections, 5);
        assert_eq!(loaded.settings.http.request_timeout_s, if env.is_empty() { 6 } else { 7 });
        assert_eq!(loaded.warnings, Vec::<String>::new());
        assert_eq!(
            loaded.origins.get("http.max_connections").map(|e| e.origin.to_string()).as_deref(),
            Some("cms.toml:4")
        );
        assert_eq!(
            loaded.origins.get("product").map(|e| e.origin.clone()),
            Some(ValueOrigin::Default)
        );
    }
}

#[test]
fn without_files_the_defaults_apply_to_the_folder() {
    let loaded =
        Settings::load(Path::new("/no/such/site"), std::iter::empty(), &[]).expect("defaults");
    assert_eq!(loaded.settings.dirs.plugins, Path::new("/no/such/site/plugins"));
    assert!(matches!(loaded.settings.database(), Ok(Database::Sqlite { path, .. })
            if path == Path::new("/no/such/site/data/cms.db")));
    assert!(loaded.origins.iter().all(|setting| setting.origin == ValueOrigin::Default));
    assert_eq!(loaded.origins.iter().next().map(|setting| setting.key.as_str()), Some("site_url"));
}

#[test]
fn variables_take_the_type_of_their_key() {
    let env = [
        ("CMS_DATABASE_URL", "sqlite://x.db"),
        ("CMS_DIRS__DATA", "/var/lib/cms"),
        ("CMS_LANGUAGES", "de, en"),
        ("CMS_SITE_URL", ""),
        ("CMS_TRUSTED_PROXIES", "10.0.0.0/8,::1"),
        ("CMS_WEBHOOKS__ALLOW_HTTP", "1"),
    ];
    let (dir, Loaded { settings, .. }) =
        load("site_url = \"https://a.org/\"", "", &env, &[]).expect("loads");
    assert!(matches!(settings.database(), Ok(Database::Sqlite { path, .. })
            if path == dir.path().join("x.db")));
    assert_eq!(settings.dirs.data, Path::new("/var/lib/cms"));
    assert_eq!(settings.languages, ["de", "en"]);
    assert_eq!(settings.site_url, None);
    assert_eq!(settings.trusted_proxies.len(), 2);
    assert!(settings.webhooks.allow_http);
    let (_dir, loaded) = load("site_url = \"https://a.org/\"", "", &[], &[]).expect("loads");
    assert_eq!(loaded.settings.site_url.as_deref(), Some("https://a.org"));
}

#[test]
fn unknown_variables_are_warnings() {
    let env = [
        ("CMS_LISTN", "x"),
        ("CMS_WEBHOOKS_ALLOW_HTTP", "1"),
        ("CMS_TEST_DB", "x"),
        ("CMS_QQQQQQQQ", "s3cret"),
    ];
    let warnings = load("", "", &env, &[]).expect("loads").1.warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].ends_with("did you mean CMS_LISTEN?"), "{}", warnings[0]);
    assert!(warnings[1].ends_with("did you mean CMS_WEBHOOKS__ALLOW_HTTP?"), "{}", warnings[1]);
    assert!(
        warnings[2].ends_with("CMS_QQQQQQQQ is not a setting and was ignored"),
        "{}",
        warnings[2]
    );
}

#[test]
fn refusals_name_the_fault_its_origin_and_the_remedy() {
    for (shared, expected) in [
        ("db_user = \"u\"", "`db_host` must be set too"),
        ("\nlisten = ", "cms.toml:2: not valid TOML: "),
        ("a = 1", "cms.toml:1: unknown key `a`; `cms config show` lists all keys"),
        ("\nlisen = \"a:1\"", "cms.toml:2: unknown key `lisen`; did you mean `listen`?"),
        (
            "allow_http = true",
            "cms.toml:1: unknown key `allow_http`; did you mean `webhooks.allow_http`?",
        ),
        (
            "[http]\nlisten = \"a:1\"",
            "cms.toml:2: unknown key `http.listen`; did you mean `listen`? It must stand above",
        ),
        ("[htp]\n", "cms.toml:1: unknown key `htp`"),
        ("http = 1", "cms.toml:1: unknown key `http`; it is a table"),
        ("migrate = \"yes\"", "cms.toml:1: `migrate` must be true or false"),
        ("listen = 8080", "cms.toml:1: `listen` must be a text in quotes"),
        ("languages = \"en\"", "cms.toml:1: `languages` must be a list of texts"),
        (
            "http.max_connections = -1",
            "cms.toml:1: `http.max_connections` must be a whole number, 0 or more",
        ),
        (
            "http.max_connections = 0",
            "cms.toml:1: `http.max_connections` must be between 1 and 1000000, not 0",
        ),
        (
            "mail.submission_url = \"https://a.org/leads\"",
            "cms.toml:1: `mail.submission_url` must be an http(s) address with {id} in it",
        ),
        (
            "mail.submission_url = \"javascript:{id}\"",
            "cms.toml:1: `mail.submission_url` must be an http(s) address with {id} in it",
        ),
        (
            "proxy_header = \"forwarded\"",
            "cms.toml:1: `proxy_header` must not be Forwarded, whose form is not understood: take \
             a header with bare addresses, such as X-Forwarded-For",
        ),
        (
            "limiter.store = \"disk\"",
            "cms.toml:1: `limiter.store` is not accepted: unknown variant `disk`, expected one of \
             `memory`",
        ),
        (
            "metrics_allow = [\"x\"]",
            "cms.toml:1: `metrics_allow` is not accepted: \"x\" is not a network",
        ),
        // A variable after the file.
        ("\nCMS_MIGRATE=maybe", "CMS_MIGRATE: `migrate` must be true or false"),
        ("\nCMS_TIMEZONE=Mars/Base", "CMS_TIMEZONE: `timezone` must be an IANA time zone"),
        (
            "db_host = \"h\"\nCMS_DATABASE_URL=sqlite://x",
            "CMS_DATABASE_URL: `database_url` must not be set together",
        ),
    ] {
        let (shared, variable) = shared.split_once("\nCMS_").unwrap_or((shared, ""));
        let variable = variable.split_once('=').map(|(name, text)| (format!("CMS_{name}"), text));
        let env: Vec<_> = variable.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let error = refused(shared, &env);
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
    assert!(
        load("", "", &[], &[("lisen", "a:1")])
            .is_err_and(|error| error.starts_with("--lisen: unknown key"))
    );
}

#[test]
fn an_unreadable_file_does_not_count_as_missing() {
    let dir = tempfile::tempdir().expect("folder");
    fs::create_dir(dir.path().join("cms.toml")).expect("a folder in its place");
    let error =
        Settings::load(dir.path(), std::iter::empty(), &[]).expect_err("unreadable").to_string();
    assert!(error.contains("cms.toml cannot be read"), "{error}");
}

#[test]
fn no_secret_is_ever_shown() {
    let key = data_encoding::BASE64.encode(b"hunter2-hunter2-hunter2-hunter2-");
    let url = |scheme: &str, path: &str| format!("{scheme}://u:hunter2@host{path}");
    let value = |name: &str| match name {
        "database_url" => url("postgres", "/x"),
        "redis_url" => url("redis", "/x"),
        "mail.smtp_url" => url("smtp", ""),
        "encryption_key" | "old_encryption_keys" => key.clone(),
        _ => "hunter2".to_owned(),
    };
    // `db_pw` excludes `database_url`, so each is tested without the other.
    for without in ["db_pw", "database_url"] {
        let keys = SECRET_KEYS.into_iter().filter(|key| *key != without);
        let mut env: Vec<_> = keys.map(|name| (env::variable(name), value(name))).collect();
        if without == "database_url" {
            env.extend(
                ["db_host", "db_user", "db_db"].map(|name| (env::variable(name), "x".to_owned())),
            );
        }
        let loaded = Settings::load(Path::new("."), env.into_iter(), &[]).expect("loads");
        let shown = format!("{loaded:?} {:?}", loaded.settings.database());
        assert!(!shown.contains("hunter2") && !shown.contains(&key), "{shown}");
        assert!(loaded.settings.update_password.is_some_and(|secret| secret.expose() == "hunter2"));
    }
}

#[test]
fn every_secret_type_is_on_the_list_of_secret_keys() {
    let marked = |value: &toml::Value| match value {
        toml::Value::String(_) => "m4rk".into(),
        toml::Value::Array(_) => vec!["m4rk"].into(),
        other => other.clone(),
    };
    for (key, _) in &defaults::defaults().values {
        let values = defaults::defaults().values.iter();
        let values: Vec<_> =
            values.map(|(k, v)| (k, if k == key { marked(v) } else { v.clone() })).collect();
        // Values that are refused here (enums, networks) are not secret.
        let Ok(settings) = defaults::typed_settings(values.iter().map(|(k, v)| (k.as_str(), v)))
        else {
            continue;
        };
        let hidden = format!("{settings:?}").contains("***");
        assert_eq!(hidden, SECRET_KEYS.contains(&key.as_str()), "{key}");
    }
}

#[test]
fn the_starter_files_load() {
    let key = data_encoding::BASE64.encode(&[7; 32]);
    let (_dir, loaded) =
        load(&starter_file(), &starter_local_file(Some("pepper"), Some(&key)), &[], &[])
            .expect("loads");
    assert_eq!(
        loaded.settings.password_salt.map(|salt| salt.expose().to_owned()).as_deref(),
        Some("pepper")
    );
    assert_eq!(loaded.settings.encryption_key.map(|key| key.expose().to_owned()), Some(key));
}
