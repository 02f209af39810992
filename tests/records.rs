//! Records as values of Rust types, on both engines.

use cms_core::{
    Actor, Code,
    items::{IfMatch, Query, asc, contains, desc, gte, lt, none_of, null, one_of},
};
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Site, SiteBuilder, each, plugins::plugin};

cms_core::content! {
    /// A post of the blog.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Post in "posts" {
        id: i64,
        title: String,
        price: Option<f64>,
        stars: i64,
        shown: bool,
        day: Option<String>,
        tags: Option<Vec<String>>,
        parent: Option<i64>,
        r#type: Option<String>,
    }
}

cms_core::content! {
    #[derive(Debug, Serialize, Deserialize)]
    struct Wrong in "posts" {
        id: i64,
        titel: String,
        stars: String,
        price: f64,
        secret: Option<String>,
    }
}

cms_core::content! {
    #[derive(Debug, Serialize, Deserialize)]
    struct Nowhere in "pots" { id: i64 }
}

cms_core::content! {
    /// A text with a version for each language.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Text in "texts" {
        id: i64,
        title: String,
        base_id: Option<i64>,
        language_short: Option<String>,
    }
}

async fn builder() -> SiteBuilder {
    let words = "title text required, price decimal, stars integer required default=3, \
        shown boolean required default=false, day date, tags json, \
        parent integer references=posts, type text, secret password";
    Site::builder().await.plugin(plugin("blog", [("posts", words)]))
}

fn post(title: &str, stars: i64) -> Post {
    Post {
        id: 0,
        title: title.to_owned(),
        price: Some(0.1 + stars as f64),
        stars,
        shown: true,
        day: Some("2026-11-27".to_owned()),
        tags: Some(vec!["a".to_owned(), "ü".to_owned()]),
        parent: None,
        r#type: Some("essay".to_owned()),
    }
}

async fn add(site: &Site, posts: impl IntoIterator<Item = Post>) {
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    for post in posts {
        site.cms.items().of::<Post>().create(&mut change, &post).await.unwrap();
    }
    change.commit().await.unwrap();
}

#[tokio::test]
async fn a_value_goes_in_and_comes_back() {
    let site = builder().await.with(|site| site.content::<Post>()).open().await;
    let posts = site.cms.items().of::<Post>();
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let made = posts.create(&mut change, &post("Hello", 4)).await.unwrap();
    assert_eq!(made, Post { id: 1, ..post("Hello", 4) });
    // Nobody else sees it yet; the change does.
    assert_eq!(posts.get_in(&mut change, 1).await.unwrap(), made);
    let child = Post { parent: Some(1), price: None, ..post("Child", 5) };
    posts.create(&mut change, &child).await.unwrap();
    change.commit().await.unwrap();

    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let edited = posts.update(&mut change, 1, |post| post.stars = 1).await.unwrap();
    assert_eq!(edited, Post { stars: 1, ..made.clone() });
    assert_eq!(posts.update(&mut change, 1, |_| ()).await.unwrap(), edited, "nothing changes");
    let gone = posts.update(&mut change, 9, |_| ()).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound);
    change.commit().await.unwrap();
    assert_eq!(posts.get(1).await.unwrap(), edited);
    let trail = site.get("/api/backend/audit?table=posts").await;
    assert_eq!(each(&trail, "action"), ["update", "create", "create", "install"]);
    assert_eq!(trail[0]["columns"], json!(["stars"]));

    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    assert_eq!(posts.delete(&mut change, 1).await.unwrap_err().code(), Code::Conflict);
    drop(change);
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    posts.delete(&mut change, 2).await.unwrap();
    posts.delete(&mut change, 1).await.unwrap();
    change.commit().await.unwrap();
    assert_eq!(posts.get(1).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn a_record_that_is_assigned_as_a_whole_keeps_its_number() {
    let site = builder().await.open().await;
    add(&site, [post("One", 1), post("Two", 2)]).await;
    let posts = site.cms.items().of::<Post>();
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let whole = posts.update(&mut change, 2, |two| *two = post("Whole", 4)).await.unwrap();
    assert_eq!(whole, Post { id: 2, ..post("Whole", 4) });
    // Nothing else has changed.
    let same = posts.update(&mut change, 2, |two| two.id = 7).await.unwrap();
    assert_eq!(same, whole);
    change.commit().await.unwrap();
    assert_eq!(posts.get(2).await.unwrap(), whole);
    for id in [0, 7] {
        assert_eq!(posts.get(id).await.unwrap_err().code(), Code::NotFound, "{id}");
    }
}

/// JSON would write them as null, and the record would have no price, or that of the default.
#[tokio::test]
async fn floats_that_are_no_numbers_are_refused_at_their_column() {
    let site = builder().await.open().await;
    add(&site, [post("One", 1)]).await;
    let posts = site.cms.items().of::<Post>();
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    for price in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let new = Post { price: Some(price), ..post("New", 1) };
        let made = posts.create(&mut change, &new).await.map(drop);
        let edited = posts.update(&mut change, 1, |one| one.price = Some(price)).await.map(drop);
        for outcome in [made, edited] {
            let refused = outcome.unwrap_err();
            let at = refused.fields()[0].field.as_str();
            assert_eq!((refused.code(), at), (Code::ValidationFailed, "price"), "{price}");
        }
    }
    // Nothing was written, so the change goes on.
    change.commit().await.unwrap();
    assert_eq!(posts.get(1).await.unwrap(), Post { id: 1, ..post("One", 1) });
    assert_eq!(site.database.count("select count(*) from posts").await, 1);
}

#[tokio::test]
async fn queries_say_what_requests_say() {
    let site = builder().await.open().await;
    add(&site, (0..1200).map(|n| post(&format!("Post {n}"), n % 7))).await;
    let posts = site.cms.items().of::<Post>();
    let titles = async |query: &Query| -> Vec<String> {
        let list = posts.list(query).await.unwrap();
        list.records.into_iter().map(|post| post.title).collect()
    };
    let query = Query::new()
        .filter("stars", gte(5))
        .filter("stars", none_of([6]))
        .filter("title", contains("POST 1"))
        .filter("parent", null(true))
        .sort(desc("stars"))
        .sort(asc("title"))
        .limit(3);
    assert_eq!(titles(&query).await, ["Post 1006", "Post 1013", "Post 1020"]);
    let list = posts.list(&query.clone().count()).await.unwrap();
    let next = query.after(list.next.unwrap());
    assert_eq!((list.total, titles(&next).await[0].as_str()), (Some(44), "Post 1027"));
    let some = Query::new().filter("title", one_of(["Post 7", "Post 9"])).filter("stars", lt(1));
    assert_eq!(titles(&some).await, ["Post 7"]);
    let mut wanted = Query::new().sort(desc("id")).expand("parent");
    wanted.offset = 1;
    let rest: Vec<Post> = posts.stream(wanted).try_collect().await.unwrap();
    assert_eq!((rest.len(), rest[0].id), (1199, 1199));
    let all: Vec<Post> = posts.stream(Query::new().sort(desc("id"))).try_collect().await.unwrap();
    assert_eq!((all.len(), all[0].id, all[1199].id), (1200, 1200, 1));
}

#[tokio::test]
async fn a_wrong_query_is_refused_as_that_of_a_request() {
    let site = builder().await.open().await;
    let posts = site.cms.items().of::<Post>();
    let many: Vec<i64> = (0..40_000).collect();
    let filters = |count| (0..count).fold(Query::new(), |query, _| query.filter("id", gte(1)));
    for (wrong, why) in [
        (Query::new().filter("id", one_of([0_i64; 0])), "needs a value"),
        (Query::new().filter("id", one_of(many)), "at most 500 values"),
        (filters(51), "At most 50 filters"),
        (Query::new().limit(0), "from 1 to 500"),
        (Query::new().limit(501), "from 1 to 500"),
        (Query::new().filter("titel", gte("x")), "has no column"),
        (Query::new().sort(asc("titel")), "has no column"),
        (Query::new().filter("stars", gte("many")), "filter[stars]"),
    ] {
        let error = posts.list(&wrong).await.unwrap_err();
        let told = error.detail();
        assert!(error.code() == Code::BadQuery && told.contains(why), "{why}: {told}");
    }
    posts.list(&filters(50)).await.unwrap();
}

#[tokio::test]
async fn a_type_that_does_not_fit_is_refused_with_all_that_is_wrong() {
    let with = builder().await.with(|site| site.content::<Wrong>().content::<Nowhere>());
    let refused = with.try_open().await.err().expect("refused");
    assert_eq!(refused.code(), Code::ValidationFailed);
    let told = refused.detail();
    for why in [
        "posts.titel does not exist",
        "posts.stars is a column of kind Integer",
        "posts.price may be null",
        "posts.secret is a password",
        "there is no content table \"pots\"",
    ] {
        assert!(told.contains(why), "{why}: {told}");
    }
}

#[tokio::test]
async fn a_record_that_a_type_cannot_hold_is_an_error_with_its_table() {
    let site = builder().await.open().await;
    add(&site, [post("Hello", 1)]).await;
    let error = site.cms.items().of::<Wrong>().list(&Query::new()).await.unwrap_err();
    assert_eq!(error.code(), Code::BadQuery, "columns that are not there are not asked for");
    let first = site.cms.items().first("posts", &Query::new()).await.unwrap().unwrap();
    assert_eq!(first["title"], "Hello");
}

#[tokio::test]
async fn a_record_without_a_type_is_a_value_too() {
    let site = builder().await.open().await;
    add(&site, [post("Hello, \"you\"", 1), post("},{", 2)]).await;
    let items = site.cms.items();
    let list = items.list("posts", &Query::new().sort(desc("stars"))).await.unwrap();
    let records = list.records().unwrap();
    let titles: Vec<_> = records.iter().map(|record| record["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["},{", "Hello, \"you\""]);
    assert_eq!(json!(records)[1]["tags"], json!(["a", "ü"]));
    let hello = items.get("posts", "1", &Query::new()).await.unwrap();
    assert_eq!((&hello, hello.value("titel")), (&records[1], &json!(null)));
    let typed = Post { id: 1, ..post("Hello, \"you\"", 1) };
    assert_eq!(hello.values_as::<Post>().unwrap(), typed);
    assert_eq!(hello.values_as::<Wrong>().unwrap_err().code(), Code::Internal);

    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let patch = json!({"stars": 5});
    let patch = patch.as_object().unwrap();
    let any = IfMatch::Any;
    let written = items.update(&mut change, "posts", "1", None, &any, patch).await.unwrap();
    assert_eq!((&written.record["stars"], written.before), (&json!(5), Some(hello)));
    let same = items.update(&mut change, "posts", "1", None, &any, patch).await.unwrap();
    assert_eq!(same.before.as_ref(), Some(&same.record));
    let none = Query::new().filter("stars", gte(6));
    assert!(
        items.list_in(&mut change, "posts", &none).await.unwrap().records().unwrap().is_empty()
    );
}

#[tokio::test]
async fn a_language_chooses_the_version() {
    let mut declared = plugin("blog", [("texts", "title text required")]);
    declared["tables"][0]["multilanguage"] = json!(true);
    let builder = Site::builder().await.plugin(declared);
    let site = builder.with(|site| site.content::<Text>()).open().await;
    let texts = site.cms.items().of::<Text>();
    let german = texts.clone().language("de");
    let text = |title: &str, base_id| {
        let title = title.to_owned();
        Text { id: 0, title, base_id, language_short: None }
    };
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    let bell = texts.create(&mut change, &text("Bell", None)).await.unwrap();
    let version = german.create(&mut change, &text("Glocke", Some(bell.id))).await.unwrap();
    assert_eq!(version.language_short.as_deref(), Some("de"));
    assert_eq!(german.get_in(&mut change, bell.id).await.unwrap(), version);
    let edit = |text: &mut Text| text.title = "Klingel".to_owned();
    let edited = german.update(&mut change, bell.id, edit).await.unwrap();
    assert_eq!(edited, Text { title: "Klingel".to_owned(), ..version });
    change.commit().await.unwrap();

    assert_eq!(texts.get(bell.id).await.unwrap(), bell);
    assert_eq!(german.get(bell.id).await.unwrap(), edited);
    assert_eq!(german.list(&Query::new()).await.unwrap().records, std::slice::from_ref(&edited));
    let english = german.list(&Query::new().language("en")).await.unwrap();
    assert_eq!(english.records, std::slice::from_ref(&bell), "the query decides");

    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    german.delete(&mut change, bell.id).await.unwrap();
    change.commit().await.unwrap();
    assert_eq!(german.get(bell.id).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(texts.get(bell.id).await.unwrap(), bell);
}
