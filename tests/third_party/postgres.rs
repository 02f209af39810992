//! Types and rules that only PostgreSQL has.

use serde_json::{Value as Json, json};

use super::{adopting, item, matching, walk};
use crate::support::{Site, TestDatabase, each, has};

#[tokio::test]
async fn postgres_types_of_others() {
    let database = TestDatabase::new().await;
    if !database.is_postgres() {
        return;
    }
    let sql = "create type mood as enum ('sad', 'happy'); \
          create domain zip as varchar(5) check (value <> 'bad'); \
          create table v (id smallint primary key, r real, a integer[], t text[], m mood, u uuid, \
          tz timestamptz, ti time, ttz timetz, iv interval, j jsonb, z zip, n numeric, net inet, \
          g integer generated always as (id * 2) stored); \
          insert into v values \
          (1, 0.1, '{1,null,3}', '{\"a b\",\"c\\\"d\"}', 'happy', \
          '68136457-505F-7322-A4BE-74B99831DC23', '2024-05-06 07:08:09.123456+02', '09:30:00.5', \
          '09:30+02', '1 day 02:00', '{\"b\": [1, 2], \"a\": \"x  y\"}', '12345', \
          123456789012345678901234567890.1234500, '10.0.0.1'), \
          (2, -0.0, '{}', null, 'sad', null, '1969-12-31 23:59:59.999999+00', null, null, null, \
          'null', null, 0.00, null), \
          (3, 3.4028235e38, '{{1,2},{3,4}}', null, null, null, null, null, null, null, null, null, \
          null, null)";
    database.run(sql).await;
    let site = Site::on(database).plugin(adopting("other", &["v"])).open().await;
    let all = walk(&site, "v", 1, &[]).await;
    assert_eq!(
        all[0],
        concat!(
            r#"{"id":1,"r":0.1,"a":[1,null,3],"t":["a b","c\"d"],"m":"happy","#,
            r#""u":"68136457-505f-7322-a4be-74b99831dc23","tz":"2024-05-06T05:08:09.123456Z","#,
            r#""ti":"09:30:00.5","ttz":"09:30:00+02","iv":"P1DT2H","j":{"a":"x  y","b":[1,2]},"#,
            r#""z":"12345","n":123456789012345678901234567890.12345,"net":"10.0.0.1/32","g":2}"#
        )
    );
    for (row, parts) in [
        (
            1,
            &[r#"{"id":2,"r":0,"a":[],"#, r#""tz":"1969-12-31T23:59:59.999999Z""#, r#""n":0,"#][..],
        ),
        (2, &[r#"{"id":3,"r":3.4028235e+38,"a":[[1,2],[3,4]],"#][..]),
    ] {
        assert!(all[row].starts_with(parts[0]), "{}", all[row]);
        assert!(parts.iter().all(|part| all[row].contains(part)), "{parts:?}: {}", all[row]);
    }
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
        let found = json!(matching(&site, "v", condition).await);
        assert_eq!(each(&found, "id"), [json!(1)], "{condition:?}");
    }
    for sort in
        ["r", "-r", "a", "t", "m", "tz", "-tz", "ti", "iv", "j", "n", "-n", "z", "u", "net", "g"]
    {
        assert_eq!(walk(&site, "v", 1, &[("sort", sort)]).await.len(), 3, "{sort}");
    }
    let mut new = json!({
        "id": 9, "r": 0.2, "a": [5, null], "t": ["x,y", "{", null, "\""], "m": "sad", "iv": "PT1H",
        "z": "1", "n": "1e", "j": [1.5],
    });
    site.invalid("POST /api/backend/item?table=v", new.clone()).await;
    new["n"] = json!("0.10");
    let created = site.insert("v", new.clone()).await;
    has!(created, {"r": 0.2, "a": new["a"], "t": new["t"], "n": 0.1, "j": [1.5], "g": 18});
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
        let patch = site.admin("PATCH /api/backend/item?table=v&id=9").json(json!({column: value}));
        let reply = patch.refused(status, code).await;
        assert!(!reply.text().contains("cast("), "{}", reply.text());
        // Of a number out of range and of a bad UUID the database names no column.
        if ["u", "r", "id"].contains(&column) {
            assert!(reply.text().contains(&format!("v.{column} holds")), "{}", reply.text());
        }
    }
    site.update("v&id=9", json!({"a": [], "t": null})).await;
    assert_eq!(matching(&site, "v", ("filter[a][eq]", "[]")).await.len(), 2);
    site.admin("GET /api/backend/item?table=v&id=70000").refused(404, "not_found").await;
}

#[tokio::test]
async fn postgres_times_that_a_calendar_lacks() {
    let database = TestDatabase::new().await;
    if !database.is_postgres() {
        return;
    }
    let sql = "create table m (id integer primary key, tz timestamptz, ts timestamp, d date, \
               ttz timetz); insert into m values \
               (1, 'infinity', '-infinity', 'infinity', '09:30+02'), \
               (2, '0044-03-15 10:00+00 BC', '0044-03-15 BC', '0044-03-15 BC', '10:00-03:30'), \
               (3, '2024-05-06 07:08:09.123456+02', '0001-01-01', '0001-01-01', null)";
    database.run(sql).await;
    let site = Site::on(database).plugin(adopting("other", &["m"])).open().await;
    assert_eq!(
        walk(&site, "m", 1, &[]).await,
        [
            concat!(
                r#"{"id":1,"tz":"infinity","ts":"-infinity","d":"infinity","#,
                r#""ttz":"09:30:00+02"}"#
            ),
            concat!(
                r#"{"id":2,"tz":"0044-03-15 10:00:00 BC","ts":"0044-03-15 00:00:00 BC","#,
                r#""d":"0044-03-15 BC","ttz":"10:00:00-03:30"}"#
            ),
            concat!(
                r#"{"id":3,"tz":"2024-05-06T05:08:09.123456Z","ts":"0001-01-01T00:00:00Z","#,
                r#""d":"0001-01-01","ttz":null}"#
            ),
        ]
    );
    for sort in ["tz", "-tz", "ts", "-ts", "d", "-d", "ttz", "-ttz"] {
        assert_eq!(walk(&site, "m", 1, &[("sort", sort)]).await.len(), 3, "{sort}");
    }
    assert_eq!(matching(&site, "m", ("filter[ttz][eq]", "09:30:00+02")).await.len(), 1);
    let one = item("m", &[("id", "1")]);
    let back = site.patch(&one, json!({"ttz": "09:30:00+02"})).await;
    has!(back, {"ttz": "09:30:00+02", "tz": "infinity"});
    // What the service cannot keep is refused, not erased.
    site.invalid(&format!("PATCH {one}"), json!({"tz": "infinity"})).await;
}

#[tokio::test]
async fn postgres_rules_of_others() {
    let database = TestDatabase::new().await;
    if !database.is_postgres() {
        return;
    }
    let sql = "create domain inner_number as integer; \
               create domain outer_number as inner_number check (value > 0); \
               create table k (id integer, x text, n outer_number, r int4range, \
               primary key (id) include (x), exclude using gist (r with &&)); \
               create function refuse() returns trigger as $$ \
               begin raise 'no' using errcode = 'insufficient_privilege'; end $$ language plpgsql; \
               create trigger refuse before delete on k for each row execute function refuse(); \
               insert into k values (1, 'x', 5, '[1,3)')";
    database.run(sql).await;
    let site = Site::on(database).plugin(adopting("other", &["k"])).open().await;
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

/// A cast to `bit`, `character` or `"char"` without a length would cut values off.
#[tokio::test]
async fn postgres_values_are_kept_whole_or_refused() {
    let database = TestDatabase::new().await;
    if !database.is_postgres() {
        return;
    }
    let sql = "create type mood as enum ('sad', 'ok'); \
               create table w (id integer generated by default as identity (maxvalue 2 start 2) \
               primary key, f bit(1), g bit(8), gg bit(2)[], cc char(2)[], q \"char\", n name, \
               m mood, kind text, ts tsquery); \
               create table r (id integer primary key); \
               create rule r as on insert to r do instead nothing";
    database.run(sql).await;
    let site = Site::on(database).plugin(adopting("other", &["w", "r"])).open().await;
    let new = json!({"g": "10101010", "gg": ["10"], "cc": ["DE", "A"], "q": "x", "n": "n"});
    let created = site.insert("w", new).await;
    let kept = json!({"id": 2, "g": "10101010", "gg": ["10"], "cc": ["DE", "A "], "q": "x"});
    for (name, value) in kept.as_object().unwrap() {
        assert_eq!(&created[name], value, "{name}");
    }
    let (patch, unfit) = ("PATCH /api/backend/item?table=w&id=2", "does not match the column's");
    let post = "POST /api/backend/item?table=w";
    for (line, body, about, named) in [
        (patch, json!({"f": "101"}), unfit, None),
        (patch, json!({"gg": ["101"]}), unfit, None),
        (patch, json!({"cc": ["DEU"]}), unfit, None),
        (patch, json!({"q": "xyz"}), "w.q holds only", Some("q")),
        (patch, json!({"n": "n".repeat(64)}), "w.n holds only", Some("n")),
        // Not the columns that the value names.
        (patch, json!({"m": "kind", "kind": "m"}), unfit, None),
        (patch, json!({"ts": "kind m", "kind": "m"}), unfit, None),
        (post, json!({"kind": "x"}), "The numbers for w are used up.", None),
        ("POST /api/backend/item?table=r", json!({"id": 1}), "this change of r; a rule", None),
    ] {
        let reply = site.admin(line).json(body).refused(400, "database_error").await;
        assert!(reply.text().contains(about), "{}", reply.text());
        assert_eq!(reply.json()["errors"][0]["field"].as_str(), named, "{}", reply.text());
    }
}

/// What the engine checks only at the commit, as `refuse` does on insert.
#[tokio::test]
async fn postgres_deferred_rules_of_others() {
    let database = TestDatabase::new().await;
    if !database.is_postgres() {
        return;
    }
    let sql = "create table d (id integer primary key, r int4range, \
               exclude using gist (r with &&) deferrable initially deferred); \
               create function refuse() returns trigger language plpgsql as $$ begin \
               if tg_when = 'BEFORE' then assert new.id <> 3; return new; end if; \
               if new.id = 4 then raise 'no r'; end if; \
               if new.id = 5 then raise check_violation; end if; \
               assert new.id <> 6; return null; end $$; \
               create trigger soon before insert on d for each row execute function refuse(); \
               create constraint trigger late after insert on d deferrable initially deferred \
               for each row execute function refuse(); \
               insert into d values (1, '[1,3)')";
    database.run(sql).await;
    let site = Site::on(database).plugin(adopting("other", &["d"])).open().await;
    let traces = site.traces().await;
    let post = |body: Json| site.admin("POST /api/backend/item?table=d").json(body);
    let twice = post(json!({"id": 2, "r": "[2,4)"})).refused(409, "conflict").await;
    assert!(twice.text().contains("Another row excludes this one (r)"), "{}", twice.text());
    let late = "A trigger refuses the change.";
    for (id, about) in [(3, "A trigger of d refuses the row."), (4, late), (5, late), (6, late)] {
        let reply = post(json!({"id": id})).refused(400, "database_error").await;
        assert!(reply.text().contains(about), "{id}: {}", reply.text());
    }
    assert_eq!(site.traces().await, traces);
    assert_eq!(walk(&site, "d", 5, &[]).await, [r#"{"id":1,"r":"[1,3)"}"#]);
}

/// A reference to a table of another schema is not one to our table of the same name.
#[tokio::test]
async fn postgres_references_keep_to_their_schema() {
    let (database, elsewhere) = (TestDatabase::new().await, TestDatabase::new().await);
    if !database.is_postgres() {
        return;
    }
    elsewhere.run("create table a (id integer primary key); insert into a values (1)").await;
    let schema = elsewhere.text("select cast(current_schema() as text)").await;
    let sql = format!(
        "create table a (id integer primary key, name text); insert into a values (1, 'wrong'); \
         create table b (id integer primary key, theirs integer references {schema}.a (id), \
         ours integer references a (id)); insert into b values (1, 1, 1)"
    );
    database.run(sql).await;
    let site = Site::on(database).plugin(adopting("other", &["a", "b"])).open().await;
    let get = |column| site.admin(&format!("GET /api/backend/item?table=b&id=1&expand={column}"));
    has!(get("ours").expect(200).await.data(), {"ours": {"id": 1, "name": "wrong"}});
    get("theirs").refused(400, "bad_query").await;
}

/// A declaration that names the columns needs no rights to the others.
#[tokio::test]
async fn postgres_rights_by_column_suffice() {
    let mut database = TestDatabase::new().await;
    let Some(url) = database.url.clone() else { return };
    let schema = database.text("select cast(current_schema() as text)").await;
    let sql = format!(
        "create table t (id integer primary key, v text, hidden text); \
         insert into t values (1, 'a', 'x'), (2, 'b', 'x'); create role {schema}; \
         grant all on schema {schema} to {schema}; \
         grant select (id, v), insert (id, v), update (v) on t to {schema}"
    );
    database.run(sql).await;
    database.url = Some(url.replace("options[", &format!("options[role]={schema}&options[")));
    let columns = json!([{"name": "id"}, {"name": "v"}]);
    let table = json!({"name": "t", "adopt": true, "columns": columns});
    let plugin = json!({"id": "other", "tables": [table]});
    let mut site = Site::on(database).plugin(plugin).open().await;
    assert_eq!(site.update("t&id=1", json!({"v": "c"})).await["v"], "c");
    site.insert("t", json!({"id": 3, "v": "d"})).await;
    let sorted = [("sort", "-v"), ("count", "true")];
    let all = walk(&site, "t", 1, &sorted).await;
    assert_eq!(all, [r#"{"id":3,"v":"d"}"#, r#"{"id":1,"v":"c"}"#, r#"{"id":2,"v":"b"}"#]);
    site.admin("DELETE /api/backend/item?table=t&id=1").refused(400, "database_error").await;
    site.cms.close().await;
    site.database.url = Some(url);
    site.database.run(format!("drop owned by {schema} cascade; drop role {schema}")).await;
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
                 select cast(cast({value} as text) as {kind}), n, repeat('x', 50) \
                 from generate_series(1, 5000) n; analyze {name}"
            ))
            .await;
    }
    let names = types.map(|(name, _)| name);
    let site = Site::on(database).plugin(adopting("other", &names)).open().await;
    let scans = |name: &str, how: &str| {
        format!(
            "select coalesce(sum({how}), 0)::bigint from pg_stat_user_tables \
             where schemaname = current_schema() and relname = '{name}'"
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
        assert_eq!(site.get(&one).await["n"], 7, "{name}");
        site.patch(&one, json!({"n": 8})).await;
        site.delete(&one).await;
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
