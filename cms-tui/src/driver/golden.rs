//! Golden screens with their styles, and the pictures of the docs.
//!
//! `INSTA_UPDATE=always cargo test -p cms-tui` accepts what has changed.
//! `CMS_WRITE_DOCS=1 cargo test -p cms-tui the_docs` makes the pictures again.

use serde_json::{Value as Json, json};

use super::{
    Operator, paint,
    seed::{with_forms, with_inbox, with_media, with_pages},
    seeded,
    site::TestSite,
};
use crate::calls::Fault;

/// The five main views, in four sizes: name of the golden file, and the keys from home.
const MAIN: [(&str, &str); 5] = [
    ("home", "1"),
    ("webhooks", "2"),
    ("deliveries", "3"),
    ("keys", "5"),
    ("records", "6 / p o s t s Enter Enter"),
];
const SIZES: [(u16, u16); 4] = [(60, 16), (80, 24), (100, 30), (200, 60)];

/// All others, at 100x30. A key that changes something comes last.
const OTHERS: [(&str, &str); 37] = [
    ("queue", "4"),
    ("content", "6"),
    ("users", "7"),
    ("system", "8"),
    ("groups", "0"),
    ("origins", ": o r i g i n s Enter"),
    ("cache", ": c a c h e Enter"),
    ("limits", ": l i m i t s Enter"),
    ("attempts", ": a t t e m p t s Enter"),
    ("audit", ": a u d i t Enter"),
    ("events", ": e v e n t s Enter"),
    ("messages", ": m e s s a g e s Enter"),
    ("tasks", ": t a s k s Enter"),
    ("plugins", ": p l u g i n s Enter"),
    ("matrix", "5 j Enter"),
    ("matrix_unsaved", "5 j Enter j j j Space"),
    ("delivery_request", "3 Enter"),
    ("delivery_response", "3 Enter Tab"),
    ("delivery_headers", "3 Enter Tab Tab"),
    ("delivery_signature", "3 Enter Tab Tab Tab"),
    ("delivery_attempts", "3 Enter a G"),
    ("diff", "3 d"),
    ("why_denied", "5 c Tab m e n u Ctrl-s"),
    ("help", "5 ?"),
    ("command", "5 : r o t"),
    ("menu", "5 S"),
    ("confirm", "5 x"),
    ("sort", "6 / p o s t s Enter Enter o"),
    ("full", "6 / p o s t s Enter Enter O / c h a i n Enter G Space k k Space"),
    ("preview", "6 / p o s t s Enter Enter z"),
    ("new_webhook", "2 n"),
    ("new_key", "5 n"),
    ("record_form", "6 / p o s t s Enter Enter e"),
    ("record_set", "6 / p o s t s Enter Enter Space Space s"),
    ("record_language", "6 / p o s t s Enter Enter T"),
    ("wrong_filter", "3 / w e b h o o k : x"),
    ("secret", "2 S Enter"),
];

impl Operator {
    /// The screen is the golden one of this name.
    pub(super) fn is_golden(&self, name: &str) {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../screens/golden");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let screen = paint::styled(&self.buffer());
        settings.bind(|| insta::assert_snapshot!(name, screen));
    }

    /// The screen is the golden one of this name, in each size.
    fn is_golden_in_all_sizes(&mut self, name: &str) {
        for (width, height) in SIZES {
            self.resize(width, height).is_golden(&format!("{name}_{width}x{height}"));
        }
    }
}

/// The screens after these keys, from home.
async fn golden(site: &TestSite, screens: &[(&str, &str)]) {
    for (name, keys) in screens {
        Operator::sits_down(site).await.press(keys).await.is_golden(name);
    }
}

/// The same, in each size.
async fn golden_in_all_sizes(site: &TestSite, screens: &[(&str, &str)]) {
    for (name, keys) in screens {
        Operator::sits_down(site).await.press(keys).await.is_golden_in_all_sizes(name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_screens() {
    let site = seeded().await;
    golden_in_all_sizes(&site, &MAIN).await;
    golden(&site, &OTHERS).await;
    Operator::sits_down(&site).await.resize(59, 16).is_golden("too_small");
}

/// Forms, what was submitted, and the mails about it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_forms_and_mails() {
    let site = with_forms().await;
    let screens = [
        ("forms", ": f o r m s Enter"),
        ("submissions", ": f o r m s Enter Enter j"),
        ("submission_delete", ": f o r m s Enter Enter x"),
        ("mail", ": m a i l Enter j"),
        ("mail_test", ": m a i l Enter n"),
    ];
    golden(&site, &screens).await;
    // What is done counts at the service.
    let mut ana = Operator::sits_down(&site).await;
    ana.press(": f o r m s Enter Enter x y").await.is_golden("submission_deleted");
    ana.press(": m a i l Enter r").await.is_golden("mail_retry");
}

/// Files, in all sizes; and what is asked there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_media() {
    let site = with_media().await;
    golden_in_all_sizes(&site, &[("media", ": m e d i a Enter j j")]).await;
    let screens = [
        ("media_filter", ": m e d i a Enter / t y p e : i m a g e / Enter"),
        ("media_edit", ": m e d i a Enter j j e"),
        ("media_uses", ": m e d i a Enter j j w"),
        ("media_check", ": m e d i a Enter c"),
        ("media_upload", ": m e d i a Enter n"),
        ("media_delete", ": m e d i a Enter x"),
        ("media_delete_used", ": m e d i a Enter j j x"),
    ];
    golden(&site, &screens).await;
    // What is done counts at the service.
    let mut ana = Operator::sits_down(&site).await;
    ana.press(": m e d i a Enter e").await.types("en: Our logo").await.press("Ctrl-s").await;
    let file = |id| cms_http::client::Ask::get("/api/backend/media").query("id", id);
    let logo = site.client().send(file(5)).await.expect("a file").json().expect("JSON");
    assert_eq!(logo["data"]["alt"], json!({"en": "Our logo"}), "{}", ana.screen());
    ana.press("u").await;
    let logo = site.client().send(file(5)).await.expect("a file").json().expect("JSON");
    assert_eq!(logo["data"]["alt"], json!({}), "{}", ana.screen());
    ana.press("x").await.types("logo.png").await.press("Enter").await.is_golden("media_deleted");
    ana.press("j j x").await.types("bicycle.png").await.press("Enter").await;
    let list = site.client().send(cms_http::client::Ask::get("/api/backend/media")).await;
    let left = list.expect("a list").json().expect("JSON")["data"].as_array().map(Vec::len);
    assert_eq!(left, Some(3), "{}", ana.screen());
}

/// The inbox and a submission, in all sizes; and what is asked there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_inbox() {
    let site = with_inbox().await;
    let main =
        [("inbox", "9 j"), ("inbox_one", "9 Enter"), ("analytics", ": f u n n e l s Enter a j")];
    golden_in_all_sizes(&site, &main).await;
    let screens = [
        ("inbox_filter", "9 / v i s i t : a b"),
        ("inbox_marked", "9 Space j Space"),
        ("inbox_all", "9 l * x"),
        ("inbox_state", "9 Space Space s"),
        ("inbox_assign", "9 a"),
        ("inbox_notes", "9 e"),
        ("inbox_views", "9 V"),
        ("inbox_export", "9 E"),
        ("inbox_why", "9 Enter w"),
        ("inbox_left", "9 j Enter"),
        ("funnels", ": f u n n e l s Enter"),
        ("funnels_new", ": f u n n e l s Enter n"),
        ("funnel", ": f u n n e l s Enter Enter j j"),
    ];
    golden(&site, &screens).await;
}

/// Pages, one as a tree, its revisions and the widgets, in all sizes; and what is asked there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_pages() {
    let site = with_pages().await;
    let main = [
        ("pages", ": p a g e s Enter"),
        ("page", ": p a g e s Enter Enter j j j j j j"),
        ("revisions", ": p a g e s Enter r j"),
        ("widgets", ": w i d g e t s Enter / r e a s o n s Enter"),
    ];
    golden_in_all_sizes(&site, &main).await;
    let screens = [
        ("pages_filter", ": p a g e s Enter / l a n g : d e Enter"),
        ("pages_publish", ": p a g e s Enter P"),
        ("pages_schedule", ": p a g e s Enter t"),
        ("pages_copy", ": p a g e s Enter C"),
        ("pages_new", ": p a g e s Enter n"),
        ("pages_link", ": p a g e s Enter L"),
        ("links_none", ": p a g e s Enter w"),
        ("page_whole", ": p a g e s Enter Enter"),
        ("page_folded", ": p a g e s Enter Enter j Space G k k h"),
        ("page_zoom", ": p a g e s Enter Enter j j j z"),
        ("page_edit", ": p a g e s Enter Enter G k k k k e"),
        ("page_add", ": p a g e s Enter Enter G k k k k a"),
        ("page_pick", ": p a g e s Enter Enter a Enter s h o p"),
        ("page_compare", ": p a g e s Enter Enter c"),
        ("page_delete", ": p a g e s Enter Enter j x"),
        ("page_into", ": p a g e s Enter Enter j j j m"),
        ("page_discard", ": p a g e s Enter Enter D"),
        ("page_help", ": p a g e s Enter Enter ?"),
        ("revisions_compare", ": p a g e s Enter r Space Space c"),
        ("revisions_tree", ": p a g e s Enter r j d"),
        ("revisions_restore", ": p a g e s Enter r j R"),
        ("widgets_rebuild", ": w i d g e t s Enter b"),
    ];
    golden(&site, &screens).await;
    for (note, ttl_s) in [(Some("the agency"), 604_800), (None, 86_400), (Some("日本"), 3_600)] {
        site.page("link", json!({"page_id": 1, "note": note, "ttl_s": ttl_s})).await;
    }
    let mut ana = Operator::sits_down(&site).await;
    ana.press(": p a g e s Enter w j j").await;
    ana.is_golden_in_all_sizes("links");
    ana.press("x").await.resize(100, 30).is_golden("links_delete");
}

/// What a list shows when there is nothing, nothing yet, no answer, or nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_states() {
    let (site, bare) = (seeded().await, TestSite::open().await);
    Operator::sits_down(&bare).await.press("2").await.is_golden("state_empty");
    let mut ana = Operator::sits_down(&site).await;
    ana.holds_calls = true;
    ana.press("2").await.is_golden("state_loading");
    let detail = "The service failed; its log names the cause under request 7.";
    let refused = Fault { code: "internal_error".to_owned(), ..Fault::new(detail) };
    let mut ana = Operator::sits_down(&site).await;
    ana.canned.push(("/api/backend/webhooks", Err(refused)));
    ana.press("2").await.is_golden("state_error");
    let detail = "https://shop.example.org does not answer: connection refused";
    let away = Fault { code: "unreachable".to_owned(), ..Fault::new(detail) };
    let mut ana = Operator::sits_down(&site).await;
    ana.press("2").await;
    ana.canned.push(("/api/", Err(away)));
    ana.press("F5").await.waits(&site, 40).await.is_golden("state_offline");
}

/// A first login: name and password, the code to scan, the recovery codes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_logins() {
    let site = seeded().await;
    let mut ana = Operator::sits_down(&site).await;
    ana.model.is_local = false;
    let secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
    let url = format!("otpauth://totp/CMS:ana%40example.org?secret={secret}&issuer=CMS");
    let setup = json!({"secret": secret, "otpauth_url": url});
    let begun = json!({"status": "totp_setup_required", "pending_token": "p", "setup": setup});
    let codes: Vec<_> = (0..8).map(|n| format!("AAAA-BBBB-CCC{n}")).collect();
    let user = json!({"id": 1, "username": "ana"});
    let done = json!({
        "token": "t", "expires_at": "2026-11-28T09:30:00Z", "user": user, "recovery_codes": codes,
    });
    ana.canned.extend([("auth/login", Ok(begun)), ("auth/verify", Ok(done))]);
    ana.canned.push(("auth/me", Ok(Json::Null)));
    ana.press(": a p p . l o g i n Enter").await.is_golden("login");
    ana.types("ana").await.press("Tab").await.types("secret").await.press("Enter").await;
    for (width, height) in [(80, 24), (100, 30)] {
        ana.resize(width, height).is_golden(&format!("login_qr_{width}x{height}"));
    }
    ana.types("123456").await.press("Enter").await.is_golden("recovery_codes");
    ana.resize(60, 16).sees("AAAA-BBBB-CCC7").sees("Type SAVED when you have stored it.");
}

/// Two people wrote the same column.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_conflict() {
    let site = TestSite::open().await;
    site.post("How to tell when a chain is worn").await;
    let mut ana = Operator::sits_down(&site).await;
    ana.press("6 / p o s t s Enter Enter e Down Down").await.types(" out").await;
    let ask = cms_http::client::Ask::patch("/api/backend/item");
    let theirs = json!({"title": "When is a chain worn?"});
    site.does(ask.query("table", "posts").query("id", 1), theirs).await;
    ana.press("Ctrl-s").await.is_golden("conflict");
}

const PICTURES: [(&str, &str); 6] = [
    ("home", "1"),
    ("webhooks", "2"),
    ("delivery", "3 Enter a"),
    ("matrix", "5 j Enter"),
    ("records", "6 / p o s t s Enter Enter"),
    ("help", "5 ?"),
];
/// Those of a site that people have sent something to.
const OF_INBOX: [(&str, &str); 4] = [
    ("inbox", "9 j Space j Space"),
    ("submission", "9 Enter"),
    ("funnel", ": f u n n e l s Enter Enter j j"),
    ("analytics", ": f u n n e l s Enter a j"),
];
/// That of a site with files.
const OF_MEDIA: (&str, &str) = ("media", ": m e d i a Enter j j");
/// Those of a site with pages.
const OF_PAGES: [(&str, &str); 2] = [
    ("page", ": p a g e s Enter Enter j j j j j j"),
    ("page_compare", ": p a g e s Enter Enter c"),
];

/// The pictures of the docs are those that the interface draws, and all of them are shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_docs_show_what_is_drawn() {
    let (site, inbox, media) = (seeded().await, with_inbox().await, with_media().await);
    let pages = with_pages().await;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tui");
    let page = std::fs::read_to_string(format!("{folder}.md")).expect("docs/tui.md");
    let pictures = PICTURES.map(|one| (&site, one)).into_iter();
    let pictures = pictures.chain(OF_INBOX.map(|one| (&inbox, one)));
    let pictures = pictures.chain(OF_PAGES.map(|one| (&pages, one)));
    for (site, (name, keys)) in pictures.chain([(&media, OF_MEDIA)]) {
        let mut ana = Operator::sits_down(site).await;
        ana.press(keys).await;
        for (kind, text) in [("txt", ana.screen()), ("svg", paint::svg(&ana.buffer()))] {
            let path = format!("{folder}/{name}.{kind}");
            if std::env::var_os("CMS_WRITE_DOCS").is_some() {
                std::fs::create_dir_all(folder).expect("a folder");
                std::fs::write(&path, &text).expect("written");
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(kept == text, "{path} is old: CMS_WRITE_DOCS=1 cargo test -p cms-tui the_docs");
        }
        assert!(page.contains(&format!("(tui/{name}.svg)")), "docs/tui.md does not show {name}");
    }
    let files = std::fs::read_dir(folder).expect("docs/tui").count();
    assert_eq!(
        files,
        2 * (PICTURES.len() + OF_INBOX.len() + OF_PAGES.len() + 1),
        "docs/tui holds a picture that nobody makes"
    );
}
