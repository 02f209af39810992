//! Stored text that would break a screen: huge, obeyed by terminals, wide, piled up.

use cms_core::Actor;
use serde_json::{Value as Json, json};

use super::{Operator, site::TestSite};

/// What no cell may hold: control characters, marks of direction, joiners.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
pub(super) fn is_whole(operator: &mut Operator) {
    for (width, height) in [(60, 16), (80, 24), (100, 30), (200, 60)] {
        let screen = operator.resize(width, height).screen();
        let bad = screen.chars().find(|c| *c != '\n' && is_hostile(*c));
        assert_eq!(bad, None, "{screen}");
        assert_eq!(screen.lines().count(), usize::from(height));
        let too_wide = screen.lines().find(|line| crate::text::width(line) > width.into());
        assert_eq!(too_wide, None);
    }
}

fn values() -> Vec<String> {
    let long = |text: &str, bytes: usize| text.repeat(bytes / text.len());
    vec![
        long("x", 10_000_000),
        long("日本語 ", 10_000_000),
        long("e\u{301}\u{301}\u{301}", 10_000_000),
        long("\u{1b}[2J\u{1b}]52;c;aGk=\u{7}", 1_000_000),
        long("line\n", 10_000_000),
        "\u{202e}txt.exe\u{2066}\u{200f}\u{200d}👩\u{200d}👩\u{9b}31m\r\n\t\u{feff}end".into(),
        "\u{301}".repeat(100_000),
        "👨\u{200d}👩\u{200d}👧\u{1f3fd}".repeat(100),
    ]
}

/// Ten megabytes come in by an import of the site's owner; over HTTP a body is smaller.
async fn store(site: &TestSite, text: String) {
    let record = json!({"title": text.chars().take(5_000).collect::<String>(),
        "body": text, "language_short": "en"});
    let mut change = site.cms.change(Actor::System).await.expect("a change");
    let record = record.as_object().cloned().unwrap_or_default();
    site.cms.items().create(&mut change, "posts", &record).await.expect("created");
    change.commit().await.expect("committed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_stored_text_breaks_a_screen() {
    let site = TestSite::open().await;
    for text in values() {
        store(&site, text).await;
    }
    let mut ana = Operator::sits_down(&site).await;
    ana.press("6").await.press("/").await.types("posts").await.press("Enter Enter").await;
    is_whole(&mut ana);
    let mut most = 0;
    for _ in values() {
        for keys in ["z", "Esc", "e", "Esc", ": s h o w Enter", "Esc"] {
            ana.press(keys).await;
            is_whole(&mut ana);
        }
        // What it holds of ten megabytes is little.
        let screen = ana.model.screen().expect("a screen");
        let row = screen.row().map(Json::to_string).expect("a row");
        assert!(row.len() < 10_000, "rows of a list are for looking: {}", row.len());
        let held = screen.held();
        assert!(held < 2_000_000, "the details are cut: {held} bytes");
        most = most.max(held);
        ana.press("j").await;
    }
    assert!(most > 200_000, "the details of long records were there: {most} bytes");
}

/// Names of things and messages of receivers are as hostile as records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_name_breaks_a_screen() {
    let site = TestSite::open().await;
    // Control characters in names are refused by the service itself.
    let name = "日本\u{301}\u{301}\u{301}\u{301}👩\u{200d}👩👨\u{1f3fd}";
    site.key(name, json!({})).await;
    let mut ana = Operator::sits_down(&site).await;
    for keys in ["5", "z", "Esc", "x", "Esc", "S", "Esc", "c", "Esc", "Enter", "?"] {
        ana.press(keys).await;
        is_whole(&mut ana);
    }
}
