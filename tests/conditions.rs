//! Conditions that combine with `and`, `or`, `not`, on both engines: they select what a reading in
//! Rust selects, null included, and lead past no right.

use cms_core::items::{Query, column, eq, not, null};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use crate::support::{Reply, Site};

const ITEM: &str = "/api/backend/item?table=things";

/// A condition of these tests, read by themselves too.
#[derive(Clone, Debug)]
enum Tree {
    Is(&'static str, &'static str, Json),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Not(Box<Tree>),
}

impl Tree {
    fn json(&self) -> Json {
        let all = |list: &[Self]| list.iter().map(Self::json).collect::<Vec<_>>();
        match self {
            Self::Is(column, op, value) => json!({*column: {*op: value}}),
            Self::All(list) => json!({"and": all(list)}),
            Self::Any(list) => json!({"or": all(list)}),
            Self::Not(one) => json!({"not": one.json()}),
        }
    }

    fn holds(&self, row: &Json) -> bool {
        match self {
            Self::Is(column, op, value) => compares(&row[*column], op, value),
            Self::All(list) => list.iter().all(|one| one.holds(row)),
            Self::Any(list) => list.iter().any(|one| one.holds(row)),
            Self::Not(one) => !one.holds(row),
        }
    }
}

/// As docs/api.md has it: only the negative ones match null.
fn compares(held: &Json, op: &str, value: &Json) -> bool {
    let one_of = || value.as_array().unwrap().contains(held);
    let order = || match (held, value) {
        (Json::Number(a), Json::Number(b)) => a.as_f64().unwrap().partial_cmp(&b.as_f64().unwrap()),
        (Json::String(a), Json::String(b)) => a.partial_cmp(b),
        _ => None,
    };
    let text = |one: &Json| one.as_str().map(str::to_ascii_lowercase);
    match op {
        "eq" => held == value,
        "ne" => held != value,
        "in" => one_of(),
        "nin" => !one_of(),
        "null" => held.is_null() == value.as_bool().unwrap(),
        "contains" => text(held).is_some_and(|held| held.contains(&text(value).unwrap())),
        "starts_with" => held.as_str().is_some_and(|t| t.starts_with(value.as_str().unwrap())),
        "ends_with" => held.as_str().is_some_and(|t| t.ends_with(value.as_str().unwrap())),
        "gt" => order().is_some_and(|order| order.is_gt()),
        "gte" => order().is_some_and(|order| order.is_ge()),
        "lt" => order().is_some_and(|order| order.is_lt()),
        "lte" => order().is_some_and(|order| order.is_le()),
        _ => panic!("{op}"),
    }
}

fn leaves() -> Vec<Tree> {
    let mut all = Vec::new();
    for op in ["eq", "ne", "gt", "gte", "lt", "lte"] {
        all.push(Tree::Is("n", op, json!(1)));
        all.push(Tree::Is("t", op, json!("Xy")));
        all.push(Tree::Is("price", op, json!(0.5)));
    }
    for op in ["contains", "starts_with", "ends_with"] {
        all.push(Tree::Is("t", op, json!("x")));
    }
    for op in ["in", "nin"] {
        all.push(Tree::Is("n", op, json!([1, 7])));
        all.push(Tree::Is("t", op, json!(["x", "a,b"])));
    }
    all.push(Tree::Is("flag", "eq", json!(true)));
    all.push(Tree::Is("flag", "ne", json!(true)));
    for column in ["n", "t", "flag", "price"] {
        all.extend([true, false].map(|is_null| Tree::Is(column, "null", json!(is_null))));
    }
    all
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }

    fn tree(&mut self, leaves: &[Tree], depth: usize) -> Tree {
        let list = |dice: &mut Self| {
            (0..=dice.below(3)).map(|_| dice.tree(leaves, depth - 1)).collect::<Vec<_>>()
        };
        match if depth == 0 { 0 } else { self.below(5) } {
            0 => leaves[self.below(leaves.len())].clone(),
            1 | 2 => Tree::Any(list(self)),
            3 => Tree::All(list(self)),
            _ => Tree::Not(Box::new(self.tree(leaves, depth - 1))),
        }
    }
}

/// Every combination of values and null in the columns.
async fn site() -> (Site, Vec<Json>) {
    let columns = json!([
        {"name": "n", "type": "integer"}, {"name": "t", "type": "text"},
        {"name": "flag", "type": "boolean"}, {"name": "price", "type": "decimal"},
        {"name": "secret", "type": "password"},
    ]);
    let manifest = json!({"id": "shop", "tables": [{"name": "things", "columns": columns}],
        "endpoints": [{"modelPath": "things", "endpoint": "offers", "public": true}]});
    let builder = Site::builder().await.settings(|all| all.cache.enabled = true);
    let site = builder.plugin(manifest).open().await;
    let mut rows = Vec::new();
    for n in [json!(null), json!(1), json!(2)] {
        for t in [json!(null), json!("x"), json!("Xy"), json!("a,b"), json!("")] {
            for flag in [json!(null), json!(true), json!(false)] {
                for price in [json!(null), json!(0.5)] {
                    rows.push(json!({"n": n, "t": t, "flag": flag, "price": price}));
                }
            }
        }
    }
    let made = site.create(ITEM, Json::Array(rows)).await;
    let rows = made.as_array().unwrap().clone();
    assert_eq!(rows.len(), 90);
    (site, rows)
}

async fn found(site: &Site, filter: &Json) -> Vec<i64> {
    let text = filter.to_string();
    let query = Query::parse([("filter", text.as_str()), ("fields", "id"), ("limit", "500")]);
    let list = site.cms.items().list("things", &query.unwrap()).await;
    let list = list.unwrap_or_else(|error| panic!("{filter}: {error:?}"));
    list.records().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

fn encoded(filter: &Json) -> String {
    format!("filter={}", utf8_percent_encode(&filter.to_string(), NON_ALPHANUMERIC))
}

fn id(row: &Json) -> i64 {
    row["id"].as_i64().unwrap()
}

fn ids(reply: &Reply) -> Vec<i64> {
    reply.data().as_array().unwrap().iter().map(id).collect()
}

#[tokio::test]
async fn conditions_select_what_they_say() {
    let (site, rows) = site().await;
    let leaves = leaves();
    let mut trees = leaves.clone();
    trees.extend(leaves.iter().map(|leaf| Tree::Not(Box::new(leaf.clone()))));
    let mut dice = Dice(1);
    trees.extend((0..400).map(|_| dice.tree(&leaves, 3)));
    let (mut some, mut none) = (0, 0);
    for tree in trees {
        let expected: Vec<_> = rows.iter().filter(|row| tree.holds(row)).map(id).collect();
        let count = if expected.is_empty() { &mut none } else { &mut some };
        *count += 1;
        assert_eq!(found(&site, &tree.json()).await, expected, "{}", tree.json());
    }
    assert!(some > 350 && none > 5, "{some} select something, {none} nothing");
}

#[tokio::test]
async fn both_forms_hold_together_and_pages_follow_one_another() {
    let (site, rows) = site().await;
    let either = json!({"or": [{"n": {"eq": 2}}, {"t": {"null": true}}]});
    let expected = |row: &&Json| (row["n"] == 2 || row["t"].is_null()) && row["flag"] == true;
    let mut wanted: Vec<_> = rows.iter().filter(expected).collect();
    wanted.sort_by_key(|row| (row["price"].is_null(), id(row)));
    let wanted: Vec<_> = wanted.into_iter().map(id).collect();
    let line = |more: &str| {
        format!("GET {ITEM}&{}&filter[flag]=true&sort=price&limit=5{more}", encoded(&either))
    };
    let (mut seen, mut more, mut next) = (Vec::new(), "&count=true".to_owned(), String::new());
    loop {
        let page = site.admin(&line(&more)).expect(200).await;
        assert_eq!(page.json()["meta"]["total"].as_u64().unwrap(), wanted.len() as u64);
        seen.extend(ids(&page));
        let Some(cursor) = page.json()["meta"]["next"].as_str().map(str::to_owned) else { break };
        more = format!("&count=true&cursor={cursor}");
        next = cursor;
    }
    assert_eq!(seen, wanted);
    assert!(seen.len() > 10);
    // Another list refuses the cursor.
    for other in [
        format!("GET {ITEM}&filter[flag]=true&sort=price&limit=5&cursor={next}"),
        line(&format!("&cursor={next}")).replace("%3A2%7D", "%3A1%7D"),
    ] {
        site.admin(&other).refused(400, "bad_query").await;
    }
    // As programs write it.
    let query = Query::new()
        .filter("flag", eq(true))
        .any([column("n", eq(2)), column("t", null(true))])
        .matching(not(column("price", null(false)).or(column("n", null(true)))))
        .limit(500);
    let list = site.cms.items().list("things", &query).await.unwrap();
    let kept = |row: &&Json| expected(row) && row["price"].is_null() && !row["n"].is_null();
    assert_eq!(list.records().unwrap().len(), rows.iter().filter(kept).count());
    // Visitors ask so too, each for a reply of its own, also when it is kept.
    let (not_two, two) = (json!({"not": {"n": {"eq": 2}}}), json!({"n": {"eq": 2}}));
    for (filter, count) in [(&not_two, 60), (&two, 30), (&not_two, 60), (&two, 30)] {
        let line = format!("GET /api/offers?limit=500&{}", encoded(filter));
        assert_eq!(ids(&site.ask(&line).expect(200).await).len(), count, "{filter}");
    }
}

#[tokio::test]
async fn requests_are_refused_with_a_hint() {
    let (site, rows) = site().await;
    let id = &rows[0]["id"];
    let many: Vec<Json> = (0..51).map(|n| json!({"n": {"eq": n}})).collect();
    let values: Vec<i64> = (0..501).collect();
    for (filter, hint) in [
        (json!({}), "name a column"),
        (json!({"or": []}), "leave it out"),
        (json!({"or": many}), "At most 50 filters"),
        (json!({"not": {"n": {"in": values}}}), "at most 500 values"),
        (json!({"n": {"like": 1}}), "there are eq, ne"),
        (json!({"or": [{"m": {"eq": 1}}]}), "no column \"m\""),
        (json!({"t.n": {"eq": 1}}), "no column \"t.n\""),
        (json!({"not": {"secret": {"eq": "x"}}}), "no column \"secret\""),
        (json!({"or": [{"n": {"eq": "many"}}]}), "filter[n]"),
        (json!({"or": [{"n": {"contains": "1"}}]}), "is not text"),
        (json!({"n": {"eq": null}}), "{\"n\":{\"null\":true}}"),
    ] {
        for more in ["".to_owned(), format!("&id={id}")] {
            let line = format!("GET {ITEM}&{}{more}", encoded(&filter));
            let refused = site.admin(&line).refused(400, "bad_query").await.json();
            let detail = refused["detail"].as_str().unwrap();
            assert!(detail.contains(hint), "{filter}: {detail}");
        }
    }
    let one = encoded(&json!({"or": [{"n": {"eq": 1}}, {"t": {"eq": "x"}}]}));
    site.admin(&format!("GET {ITEM}&{one}&{one}")).refused(400, "bad_query").await;
    // One record must match as well.
    site.admin(&format!("GET {ITEM}&{one}&id={id}")).refused(404, "not_found").await;
    let inbox = format!("GET /api/backend/formfunnel?action=submissions&{one}");
    site.admin(&inbox).refused(400, "bad_query").await;
    let empty = site.cms.items().list("things", &Query::new().any([])).await.unwrap_err();
    assert!(empty.detail().contains("empty"), "{}", empty.detail());
    let deep = (0..9).fold(column("n", eq(1)), |one, _| column("n", eq(1)).or(one));
    let query = Query::new().matching(deep);
    for refused in [
        site.cms.items().list("things", &query).await.map(drop),
        site.cms.items().get("things", &id.to_string(), &query).await.map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert!(refused.detail().contains("at most 8 deep"), "{}", refused.detail());
    }
}

#[tokio::test]
async fn a_right_is_not_loosened() {
    let (site, rows) = site().await;
    let of_two = |row: &&Json| row["n"] == 2;
    let all = json!({"or": [{"n": {"eq": 2}}, {"not": {"n": {"eq": 2}}}]});
    let two: Vec<_> = rows.iter().filter(of_two).map(id).collect();
    let other = id(&rows[0]);

    // A fixed filter: conditions only narrow it.
    let key = site.key(&[&format!("GET {ITEM}&filter[n][eq]=2")]).await;
    let fixed = format!("GET {ITEM}&filter[n][eq]=2&limit=500");
    let line = format!("{fixed}&{}", encoded(&all));
    assert_eq!(ids(&site.ask(&line).key(&key).expect(200).await), two);
    let line = format!("{fixed}&{}&id={other}", encoded(&all));
    site.ask(&line).key(&key).refused(404, "not_found").await;
    let line = format!("GET {ITEM}&{}", encoded(&json!({"n": {"eq": 2}})));
    site.ask(&line).key(&key).refused(401, "api_key_forbidden").await;

    // A row that fixes `filter` wants exactly that text, once.
    let text = json!({"n": {"eq": 2}}).to_string();
    let key = site.key(&[&format!("GET {ITEM}&filter={text}")]).await;
    let fixed = format!("GET {ITEM}&{}&limit=500", encoded(&json!({"n": {"eq": 2}})));
    assert_eq!(ids(&site.ask(&fixed).key(&key).expect(200).await), two);
    let narrower = format!("{fixed}&filter[t]=x");
    assert_eq!(ids(&site.ask(&narrower).key(&key).expect(200).await).len(), 6);
    for wrong in [
        format!("GET {ITEM}"),
        format!("GET {ITEM}&filter[n][eq]=2"),
        format!("GET {ITEM}&{}", encoded(&all)),
        format!("GET {ITEM}&id={other}"),
    ] {
        site.ask(&wrong).key(&key).refused(401, "api_key_forbidden").await;
    }
    for again in [&all, &json!({"n": {"eq": 2}})] {
        site.ask(&format!("{fixed}&{}", encoded(again))).key(&key).refused(400, "bad_query").await;
    }
    site.ask(&format!("{fixed}&id={other}")).key(&key).refused(404, "not_found").await;

    // A row that fixes `fields` hides the others from conditions.
    let key = site.key(&[&format!("GET {ITEM}&fields=id,n")]).await;
    let fixed = format!("GET {ITEM}&fields=id,n");
    let shown = json!({"or": [{"n": {"eq": 2}}, {"id": {"lt": 0}}]});
    site.ask(&format!("{fixed}&{}", encoded(&shown))).key(&key).expect(200).await;
    for hidden in [
        json!({"t": {"eq": "x"}}),
        json!({"n": {"eq": 2}, "t": {"null": false}}),
        json!({"or": [{"n": {"eq": 2}}, {"not": {"and": [{"flag": {"eq": true}}]}}]}),
    ] {
        let line = format!("{fixed}&{}", encoded(&hidden));
        site.ask(&line).key(&key).refused(401, "api_key_forbidden").await;
        site.admin(&line).expect(200).await;
    }
    // What cannot be read names nothing, and is refused as it is for all.
    site.ask(&format!("{fixed}&filter=%7B")).key(&key).refused(400, "bad_query").await;
    // Nobody passes on a row that asks of a hidden column.
    let clerk = site.key(&["POST /api/backend/keys", &format!("GET {ITEM}&fields=id,n")]).await;
    let row = |filter: &Json| {
        let query = json!({"table": "things", "fields": "id,n", "filter": filter.to_string()});
        let right = json!({"endpoint": "/api/backend/item", "query": query, "methods": ["GET"]});
        json!({"name": "x", "rights": [right]})
    };
    let wider = row(&json!({"not": {"t": {"eq": "x"}}}));
    let keys = "POST /api/backend/keys";
    site.ask(keys).key(&clerk).json(wider).refused(403, "permission_denied").await;
    site.ask(keys).key(&clerk).json(row(&shown)).expect(201).await;
}
