//! Types and forms that the samples lack.

use serde_json::{Value as Json, json};

use super::{adopting, item, matching, walk};
use crate::support::{Site, TestDatabase};

async fn adopted(sqlite: &str, postgres: &str, names: &[&str]) -> Site {
    let database = TestDatabase::new().await;
    database.run(if database.is_postgres() { postgres } else { sqlite }).await;
    Site::on(database).plugin(adopting("other", names)).open().await
}

#[tokio::test]
async fn keys_may_be_bytes() {
    let site = adopted(
        "create table b (id blob primary key, n int); insert into b \
         values (x'00ff10', 1), (x'ab', 2), (x'01', 3), (x'', 4); \
         create table bb (a binary(2), d date, primary key (a, d)); \
         insert into bb values (x'0a0b', '2024-02-29'), (x'0a0c', '2024-02-28')",
        "create table b (id bytea primary key, n int); insert into b \
         values ('\\x00ff10', 1), ('\\xab', 2), ('\\x01', 3), ('', 4); \
         create table bb (a bytea, d date, primary key (a, d)); \
         insert into bb values ('\\x0a0b', '2024-02-29'), ('\\x0a0c', '2024-02-28')",
        &["b", "bb"],
    )
    .await;
    assert_eq!(
        walk(&site, "b", 1, &[]).await,
        [
            r#"{"id":"","n":4}"#, r#"{"id":"AP8Q","n":1}"#, r#"{"id":"AQ==","n":3}"#,
            r#"{"id":"qw==","n":2}"#
        ]
    );
    let all = walk(&site, "bb", 1, &[("sort", "-d")]).await;
    assert_eq!(all, [r#"{"a":"Cgs=","d":"2024-02-29"}"#, r#"{"a":"Cgw=","d":"2024-02-28"}"#]);
    assert_eq!(site.get(&item("b", &[("id", "AP8Q")])).await["n"], 1);
    for (id, status, code) in [("AP8R", 404, "not_found"), ("no base64", 400, "bad_query")] {
        let line = format!("GET {}", item("b", &[("id", id)]));
        site.admin(&line).refused(status, code).await;
    }
    site.create(&item("bb", &[]), json!({"a": "/w==", "d": "2024-03-01"})).await;
    let one = item("bb", &[("id", r#"["/w==","2024-03-01"]"#)]);
    let changed = site.admin(&format!("PATCH {one}")).json(json!({"a": "/wA="})).expect(200).await;
    assert_eq!(changed.text(), r#"{"data":{"a":"/wA=","d":"2024-03-01"}}"#);
    site.delete(&item("bb", &[("id", r#"["/wA=","2024-03-01"]"#)])).await;
    let key = r#"select count(*) from cms_audit where row_id = '["/w==","2024-03-01"]'"#;
    assert_eq!(site.database.count(key).await, 1);
}

#[tokio::test]
async fn rows_without_a_key_may_be_the_same() {
    let values =
        "insert into log values (1, 'a'), (1, 'a'), (1, 'a'), (null, null), (null, null), (2, 'b')";
    let sql = format!(
        "create table log (n int, t text); {values}; create view wide as select {}",
        columns(120)
    );
    let site = adopted(&sql, &sql, &["log", "wide"]).await;
    let (a, b, null) = (r#"{"n":1,"t":"a"}"#, r#"{"n":2,"t":"b"}"#, r#"{"n":null,"t":null}"#);
    assert_eq!(walk(&site, "log", 2, &[]).await, [a, a, a, b, null, null]);
    assert_eq!(walk(&site, "log", 1, &[("sort", "-n")]).await, [b, a, a, a, null, null]);
    let wide = walk(&site, "wide", 1, &[]).await;
    assert_eq!(serde_json::from_str::<Json>(&wide[0]).unwrap().as_object().unwrap().len(), 120);
    site.admin(&format!("POST {}", item("log", &[])))
        .json(json!({"n": 1}))
        .refused(405, "method_not_allowed")
        .await;
}

fn columns(n: usize) -> String {
    (0..n).map(|i| format!("{i} as c{i}")).collect::<Vec<_>>().join(", ")
}

/// Names that our own SQL uses too, and such as only quotes allow.
#[tokio::test]
async fn names_may_be_anything() {
    let sql = r#"create table "t" (
            "o" integer primary key, "t" text, "n" int, "r" int, "j" int, "k" int, "i" int,
            "a ""b"" 'c'" text, "select" text, "$1" text, "Ü%" text
        );
        insert into "t" ("o", "t") values (1, 'x')"#;
    let site = adopted(sql, sql, &["t"]).await;
    let changed = json!({"a \"b\" 'c'": "v", "select": "s", "$1": "$1", "Ü%": "ü", "n": 5});
    let changed =
        site.admin("PATCH /api/backend/item?table=t&id=1").json(changed).expect(200).await;
    let text = concat!(
        r#"{"o":1,"t":"x","n":5,"r":null,"j":null,"k":null,"i":null,"#,
        r#""a \"b\" 'c'":"v","select":"s","$1":"$1","Ü%":"ü"}"#
    );
    assert_eq!(changed.text(), format!("{{\"data\":{text}}}"));
    for condition in [
        ("filter[a \"b\" 'c'][eq]", "v"),
        ("filter[$1][contains]", "$"),
        ("filter[Ü%]", "ü"),
        ("sort", "a \"b\" 'c'"),
    ] {
        assert_eq!(matching(&site, "t", condition).await.len(), 1, "{condition:?}");
    }
}

#[tokio::test]
async fn sqlite_columns_may_hold_anything() {
    let database = TestDatabase::sqlite().await;
    let sql = "create table v (id integer primary key, b boolean, d decimal(10,2), f double, \
               t text, x, dt datetime, da date, n integer, raw blob); \
               insert into v values \
               (1, 'true', 0.1 + 0.2, 0.1 + 0.2, x'00ff', 'text', '2024-05-06T07:08:09+02:00', \
               '2024-05-06 00:00:00', 1.5, 'tëxt'), \
               (2, 'f', 12, 5, 'é', 2, '2024-05-06 05:08', '2024-05-06', 9007199254740993, \
               x'01'), \
               (3, 1, null, null, null, 1.5, '2024-05-06', null, null, null)";
    database.run(sql).await;
    let site = Site::on(database).plugin(adopting("other", &["v"])).open().await;
    assert_eq!(
        walk(&site, "v", 1, &[]).await,
        [
            concat!(
                r#"{"id":1,"b":true,"d":0.3,"f":0.30000000000000004,"t":"AP8=","#,
                r#""x":"text","dt":"2024-05-06T05:08:09Z","da":"2024-05-06","#,
                r#""n":1.5,"raw":"dMOreHQ="}"#
            ),
            concat!(
                r#"{"id":2,"b":false,"d":12,"f":5,"t":"é","#,
                r#""x":2,"dt":"2024-05-06T05:08:00Z","da":"2024-05-06","#,
                r#""n":9007199254740993,"raw":"AQ=="}"#
            ),
            concat!(
                r#"{"id":3,"b":true,"d":null,"f":null,"t":null,"#,
                r#""x":1.5,"dt":"2024-05-06T00:00:00Z","da":null,"n":null,"raw":null}"#
            ),
        ]
    );
    for sort in ["b", "-b", "d", "-d", "f", "x", "-x", "dt", "-dt", "da", "n", "-n"] {
        assert_eq!(walk(&site, "v", 1, &[("sort", sort)]).await.len(), 3, "{sort}");
    }
    assert_eq!(matching(&site, "v", ("filter[b][eq]", "true")).await.len(), 2);
    assert_eq!(matching(&site, "v", ("filter[dt][eq]", "2024-05-06T05:08:09Z")).await.len(), 1);
}

/// Bytes, text that is not UTF-8 and numbers at the ends of their range hide no other row.
#[tokio::test]
async fn sqlite_values_of_another_type_are_read() {
    let database = TestDatabase::sqlite().await;
    let sql = "create table v (id integer primary key, b boolean, d decimal(10,2), f double, \
               t text, dt datetime, da date, ti time, n integer, j json, u text); \
               insert into v values \
               (1, x'00ff', x'00ff', x'00ff', x'00ff', x'00ff', x'00ff', x'00ff', x'00ff', \
               x'00ff', null), \
               (2, 1, 'abc', 'abc', 'y', '2024-05-06', '2024-05-06', '09:30', 2, '{\"a\": 1}', \
               cast(x'61ff62' as text)), \
               (3, 0, 1.5, 9e999, 'x', '2024-05-06 07:08:09', '2024-05-07', '10:30', 3, x'7b7d', \
               'u')";
    database.run(sql).await;
    let site = Site::on(database).plugin(adopting("other", &["v"])).open().await;
    assert_eq!(
        walk(&site, "v", 1, &[]).await,
        [
            concat!(
                r#"{"id":1,"b":true,"d":"AP8=","f":"AP8=","t":"AP8=","dt":"AP8=","da":"AP8=","#,
                r#""ti":"AP8=","n":"AP8=","j":"AP8=","u":null}"#
            ),
            concat!(
                r#"{"id":2,"b":true,"d":"abc","f":"abc","t":"y","dt":"2024-05-06T00:00:00Z","#,
                r#""da":"2024-05-06","ti":"09:30","n":2,"j":{"a":1},"u":"a�b"}"#
            ),
            concat!(
                r#"{"id":3,"b":false,"d":1.5,"f":"Infinity","t":"x","dt":"2024-05-06T07:08:09Z","#,
                r#""da":"2024-05-07","ti":"10:30","n":3,"j":{},"u":"u"}"#
            ),
        ]
    );
    for column in ["b", "d", "f", "t", "dt", "da", "ti", "n", "j"] {
        for sort in [column.to_owned(), format!("-{column}")] {
            let found = walk(&site, "v", 1, &[("sort", &sort), ("fields", "id")]).await;
            let mut once = found.clone();
            once.sort_unstable();
            assert_eq!(once, [r#"{"id":1}"#, r#"{"id":2}"#, r#"{"id":3}"#], "{sort}: {found:?}");
        }
    }
    for id in ["1", "2", "3"] {
        let one = item("v", &[("id", id)]);
        assert_eq!(site.patch(&one, json!({"n": 7})).await["n"], 7, "{id}");
        site.delete(&one).await;
    }
}

/// A value of an adopted table that serde_json will not read does not stand in the way of changes
/// to its row.
#[tokio::test]
async fn json_may_be_nested_deeply() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let sql = format!(
        "create table d (id integer primary key, n int, j json); \
         insert into d values (1, 1, '{deep}')"
    );
    let site = adopted(&sql, &sql, &["d"]).await;
    let one = "/api/backend/item?table=d&id=1";
    let record = |n: i32| format!("{{\"data\":{{\"id\":1,\"n\":{n},\"j\":{deep}}}}}");
    assert_eq!(site.admin(&format!("GET {one}")).expect(200).await.text(), record(1));
    assert_eq!(
        site.admin(&format!("PATCH {one}")).json(json!({"n": 2})).expect(200).await.text(),
        record(2)
    );
    let list = json!({"table": "d", "column": "j", "id": 1, "add": ["x"]});
    site.invalid("POST /api/backend/actions/checklist", list).await;
    site.delete(one).await;
    for like in [r#"'%"changed":["n"]%'"#, r#"'%"j":"nested too deeply; SHA-256 %"n":2%'"#] {
        let events = format!("select count(*) from cms_events where body like {like}");
        assert!(site.database.count(&events).await > 0, "{like}");
    }
}

#[tokio::test]
async fn a_record_that_is_expanded_has_the_same_bytes() {
    let sql = |json: &str| {
        format!(
            "create table b (id integer primary key, j {json}); \
             create table a (id integer primary key, b integer references b (id)); \
             insert into b values (1, '{{\"a\":  [1, 2]}}'); insert into a values (1, 1)"
        )
    };
    let site = adopted(&sql("json"), &sql("jsonb"), &["a", "b"]).await;
    let record = r#"{"id":1,"b":{"id":1,"j":{"a":[1,2]}}}"#;
    let read = site.admin("GET /api/backend/item?table=a&id=1&expand=b").expect(200).await;
    assert_eq!(read.text(), format!("{{\"data\":{record}}}"));
    assert_eq!(walk(&site, "a", 1, &[("expand", "b")]).await, [record]);
}

#[tokio::test]
async fn a_column_that_is_dropped_meanwhile_is_told() {
    let sql = "create table t (id integer primary key, a text, b text); \
               insert into t values (1, 'x', 'y')";
    let site = adopted(sql, sql, &["t"]).await;
    site.database.run("alter table t drop column b").await;
    for line in ["POST /api/backend/item?table=t", "PATCH /api/backend/item?table=t&id=1"] {
        let body = json!({"id": 2, "a": "z", "b": "z"});
        let refused = site.admin(line).json(body).refused(400, "database_error").await;
        let told = "lost a column since the service read its schema (b)";
        assert!(refused.text().contains(told), "{}", refused.text());
    }
}

/// Triggers of others skip rows, or refuse them in words that are not for callers.
#[tokio::test]
async fn what_others_skip_or_refuse_is_told() {
    let tables = "create table p (id integer primary key); \
                  create table log (v text not null); \
                  create table t (id integer primary key, v text, kind text, \
                  p integer references p (id) on delete restrict, \
                  check (kind <> 'v' or p is null)); \
                  insert into p values (1); insert into t values (1, 'x', null, 1);";
    let refuse = "begin select case new.v when 'skip' then raise(ignore) \
                  when 'boom' then raise(abort, 'no kind') end; end";
    let site = adopted(
        &format!(
            "{tables} create trigger a before insert on t {refuse}; \
             create trigger b before update on t {refuse}; \
             create trigger c before delete on t begin select raise(ignore); end; \
             create trigger d after insert on t when new.v = 'log' \
             begin insert into log values (null); end"
        ),
        &format!(
            "{tables} create function react() returns trigger language plpgsql as $$ begin \
             if tg_op = 'DELETE' then return null; end if; \
             if new.v = 'skip' then return null; end if; \
             if new.v = 'log' then insert into log values (null); end if; \
             if new.v = 'boom' then raise 'no kind'; end if; return new; end $$; \
             create trigger a before insert or update or delete on t \
             for each row execute function react()"
        ),
        &["t", "p"],
    )
    .await;
    let traces = site.traces().await;
    let (skips, boom) = ("a trigger or rule of t skips it", "A trigger of t refuses the row.");
    let rule = "The row breaks a rule of t";
    let (post, patch) = ("POST /api/backend/item?table=t", "PATCH /api/backend/item?table=t&id=1");
    for (line, body, about) in [
        (post, json!({"id": 2, "v": "skip", "kind": "k"}), skips),
        (post, json!({"id": 2, "v": "boom", "kind": "k"}), boom),
        (post, json!([{"id": 2, "v": "x"}, {"id": 3, "v": "skip"}]), skips),
        // The column `v` of another table.
        (post, json!({"id": 2, "v": "log"}), "A column of t may not be null."),
        (patch, json!({"v": "skip"}), skips),
        (patch, json!({"v": "boom", "kind": "k"}), boom),
        (patch, json!({"v": "x", "kind": "v"}), rule),
    ] {
        let reply = site.admin(line).json(body).refused(400, "database_error").await;
        assert!(reply.text().contains(about), "{}", reply.text());
        // SQLite quotes the rule, and only its columns are named, written or not.
        let is_quoted = about == rule && !site.database.is_postgres();
        let named = if is_quoted { &["kind", "p"][..] } else { &[] };
        let errors = reply.json()["errors"].as_array().cloned().unwrap_or_default();
        let fields: Vec<_> = errors.iter().map(|one| one["field"].as_str().unwrap()).collect();
        assert_eq!(fields, named);
    }
    let delete = site.admin("DELETE /api/backend/item?table=t&id=1");
    let kept = delete.refused(400, "database_error").await;
    assert!(kept.text().contains(skips), "{}", kept.text());
    let named = site.admin("DELETE /api/backend/item?table=p&id=1").refused(409, "conflict").await;
    assert!(named.text().contains("Other records name this row of p"), "{}", named.text());
    assert_eq!(site.traces().await, traces);
    assert_eq!(walk(&site, "t", 5, &[]).await, [r#"{"id":1,"v":"x","kind":null,"p":1}"#]);
}

/// SQLite lets NULL into every key that is no INTEGER.
#[tokio::test]
async fn rows_whose_key_is_null_are_listed() {
    let rows = "insert into k values (null, 1), ('b', 2), ('a', 3)";
    let site = adopted(
        &format!("create table k (code text primary key, n int); {rows}"),
        &format!("create table k (code text unique, n int); {rows}"),
        &["k"],
    )
    .await;
    let all = walk(&site, "k", 1, &[]).await;
    assert_eq!(all, [r#"{"code":"a","n":3}"#, r#"{"code":"b","n":2}"#, r#"{"code":null,"n":1}"#]);
}
