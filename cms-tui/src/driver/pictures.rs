//! The pictures of the docs. `CMS_WRITE_DOCS=1 cargo test -p cms-tui the_docs` makes them again.

use super::{
    Operator, paint,
    seed::{with_inbox, with_media, with_pages},
    seeded,
};

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
