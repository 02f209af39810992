//! Buttons of plugins: who sees them, who may use them, and what they let a user write.

use cms_core::plugins::Plugin;
use serde_json::{Value as Json, json};

use crate::support::{
    Reply, Site,
    plugins::{program, table},
    with,
};

/// A plugin with a button of each type.
pub(crate) fn blog() -> impl Plugin {
    let edit = json!([{"column": "title", "type": "text"}, {"column": "kind", "type": "select"}]);
    let of_author = json!({"table": "authors", "value": "id", "title": "name"});
    let manifest = json!({
        "id": "blog",
        "tables": [
            {"name": "posts", "multilanguage": true, "columns": [
                {"name": "title", "type": "text", "required": true},
                {"name": "secret", "type": "text"},
                {"name": "kind", "type": "select", "enum": ["news", "essay"]},
                {"name": "status", "type": "integer", "default": 0},
                {"name": "author", "type": "integer", "references": "authors"},
                {"name": "tags", "type": "json", "default": []},
                {"name": "others", "type": "json", "default": []}]},
            table("authors", "name text"),
            table("comments", "post integer references=posts, status text, text text"),
        ],
        "content_button": [
            {"button_id": "edit", "type": "edit", "multilanguage": "1", "editable_rows": edit},
            {"button_id": "assign", "type": "edit", "forStatus": "1",
             "editable_rows": [
                 {"column": "author", "type": "select", "select_value": of_author}]},
            {"button_id": "delete", "type": "delete"},
            {"button_id": "script", "type": "script", "script": "posts/export.php"},
            {"button_id": "comments", "type": "show_module_list",
             "values": {"table": "comments", "template": "Comment"},
             "buttons": [
                 {"button_id": "approve", "type": "edit", "forStatus": 2,
                  "editable_rows": [{"column": "status", "type": "text"}]}]},
            {"button_id": "tags", "type": "show_checklist",
             "values": {"table": "posts", "column": "tags"}},
            {"button_id": "stats", "type": "show_custom_content",
             "values": {"class": "Stats", "template": "Stats"}},
            {"button_id": "link", "type": "link", "url": "/blog"},
        ],
        "action_button": [
            {"button_id": "insert", "type": "insert", "editable_rows": edit},
            {"button_id": "modal", "type": "modal", "component": "blog/admin/Wizard"},
        ],
    });
    program(manifest, |handlers| {
        handlers.content("Stats", |call| async move {
            let all = call.items().list("comments", &cms_core::items::Query::default()).await?;
            Ok(json!({"row": call.row(), "comments": all.records()?}))
        })
    })
}

pub(crate) async fn site() -> Site {
    let site = Site::builder().await.program(blog()).open().await;
    site.insert("authors", json!([{"name": "Ada"}, {"name": "Bob"}])).await;
    let post = json!({"title": "One", "secret": "s", "status": 1, "language_short": "en"});
    site.insert("posts", post).await;
    let first = json!({"post": 1, "text": "first", "status": "2nd"});
    site.insert("comments", json!([first, {"text": "elsewhere", "status": "1"}])).await;
    site
}

/// The call that a button stands for; None: the front end alone acts.
fn call(button: &str) -> Option<(&'static str, Json)> {
    Some(match button {
        "edit" => ("PATCH /api/backend/item?table=posts&id=1", json!({"title": "Two"})),
        "assign" => ("PATCH /api/backend/item?table=posts&id=1", json!({"author": 2})),
        "insert" => ("POST /api/backend/item?table=posts", json!({"title": "Three"})),
        "delete" => ("DELETE /api/backend/item?table=posts&id=9", Json::Null),
        "approve" => ("PATCH /api/backend/item?table=comments&id=1", json!({"status": "3"})),
        "tags" => (
            "POST /api/backend/actions/checklist",
            json!({"table": "posts", "column": "tags", "id": 1, "add": ["x"]}),
        ),
        _ => return None,
    })
}

async fn send(site: &Site, token: &str, line: &str, body: Json) -> Reply {
    let ask = site.ask(line).bearer(token);
    if body.is_null() { ask.send().await } else { ask.json(body).send().await }
}

const BUTTONS: [&str; 11] = [
    "edit", "assign", "delete", "script", "comments", "approve", "tags", "stats", "link", "insert",
    "modal",
];

/// view / edit / admin / none × each button.
#[tokio::test]
async fn permissions_decide_what_is_seen_and_what_is_done() {
    let site = site().await;
    for button in BUTTONS {
        // Its list is shown to those who may open it.
        let opened: &[&str] = if button == "approve" { &["blog_comments_view"] } else { &[] };
        let held = |acts: &[&str]| -> Json {
            let keys = acts.iter().map(|act| format!("blog_{button}_{act}"));
            keys.chain(opened.iter().map(|key| (*key).to_owned())).collect()
        };
        for (role, rights, visible, usable) in [
            ("none", json!([]), false, false),
            ("view", held(&["view"]), true, false),
            ("edit", held(&["view", "edit"]), true, true),
            ("admin", json!("0"), true, true),
        ] {
            let what = format!("{button} {role}");
            let person = site.person(&what.replace(' ', "_"), rights).await;
            let token = person.token.as_str();
            let line = "GET /api/backend/plugins/buttons?plugin=blog&row=1";
            let reply = send(&site, token, line, Json::Null).await;
            if role == "none" {
                assert_eq!(reply.status, 403, "{what}: {}", reply.text());
            } else {
                assert_eq!(reply.status, 200, "{what}: {}", reply.text());
                let shown = reply.data();
                let all = shown.as_array().unwrap().iter();
                let all = all.flat_map(|one| {
                    let nested = one["buttons"].as_array().unwrap();
                    std::iter::once(one).chain(nested)
                });
                let found = all.clone().find(|one| one["button_id"] == button);
                assert_eq!(found.is_some(), visible, "{what}: {shown}");
                assert_eq!(found.unwrap()["can_execute"], usable, "{what}");
                let others = all.filter(|one| one["button_id"] != button).count();
                assert_eq!(others > 1, role == "admin", "{what}: {shown}");
            }
            if ["comments", "stats"].contains(&button) {
                let line =
                    format!("GET /api/backend/plugins/content?plugin=blog&button={button}&row=1");
                let status = send(&site, token, &line, Json::Null).await.status;
                assert_eq!(status == 200, visible, "{what}: {status}");
            }
            let Some((line, body)) = call(button) else { continue };
            let reply = send(&site, token, line, body).await;
            if usable {
                // There is no post 9: rights come first.
                let good = reply.status.is_success() || reply.status == 404;
                assert!(good, "{what}: {} {}", reply.status, reply.text());
            } else {
                assert_eq!(reply.status, 403, "{what}: {}", reply.text());
            }
        }
    }
}

#[tokio::test]
async fn a_user_reaches_only_the_columns_of_the_buttons_held() {
    let site = site().await;
    let patch = "PATCH /api/backend/item?table=posts&id=1";
    let check = |column: &str| json!({"table": "posts", "column": column, "id": 1, "add": ["x"]});
    let checklist = "POST /api/backend/actions/checklist";
    for (held, line, body, expected) in [
        (&["edit"][..], patch, json!({"title": "a", "kind": "news"}), 200),
        (&["edit"], patch, json!({"title": "a", "secret": "b"}), 403),
        (&["edit"], patch, json!({"author": 1}), 403),
        (&["edit"], patch, json!({"id": 7}), 403),
        (&["edit"], patch, json!({"nowhere": 7}), 403),
        (&["assign"], patch, json!({"author": 1}), 200),
        (&["assign"], patch, json!({"title": "a"}), 403),
        (&["edit", "assign"], patch, json!({"title": "a", "author": 1}), 200),
        (&["edit"], "PATCH /api/backend/item?table=authors&id=1", json!({"name": "x"}), 403),
        (&["edit"], "PATCH /api/backend/item?table=pages&id=1", json!({"title": "x"}), 403),
        (&["edit"], "DELETE /api/backend/item?table=posts&id=1", Json::Null, 403),
        (&["edit"], "POST /api/backend/item?table=posts", json!({"title": "x"}), 403),
        (&["insert"], "POST /api/backend/item?table=posts", json!({"title": "x"}), 201),
        (
            &["insert"],
            "POST /api/backend/item?table=posts",
            json!([{"title": "x"}, {"title": "y", "secret": "z"}]),
            403,
        ),
        (&["insert"], patch, json!({"title": "x"}), 403),
        (&["tags"], checklist, check("tags"), 200),
        (&["tags"], checklist, check("others"), 403),
        (&["edit"], checklist, check("tags"), 403),
        (
            &["tags"],
            checklist,
            json!({"table": "user_groups", "column": "rights", "id": 1, "add": []}),
            403,
        ),
        (&["delete"], "DELETE /api/backend/item?table=posts&id=2", Json::Null, 204),
    ] {
        let rights: Json = held
            .iter()
            .flat_map(|name| [format!("blog_{name}_view"), format!("blog_{name}_edit")])
            .collect();
        let name = format!("p{}", site.clock.now());
        let person = site.person(&name, rights).await;
        let before = site.traces().await;
        let reply = send(&site, &person.token, line, body.clone()).await;
        assert_eq!(reply.status.as_u16(), expected, "{held:?} {line} {body}: {}", reply.text());
        if expected == 403 {
            assert_eq!(site.traces().await, before, "{held:?} {line} {body}");
        }
    }
}

#[tokio::test]
async fn a_multilanguage_edit_writes_a_record_for_each_language() {
    let site = site().await;
    let rights = json!(["blog_edit_view", "blog_edit_edit"]);
    let person = site.person("editor", rights).await;
    let token = person.token.as_str();
    let shown =
        send(&site, token, "GET /api/backend/plugins/buttons?plugin=blog", Json::Null).await;
    assert_eq!(shown.data()[0]["languages"], json!(site.cms.settings().languages));
    // The German version does not exist yet: it is made of the record, and of no other.
    let line = "GET /api/backend/item?table=posts&id=1&language=de";
    assert_eq!(send(&site, token, line, Json::Null).await.status, 404);
    let version = json!({"title": "Eins", "base_id": 1, "language_short": "de"});
    let made = send(&site, token, "POST /api/backend/item?table=posts", version).await;
    assert_eq!(made.status, 201, "{}", made.text());
    for (language, title) in [("en", "One!"), ("de", "Eins!")] {
        let line = format!("PATCH /api/backend/item?table=posts&id=1&language={language}");
        let reply = send(&site, token, &line, json!({"title": title})).await;
        assert_eq!((reply.status.as_u16(), &reply.data()["title"]), (200, &json!(title)));
    }
    // No other record: a version is one of a record that exists.
    let before = site.traces().await;
    for base in
        [json!({}), json!({"base_id": null}), json!({"base_id": 99}), json!({"base_id": ""})]
    {
        let fresh = with(json!({"title": "x", "language_short": "fr"}), base);
        for body in [fresh.clone(), json!([fresh])] {
            let line = "POST /api/backend/item?table=posts";
            let ask = site.ask(line).bearer(token).json(body.clone());
            let refused = ask.refused(403, "permission_denied").await;
            let form = "No single form that you may use covers these columns";
            let is_partial = refused.text().contains(form) && refused.text().contains("base_id");
            assert_eq!(is_partial, !body.to_string().contains("base_id"), "{}", refused.text());
        }
    }
    assert_eq!(site.traces().await, before);
    // Who may insert writes new records besides.
    let rights = json!(["blog_edit_view", "blog_edit_edit", "blog_insert_edit"]);
    let person = site.person("author", rights).await;
    let fresh = json!({"title": "x"});
    let reply = send(&site, &person.token, "POST /api/backend/item?table=posts", fresh).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
}
