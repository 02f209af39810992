//! Every endpoint of the backend × who may call it. The endpoints are those that the API declares;
//! what each kind of access means, and which resources are for whom, is written here.

use cms_core::access::Access;
use serde_json::json;

use crate::support::Site;

/// Who reaches an endpoint beside keys with a row and administrators.
#[derive(Clone, Copy, PartialEq)]
enum For {
    /// Users with `{area}_view` to read, `{area}_edit` to change.
    Area(&'static str),
    /// Users with `{area}_view`, whatever the method.
    Readers(&'static str),
    Admins,
    /// Everybody who logs in; no key.
    Login,
    /// Every user who is logged in; no key.
    Users,
    /// Every user who is logged in, and keys with a row.
    UsersAndKeys,
    /// Nobody over the network.
    Nobody,
}

/// Endpoints that are about a content table: the query that names it, and for whom.
const TABLES: &[(&str, &str, For)] = &[
    ("/api/backend/item", "table=pages", For::Area("pages_pages")),
    ("/api/backend/item", "table=menu_items", For::Area("pages_pages")),
    ("/api/backend/item", "table=settings", For::Area("settings_settings")),
    ("/api/backend/item", "table=forms", For::Area("forms_forms")),
    ("/api/backend/item", "table=media", For::Area("media_media")),
    ("/api/backend/item", "table=users", For::Admins),
    ("/api/backend/item", "", For::Admins),
    ("/api/backend/actions/checklist", "table=pages", For::Area("pages_pages")),
    ("/api/backend/actions/checklist", "table=user_groups", For::Admins),
];

/// What lies below these paths is for whom, as documented.
const DOCUMENTED: &[(&str, Access)] = &[
    ("/api/backend/item", Access::Table),
    ("/api/backend/actions/script", Access::Button),
    ("/api/backend/actions/checklist", Access::Checklist),
    ("/api/backend/forms", Access::Area("forms_forms")),
    ("/api/backend/media", Access::Area("media_media")),
    ("/api/backend/pagebuilder", Access::Area("pages_pages")),
    ("/api/backend/keys", Access::Area("keys_keys")),
    ("/api/backend/webhooks", Access::Area("webhooks_subscriptions")),
    ("/api/backend/users/2fa-", Access::Operator),
    ("/api/backend/user", Access::Admin),
    ("/api/backend/permissions", Access::Admin),
    ("/api/backend/loginattempts", Access::Admin),
    ("/api/backend/origins", Access::Admin),
    ("/api/backend/cache", Access::Admin),
    ("/api/backend/limits", Access::Admin),
    ("/api/backend/audit", Access::Admin),
    ("/api/backend/status", Access::Admin),
    ("/api/backend/tasks", Access::Admin),
    ("/api/backend/mail", Access::Admin),
    ("/api/backend/auth/login", Access::Login),
    ("/api/backend/auth/verify", Access::Login),
    ("/api/backend/auth/", Access::Session),
];

/// Calls with a body that only read, as documented: path, action, area.
const READING: &[(&str, Option<&str>, &str)] = &[
    ("/api/backend/formfunnel", Some("preview"), "formfunnel_funnels"),
    ("/api/backend/formfunnel", Some("test"), "formfunnel_funnels"),
    ("/api/backend/formfunnel", Some("routing_test"), "formfunnel_funnels"),
    ("/api/backend/webhooks/explain", None, "webhooks_subscriptions"),
];

/// Of the actions for funnels, those that are about what visitors sent.
#[rustfmt::skip]
const INBOX: [&str; 12] = [
    "submissions", "submission_get", "submission_update", "submission_delete", "submissions_bulk",
    "undo", "erase", "views", "assignable_users", "file", "export", "analytics",
];

struct Row {
    path: String,
    query: String,
    methods: Vec<&'static str>,
    whom: For,
}

fn rows(site: &Site) -> Vec<Row> {
    let mut rows = Vec::new();
    for endpoint in site.cms.access().all().iter() {
        let path = &endpoint.path;
        if !path.starts_with("/api/backend/") {
            continue;
        }
        let action = endpoint.action;
        let reading = READING.iter().find(|(at, of, _)| at == path && *of == action);
        if let Some((.., area)) = reading {
            assert_eq!(endpoint.access, Access::Read(area), "{path} {action:?}");
        } else if let Some((_, access)) =
            DOCUMENTED.iter().find(|(below, _)| path.starts_with(below))
        {
            assert_eq!(endpoint.access, *access, "{path}");
        }
        if path == "/api/backend/formfunnel" && reading.is_none() {
            let is_inbox = endpoint.action.is_some_and(|action| INBOX.contains(&action));
            let area = if is_inbox { "formfunnel_inbox" } else { "formfunnel_funnels" };
            assert_eq!(endpoint.access, Access::Area(area), "{path} {:?}", endpoint.action);
        }
        let action = endpoint.action.map(|action| format!("action={action}"));
        let mut add = |query: &str, whom| {
            let (path, methods) = (path.clone(), endpoint.methods.clone());
            let query = action.clone().unwrap_or_else(|| query.to_owned());
            rows.push(Row { path, query, methods, whom });
        };
        match endpoint.access {
            Access::Area(area) => add("", For::Area(area)),
            Access::Read(area) => add("", For::Readers(area)),
            // Without a body nobody has named a button.
            Access::Admin | Access::Button => add("", For::Admins),
            Access::Login => add("", For::Login),
            Access::Session => add("", For::Users),
            Access::User | Access::Buttons => add("", For::UsersAndKeys),
            Access::Operator => add("", For::Nobody),
            Access::Table | Access::Checklist => {
                let about: Vec<_> = TABLES.iter().filter(|(about, ..)| about == path).collect();
                assert!(!about.is_empty(), "which tables is {path} to be tried with?");
                about.into_iter().for_each(|(_, query, whom)| add(query, *whom));
            }
            Access::Plugin(id) => panic!("no plugin {id} is there"),
            Access::Open | Access::Public => panic!("{path} is open to everybody"),
        }
    }
    // Last: it ends the sessions that the others are tried with.
    rows.sort_by_key(|row| row.path.ends_with("/logout"));
    assert!(rows.len() > 30, "the endpoints of the backend are missing");
    rows
}

#[derive(Clone, Copy, Debug)]
enum Caller {
    Anonymous,
    KeyWithout,
    KeyWith,
    UserWithout,
    UserWith,
    Admin,
}

/// What the call must answer; None: the caller is let in, whatever the handler then says of the
/// call.
fn expected(caller: Caller, whom: For, method: &str) -> Option<(u16, &'static str)> {
    match (whom, caller) {
        (For::Login, Caller::KeyWithout | Caller::KeyWith)
        | (For::Users, Caller::KeyWithout | Caller::KeyWith) => Some((401, "api_key_forbidden")),
        (For::Login, _) => None,
        (_, Caller::Anonymous) => Some((401, "login_required")),
        (_, Caller::KeyWithout) => Some((401, "api_key_forbidden")),
        (For::Users | For::UsersAndKeys, _) => None,
        (For::Nobody, _) => Some((404, "not_found")),
        (For::Admins, Caller::UserWithout | Caller::UserWith) => Some((403, "permission_denied")),
        (For::Area(_) | For::Readers(_), Caller::UserWithout) => Some((403, "permission_denied")),
        // The permission that is tried is the one to read.
        (For::Area(_), Caller::UserWith) if method != "GET" => Some((403, "permission_denied")),
        _ => None,
    }
}

#[tokio::test]
async fn every_backend_endpoint_answers_each_caller_as_documented() {
    let site = Site::open().await;
    let without = site.key(&["GET /api/pages"]).await;
    let nobody = site.person("nobody", json!([])).await;
    let root = site.person("root", json!("0")).await;
    let mut people = std::collections::BTreeMap::new();
    let areas = [
        "pages_pages", "settings_settings", "keys_keys", "webhooks_subscriptions", "forms_forms",
        "media_media", "formfunnel_funnels", "formfunnel_inbox",
    ];
    for area in areas {
        for right in ["view", "edit"] {
            let rights = json!([format!("{area}_{right}")]);
            let person = site.person(&format!("{area} {right}"), rights).await;
            people.insert((area, right), person.token);
        }
    }
    for Row { path, query, methods, whom } in &rows(&site) {
        for method in methods {
            let target = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
            let line = format!("{method} {target}");
            for caller in [
                Caller::Anonymous,
                Caller::KeyWithout,
                Caller::KeyWith,
                Caller::UserWithout,
                Caller::UserWith,
                Caller::Admin,
            ] {
                let ask = site.ask(&line);
                let ask = match caller {
                    Caller::Anonymous => ask,
                    Caller::KeyWithout => ask.key(&without),
                    Caller::KeyWith => {
                        let is_right = cms_core::access::Right::parse(&line).is_ok()
                            && !matches!(whom, For::Login | For::Users | For::Nobody);
                        let right = if is_right { line.clone() } else { "*".to_owned() };
                        let key = site.key(&[&right]).await;
                        ask.key(&key)
                    }
                    Caller::UserWithout => ask.bearer(&nobody.token),
                    Caller::UserWith => match whom {
                        For::Area(area) | For::Readers(area) => {
                            ask.bearer(&people[&(*area, "view")])
                        }
                        _ => ask.bearer(&people[&("keys_keys", "view")]),
                    },
                    Caller::Admin => ask.bearer(&root.token),
                };
                // A body that no handler takes: who is let in is told so, and nothing is changed.
                let has_body = ["POST", "PATCH"].contains(method);
                let reply = if has_body { ask.body("[]").send().await } else { ask.send().await };
                let code = reply.json_or_null()["error"].as_str().unwrap_or("none").to_owned();
                let answer = (reply.status.as_u16(), code);
                match expected(caller, *whom, method) {
                    Some((status, code)) => {
                        assert_eq!(answer, (status, code.to_owned()), "{caller:?} {line}")
                    }
                    None => assert!(
                        ![401, 403].contains(&answer.0) || *whom == For::Login,
                        "{caller:?} {line}: {answer:?}"
                    ),
                }
            }
            if let For::Area(area) | For::Readers(area) = whom {
                let ask = site.ask(&line).bearer(&people[&(*area, "edit")]);
                let reply =
                    if *method == "GET" { ask.send().await } else { ask.body("[]").send().await };
                assert_eq!(
                    reply.status == 403,
                    *method == "GET" || matches!(whom, For::Readers(_)),
                    "editor, {line}: {}",
                    reply.text()
                );
            }
        }
    }
}

#[tokio::test]
async fn what_is_not_there_tells_nobody_more_than_he_may_know() {
    let site = Site::open().await;
    let weak = site.key(&["GET /api/pages"]).await;
    let nobody = site.person("nobody", json!([])).await;
    for path in
        ["/api/backend/nothing", "/api/backend/users/2fa-reset", "/api/backend/auth/nothing"]
    {
        let line = format!("GET {path}");
        site.ask(&line).refused(401, "login_required").await;
        site.ask(&line).key(&weak).refused(401, "api_key_forbidden").await;
        site.ask(&line).bearer(&nobody.token).refused(404, "not_found").await;
        site.admin(&line).refused(404, "not_found").await;
    }
    site.ask("GET /api/nothing").refused(401, "api_key_missing").await;
    site.ask("GET /api/nothing").bearer(&nobody.token).refused(404, "not_found").await;
    site.ask("GET /api/pages").bearer(&nobody.token).expect(200).await;
}
