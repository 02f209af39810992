//! Types and forms that the samples lack.

use serde_json::{Value as Json, json};

use super::{item, matching, walk};
use crate::support::{Site, TestDatabase};

async fn adopted(sqlite: &str, postgres: &str, names: &[&str]) -> Site {
    let database = TestDatabase::new().await;
    database.run(if database.is_postgres() { postgres } else { sqlite }.to_owned()).await;
    let tables: Vec<_> = names.iter().map(|name| json!({"name": name, "adopt": true})).collect();
    Site::on(database).plugin(json!({"id": "other", "tables": tables})).open().await
}

#[tokio::test]
async fn keys_may_be_bytes() {
    let site = adopted(
        "create table b (id blob primary key, n int); insert into b values (x'00ff10', 1), (x'ab', 2), (x'01', 3), (x'', 4); \
         create table bb (a binary(2), d date, primary key (a, d)); insert into bb values (x'0a0b', '2024-02-29'), (x'0a0c', '2024-02-28')",
        "create table b (id bytea primary key, n int); insert into b values ('\\x00ff10', 1), ('\\xab', 2), ('\\x01', 3), ('', 4); \
         create table bb (a bytea, d date, primary key (a, d)); insert into bb values ('\\x0a0b', '2024-02-29'), ('\\x0a0c', '2024-02-28')",
        &["b", "bb"],
    )
    .await;
    let all = walk(&site, "b", 1, &[]).await;
    assert_eq!(
        all,
        [
            r#"{"id":"","n":4}"#,
            r#"{"id":"AP8Q","n":1}"#,
            r#"{"id":"AQ==","n":3}"#,
            r#"{"id":"qw==","n":2}"#
        ]
    );
    let all = walk(&site, "bb", 1, &[("sort", "-d")]).await;
    assert_eq!(all, [r#"{"a":"Cgs=","d":"2024-02-29"}"#, r#"{"a":"Cgw=","d":"2024-02-28"}"#]);
    let read = site.admin(&format!("GET {}", item("b", &[("id", "AP8Q")]))).expect(200).await;
    assert_eq!(read.data()["n"], 1);
    site.admin(&format!("GET {}", item("b", &[("id", "AP8R")]))).refused(404, "not_found").await;
    site.admin(&format!("GET {}", item("b", &[("id", "no base64")])))
        .refused(400, "bad_query")
        .await;
    let path = item("bb", &[]);
    site.admin(&format!("POST {path}"))
        .json(json!({"a": "/w==", "d": "2024-03-01"}))
        .expect(201)
        .await;
    let one = item("bb", &[("id", r#"["/w==","2024-03-01"]"#)]);
    let changed = site.admin(&format!("PATCH {one}")).json(json!({"a": "/wA="})).expect(200).await;
    assert_eq!(changed.text(), r#"{"data":{"a":"/wA=","d":"2024-03-01"}}"#);
    site.admin(&format!("DELETE {}", item("bb", &[("id", r#"["/wA=","2024-03-01"]"#)])))
        .expect(204)
        .await;
    let key = r#"select count(*) from cms_audit where row_id = '["/w==","2024-03-01"]'"#;
    assert_eq!(site.database.count(key).await, 1);
}

#[tokio::test]
async fn rows_without_a_key_may_be_the_same() {
    let values =
        "insert into log values (1, 'a'), (1, 'a'), (1, 'a'), (null, null), (null, null), (2, 'b')";
    let site = adopted(
        &format!(
            "create table log (n int, t text); {values}; create view wide as select {}",
            columns(120)
        ),
        &format!(
            "create table log (n int, t text); {values}; create view wide as select {}",
            columns(120)
        ),
        &["log", "wide"],
    )
    .await;
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
    let sql = r#"create table "t" ("o" integer primary key, "t" text, "n" int, "r" int, "j" int, "k" int, "i" int, "a ""b"" 'c'" text, "select" text, "$1" text, "Ü%" text);
                 insert into "t" ("o", "t") values (1, 'x')"#;
    let site = adopted(sql, sql, &["t"]).await;
    let changed = json!({"a \"b\" 'c'": "v", "select": "s", "$1": "$1", "Ü%": "ü", "n": 5});
    let changed =
        site.admin("PATCH /api/backend/item?table=t&id=1").json(changed).expect(200).await;
    let text = r#"{"o":1,"t":"x","n":5,"r":null,"j":null,"k":null,"i":null,"a \"b\" 'c'":"v","select":"s","$1":"$1","Ü%":"ü"}"#;
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
async fn postgres_types_of_others() {
    let database = TestDatabase::new().await;
    if !database.is_postgres() {
        return;
    }
    let sql = "create type mood as enum ('sad', 'happy'); create domain zip as varchar(5) check (value <> 'bad'); \
        create table v (id smallint primary key, r real, a integer[], t text[], m mood, u uuid, tz timestamptz, ti time, ttz timetz, \
        iv interval, j jsonb, z zip, n numeric, net inet, g integer generated always as (id * 2) stored); \
        insert into v values (1, 0.1, '{1,null,3}', '{\"a b\",\"c\\\"d\"}', 'happy', '68136457-505F-7322-A4BE-74B99831DC23', \
        '2024-05-06 07:08:09.123456+02', '09:30:00.5', '09:30+02', '1 day 02:00', '{\"b\": [1, 2], \"a\": \"x  y\"}', '12345', \
        123456789012345678901234567890.1234500, '10.0.0.1'), (2, -0.0, '{}', null, 'sad', null, '1969-12-31 23:59:59.999999+00', \
        null, null, null, 'null', null, 0.00, null), (3, 3.4028235e38, '{{1,2},{3,4}}', null, null, null, null, null, null, null, null, null, null, null)";
    database.run(sql.to_owned()).await;
    let site = Site::on(database)
        .plugin(json!({"id": "other", "tables": [{"name": "v", "adopt": true}]}))
        .open()
        .await;
    let all = walk(&site, "v", 1, &[]).await;
    assert_eq!(
        all[0],
        r#"{"id":1,"r":0.1,"a":[1,null,3],"t":["a b","c\"d"],"m":"happy","u":"68136457-505f-7322-a4be-74b99831dc23","tz":"2024-05-06T05:08:09.123456Z","ti":"09:30:00.5","ttz":"09:30:00+02","iv":"P1DT2H","j":{"a":"x  y","b":[1,2]},"z":"12345","n":123456789012345678901234567890.12345,"net":"10.0.0.1/32","g":2}"#
    );
    assert!(
        all[1].starts_with(r#"{"id":2,"r":0,"a":[],"#)
            && all[1].contains(r#""tz":"1969-12-31T23:59:59.999999Z""#),
        "{}",
        all[1]
    );
    assert!(
        all[1].contains(r#""n":0,"#)
            && all[2].starts_with(r#"{"id":3,"r":3.4028235e+38,"a":[[1,2],[3,4]],"#),
        "{}",
        all[2]
    );
    for condition in [
        ("filter[r][eq]", "0.1"),
        ("filter[r][in]", "0.1,1e300"),
        ("filter[a][eq]", "[1,null,3]"),
        ("filter[m][eq]", "happy"),
        ("filter[u][eq]", "68136457-505f-7322-a4be-74b99831dc23"),
        ("filter[tz][eq]", "2024-05-06T07:08:09.123456+02:00"),
        ("filter[tz][gt]", "2024-05-06T05:08:09.123455Z"),
        ("filter[ti][eq]", "09:30:00.5"),
        ("filter[iv][eq]", "P1DT2H"),
        ("filter[j][eq]", r#"{"b":[1,2],"a":"x  y"}"#),
        ("filter[z][contains]", "234"),
        ("filter[n][eq]", "123456789012345678901234567890.12345"),
        ("filter[g][eq]", "2"),
        ("filter[net][eq]", "10.0.0.1/32"),
    ] {
        let found = matching(&site, "v", condition).await;
        assert_eq!(
            found.iter().map(|row| &row["id"]).collect::<Vec<_>>(),
            [&json!(1)],
            "{condition:?}"
        );
    }
    for sort in
        ["r", "-r", "a", "t", "m", "tz", "-tz", "ti", "iv", "j", "n", "-n", "z", "u", "net", "g"]
    {
        assert_eq!(walk(&site, "v", 1, &[("sort", sort)]).await.len(), 3, "{sort}");
    }
    let new = json!({"id": 9, "r": 0.2, "a": [5, null], "t": ["x,y", "{", null, "\""], "m": "sad", "iv": "PT1H", "z": "1", "n": "1e", "j": [1.5]});
    site.admin("POST /api/backend/item?table=v")
        .json(new.clone())
        .refused(422, "validation_failed")
        .await;
    let mut good = new.clone();
    good["n"] = json!("0.10");
    let created = site.admin("POST /api/backend/item?table=v").json(good).expect(201).await.data();
    for (column, value) in [
        ("r", json!(0.2)),
        ("a", new["a"].clone()),
        ("t", new["t"].clone()),
        ("n", json!(0.1)),
        ("j", json!([1.5])),
        ("g", json!(18)),
    ] {
        assert_eq!(created[column], value, "{column}");
    }
    for (column, value, status) in [
        ("m", json!("angry"), 400),
        ("a", json!({"x": 1}), 400),
        ("a", json!(["x"]), 400),
        ("u", json!("no uuid"), 400),
        ("z", json!("bad"), 400),
        ("z", json!("123456"), 400),
        ("r", json!(1e300), 400),
        ("net", json!("x"), 400),
        ("g", json!(1), 422),
        ("id", json!(70_000), 400),
    ] {
        let code = if status == 400 { "database_error" } else { "validation_failed" };
        let reply = site
            .admin("PATCH /api/backend/item?table=v&id=9")
            .json(json!({column: value}))
            .refused(status, code)
            .await;
        assert!(!reply.text().contains("cast("), "{}", reply.text());
    }
    site.admin("PATCH /api/backend/item?table=v&id=9")
        .json(json!({"a": [], "t": null}))
        .expect(200)
        .await;
    assert_eq!(matching(&site, "v", ("filter[a][eq]", "[]")).await.len(), 2);
    site.admin("GET /api/backend/item?table=v&id=70000").refused(404, "not_found").await;
}

#[tokio::test]
async fn sqlite_columns_may_hold_anything() {
    let database = TestDatabase::sqlite().await;
    let sql = "create table v (id integer primary key, b boolean, d decimal(10,2), f double, t text, x, dt datetime, da date, n integer, raw blob); \
        insert into v values (1, 'true', 0.1 + 0.2, 0.1 + 0.2, x'00ff', 'text', '2024-05-06T07:08:09+02:00', '2024-05-06 00:00:00', 1.5, 'tëxt'), \
        (2, 'f', 12, 5, 'é', 2, '2024-05-06 05:08', '2024-05-06', 9007199254740993, x'01'), (3, 1, null, null, null, 1.5, '2024-05-06', null, null, null)";
    database.run(sql.to_owned()).await;
    let site = Site::on(database)
        .plugin(json!({"id": "other", "tables": [{"name": "v", "adopt": true}]}))
        .open()
        .await;
    assert_eq!(
        walk(&site, "v", 1, &[]).await,
        [
            r#"{"id":1,"b":true,"d":0.3,"f":0.30000000000000004,"t":"AP8=","x":"text","dt":"2024-05-06T05:08:09Z","da":"2024-05-06","n":1.5,"raw":"dMOreHQ="}"#,
            r#"{"id":2,"b":false,"d":12,"f":5,"t":"é","x":2,"dt":"2024-05-06T05:08:00Z","da":"2024-05-06","n":9007199254740993,"raw":"AQ=="}"#,
            r#"{"id":3,"b":true,"d":null,"f":null,"t":null,"x":1.5,"dt":"2024-05-06T00:00:00Z","da":null,"n":null,"raw":null}"#,
        ]
    );
    for sort in ["b", "-b", "d", "-d", "f", "x", "-x", "dt", "-dt", "da", "n", "-n"] {
        assert_eq!(walk(&site, "v", 1, &[("sort", sort)]).await.len(), 3, "{sort}");
    }
    assert_eq!(matching(&site, "v", ("filter[b][eq]", "true")).await.len(), 2);
    assert_eq!(matching(&site, "v", ("filter[dt][eq]", "2024-05-06T05:08:09Z")).await.len(), 1);
}

/// A value of an adopted table that serde_json will not read does not stand in the way of changes
/// to its row.
#[tokio::test]
async fn json_may_be_nested_deeply() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let sql = format!(
        "create table d (id integer primary key, n int, j json); insert into d values (1, 1, '{deep}')"
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
    site.admin("POST /api/backend/actions/checklist")
        .json(list)
        .refused(422, "validation_failed")
        .await;
    site.admin(&format!("DELETE {one}")).expect(204).await;
    for like in [r#"'%"changed":["n"]%'"#, r#"'%"j":"nested too deeply; SHA-256 %"n":2%'"#] {
        assert!(
            site.database
                .count(&format!("select count(*) from cms_events where body like {like}"))
                .await
                > 0,
            "{like}"
        );
    }
}

#[tokio::test]
async fn a_record_that_is_expanded_has_the_same_bytes() {
    let sql = |json: &str| {
        format!(
            "create table b (id integer primary key, j {json}); create table a (id integer primary key, b integer references b (id)); \
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
    let sql = "create table t (id integer primary key, a text, b text); insert into t values (1, 'x', 'y')";
    let site = adopted(sql, sql, &["t"]).await;
    site.database.run("alter table t drop column b".to_owned()).await;
    for line in ["POST /api/backend/item?table=t", "PATCH /api/backend/item?table=t&id=1"] {
        let refused = site
            .admin(line)
            .json(json!({"id": 2, "a": "z", "b": "z"}))
            .refused(400, "database_error")
            .await;
        assert!(refused.text().contains("lost a column"), "{}", refused.text());
    }
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

#[tokio::test]
async fn postgres_rules_of_others() {
    let database = TestDatabase::new().await;
    if !database.is_postgres() {
        return;
    }
    let sql = "create domain inner_number as integer; create domain outer_number as inner_number check (value > 0); \
        create table k (id integer, x text, n outer_number, r int4range, primary key (id) include (x), exclude using gist (r with &&)); \
        create function refuse() returns trigger as $$ begin raise 'no' using errcode = 'insufficient_privilege'; end $$ language plpgsql; \
        create trigger refuse before delete on k for each row execute function refuse(); \
        insert into k values (1, 'x', 5, '[1,3)')";
    database.run(sql.to_owned()).await;
    let site = Site::on(database)
        .plugin(json!({"id": "other", "tables": [{"name": "k", "adopt": true}]}))
        .open()
        .await;
    let read = site.admin("GET /api/backend/item?table=k&id=1").expect(200).await;
    assert_eq!(read.text(), r#"{"data":{"id":1,"x":"x","n":5,"r":"[1,3)"}}"#);
    let post = |body: Json| site.admin("POST /api/backend/item?table=k").json(body);
    post(json!({"id": 2, "r": "[2,4)"})).refused(409, "conflict").await;
    post(json!({"id": 2, "n": "many"})).refused(422, "validation_failed").await;
    post(json!({"id": 2, "n": -1})).refused(400, "database_error").await;
    let refused =
        site.admin("DELETE /api/backend/item?table=k&id=1").refused(400, "database_error").await;
    assert!(refused.text().contains("no right"), "{}", refused.text());
}

/// A record is found through the index of its key, whatever its type.
#[tokio::test]
async fn postgres_finds_keys_by_their_index() {
    let database = TestDatabase::new().await;
    if !database.is_postgres() {
        return;
    }
    let types = [
        ("k_text", "text"),
        ("k_varchar", "varchar(40)"),
        ("k_char", "char(40)"),
        ("k_uuid", "uuid"),
        ("k_int", "bigint"),
    ];
    for (name, kind) in types {
        let value = if name == "k_int" { "n" } else { "cast(md5(cast(n as text)) as uuid)" };
        database
            .run(format!(
                "create table {name} (id {kind} primary key, n int, pad text); insert into {name} \
                 select cast(cast({value} as text) as {kind}), n, repeat('x', 50) from generate_series(1, 5000) n; analyze {name}"
            ))
            .await;
    }
    let tables: Vec<_> =
        types.iter().map(|(name, _)| json!({"name": name, "adopt": true})).collect();
    let site = Site::on(database).plugin(json!({"id": "other", "tables": tables})).open().await;
    let scans = |name: &str, how: &str| {
        format!(
            "select coalesce(sum({how}), 0)::bigint from pg_stat_user_tables where schemaname = current_schema() and relname = '{name}'"
        )
    };
    let mut before = Vec::new();
    for (name, _) in types {
        before.push(site.database.count(&scans(name, "seq_scan")).await);
    }
    let seven = "8f14e45f-ceea-167a-5a36-dedd4bea2543";
    for (name, _) in types {
        let id = if name == "k_int" { "7" } else { seven };
        let one = item(name, &[("id", id)]);
        assert_eq!(site.admin(&format!("GET {one}")).expect(200).await.data()["n"], 7, "{name}");
        site.admin(&format!("PATCH {one}")).json(json!({"n": 8})).expect(200).await;
        site.admin(&format!("DELETE {one}")).expect(204).await;
        for absent in ["8F14E45F-CEEA-167A-5A36-DEDD4BEA2543", "no key"] {
            let status = if name == "k_int" { 400 } else { 404 };
            site.admin(&format!("GET {}", item(name, &[("id", absent)]))).expect(status).await;
        }
    }
    // What the connections counted is seen when they end.
    site.cms.close().await;
    for ((name, _), before) in types.iter().zip(before) {
        for _ in 0..100 {
            if site.database.count(&scans(name, "idx_scan")).await > 4 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert!(site.database.count(&scans(name, "idx_scan")).await > 4, "{name}");
        assert_eq!(site.database.count(&scans(name, "seq_scan")).await, before, "{name}");
    }
}
