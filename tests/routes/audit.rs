//! `/api/backend/audit`

use cms_core::{ActorName, AuditFilter};
use serde_json::{Value as Json, json};

use crate::support::{Site, each};

/// Entries of the log; the time of each is its number.
const ROWS: u64 = 20_000;

/// Some tables are busy, some rest since long ago.
fn table_of(row: u64) -> u64 {
    if row < 200 { row % 40 } else { row % 7 }
}

fn actor_of(row: u64) -> String {
    match row % 10 {
        0 => format!("user:{}", row % 30),
        1 => format!("key:{}", if row < 200 { 99 } else { row % 30 }),
        2 => "operator".to_owned(),
        _ => "system".to_owned(),
    }
}

async fn filled() -> Site {
    let site = Site::open().await;
    let rows = "insert into cms_audit \
        (actor_kind, actor_id, action, table_name, row_id, columns, created_at) \
        select case i % 10 when 0 then 'user' when 1 then 'key' when 2 then 'operator' \
        else 'system' end, case when i % 10 = 0 then i % 30 when i % 10 = 1 and i < 200 then 99 \
        when i % 10 = 1 then i % 30 end, 'update', \
        't' || (case when i < 200 then i % 40 else i % 7 end), cast(i as text), '[]', i";
    site.database.run("delete from cms_audit").await;
    site.database.fill(rows, ROWS as usize).await;
    site
}

/// Whatever is asked for, an index has it in its order, also what rests since long ago.
#[tokio::test]
async fn every_part_of_the_log_is_read_by_its_index() {
    let site = filled().await;
    let in_table = |name: &str, mut filter: AuditFilter| {
        filter.tables.insert(name.to_owned());
        filter
    };
    let of = |name: &str| in_table(name, AuditFilter::default());
    let row = |mut filter: AuditFilter| {
        filter.row = Some("38".to_owned());
        filter
    };
    let by = |actor: &str| {
        let mut filter = AuditFilter::default();
        filter.actor = Some(ActorName::parse(actor).unwrap());
        filter
    };
    let from = |since: i64, mut filter: AuditFilter| {
        (filter.since, filter.until) = (Some(since), Some(since + 1000));
        filter
    };
    let table = "cms_audit_by_table";
    for (index, filter) in [
        ("cms_audit_by_time", AuditFilter::default()),
        ("cms_audit_by_time", from(7000, AuditFilter::default())),
        (table, of("t3")),
        (table, of("t39")),
        (table, of("none")),
        (table, from(7000, of("t3"))),
        ("cms_audit_by_row", row(of("t3"))),
        ("cms_audit_by_row", row(of("none"))),
        ("cms_audit_by_caller", by("user:10")),
        ("cms_audit_by_caller", by("key:99")),
        ("cms_audit_by_caller", from(7000, by("user:10"))),
        ("cms_audit_by_caller", in_table("t3", by("key:99"))),
        ("cms_audit_by_others", by("operator")),
        ("cms_audit_by_others", by("visitor")),
    ] {
        let plan = site.cms.audit().plan(&filter).await.unwrap().join("\n");
        assert!(plan.contains(index), "{filter:?}: {plan}");
        for worse in ["Seq Scan", "SCAN", "Sort", "TEMP B-TREE"] {
            assert!(!plan.contains(worse), "{filter:?}, {worse}: {plan}");
        }
    }
}

#[tokio::test]
async fn the_log_is_listed_by_tables_rows_actors_and_periods() {
    let site = filled().await;
    let tables = |wanted: &[u64]| {
        let names: Vec<String> = wanted.iter().map(|n| format!("t{n}")).collect();
        format!("table={}", names.join(","))
    };
    let many: Vec<u64> = (5..=39).collect();
    let time = |at: i64| cms_core::rfc3339(at);
    type Wanted<'w> = &'w dyn Fn(u64) -> bool;
    let cases: [(String, Wanted); 13] = [
        (String::new(), &|_| true),
        (tables(&[1]), &|row| table_of(row) == 1),
        (tables(&[2, 3, 4]), &|row| (2..=4).contains(&table_of(row))),
        (tables(&many), &|row| (5..=39).contains(&table_of(row))),
        ("table=t3&id=38".to_owned(), &|row| row == 38 && table_of(row) == 3),
        ("table=t38&id=38".to_owned(), &|row| row == 38),
        ("table=t38&id=38&actor=operator".to_owned(), &|_| false),
        ("actor=user:10".to_owned(), &|row| actor_of(row) == "user:10"),
        ("actor=operator".to_owned(), &|row| actor_of(row) == "operator"),
        ("actor=visitor".to_owned(), &|_| false),
        ("actor=key:99&table=t1,t11,t21".to_owned(), &|row| {
            actor_of(row) == "key:99" && [1, 11, 21].contains(&table_of(row))
        }),
        (format!("since={}&until={}", time(1000), time(1090)), &|row| (1000..1090).contains(&row)),
        (format!("actor=user:20&{}&since={}", tables(&[1, 2]), time(19_000)), &|row| {
            actor_of(row) == "user:20" && [1, 2].contains(&table_of(row)) && row >= 19_000
        }),
    ];
    for (query, wanted) in &cases {
        let expected: Vec<u64> = (1..=ROWS).rev().filter(|row| wanted(*row)).take(90).collect();
        let (mut found, mut cursor) = (Vec::new(), String::new());
        for _ in 0..3 {
            let line = format!("GET /api/backend/audit?limit=30&{query}{cursor}");
            let reply = site.admin(&line).expect(200).await.json();
            let id = |row: &Json| row.as_str().unwrap().parse::<u64>().unwrap();
            found.extend(each(&reply["data"], "row_id").iter().map(id));
            match reply["meta"]["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, expected, "{query}");
    }
    let next = site.admin("GET /api/backend/audit?actor=operator&limit=1").expect(200).await.json();
    let cursor = next["meta"]["next"].as_str().unwrap().to_owned();
    for query in [
        "id=3",
        "actor=user",
        "actor=ana",
        "actor=operator:1",
        "since=yesterday",
        &format!("actor=system&cursor={cursor}"),
        &format!("actor=operator&since=2026-11-21T09:30:00Z&cursor={cursor}"),
    ] {
        site.admin(&format!("GET /api/backend/audit?{query}")).refused(400, "bad_query").await;
    }
}

/// Several changes at one moment: no page leaves one out or repeats one.
#[tokio::test]
async fn changes_of_one_moment_are_told_apart() {
    let site = Site::open().await;
    for n in 0..5 {
        let origin = json!({"origin": format!("https://{n}.example.org")});
        site.create("/api/backend/origins", origin).await;
    }
    let pages = site.pages("/api/backend/audit?table=origins&limit=2").await;
    let mut ids: Vec<_> = pages.iter().flat_map(|page| each(page, "id")).collect();
    assert_eq!(ids.len(), 5);
    assert!(ids.iter().rev().is_sorted_by_key(|id| id.as_i64()), "{ids:?}");
    ids.dedup();
    assert_eq!(ids.len(), 5);
}
