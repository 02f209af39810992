//! `/api/backend/audit`

use serde_json::Value as Json;

use crate::support::Site;

/// However many tables are asked for, each is searched by its index.
#[tokio::test]
async fn the_log_of_many_tables_is_read_by_its_index() {
    let site = Site::open().await;
    let series = if site.database.is_postgres() {
        "from generate_series(1, 20000) as n (i)"
    } else {
        "from (with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000) \
         select i from n)"
    };
    // Some tables are busy, some rest since long ago.
    let rows = format!(
        "insert into cms_audit (actor_kind, action, table_name, row_id, columns, created_at) \
         select 'system', 'update', 't' || (case when i < 200 then i % 40 else i % 7 end), \
         cast(i as text), '[]', i {series}"
    );
    site.database.run(rows).await;
    if site.database.is_postgres() {
        site.database.run("analyze cms_audit".to_owned()).await;
    }
    for table in ["t3", "t39", "none"] {
        let plan = site.cms.audit().plan(table).await.unwrap().join("\n");
        assert!(plan.contains("cms_audit_by_table"), "{table}: {plan}");
        for worse in ["Seq Scan", "SCAN", "Sort", "TEMP B-TREE"] {
            assert!(!plan.contains(worse), "{table}, {worse}: {plan}");
        }
    }
    for wanted in [1..=1, 2..=4, 0..=9, 5..=39, 10..=39] {
        let names: Vec<String> = wanted.map(|n| format!("t{n}")).collect();
        let of_wanted = |row: u64| {
            let table = if row < 200 { row % 40 } else { row % 7 };
            names.contains(&format!("t{table}"))
        };
        let expected: Vec<u64> =
            (1..=20_000).rev().filter(|row| of_wanted(*row)).take(90).collect();
        let (mut found, mut cursor) = (Vec::new(), String::new());
        for _ in 0..3 {
            let line = format!("GET /api/backend/audit?limit=30&table={}{cursor}", names.join(","));
            let before = site.cms.db().statements_sent();
            let reply = site.admin(&line).expect(200).await.json();
            let sent = site.cms.db().statements_sent() - before;
            assert!(sent >= names.len() as u64, "{sent} statements for {} tables", names.len());
            let rows = reply["data"].as_array().unwrap();
            let id = |row: &Json| row["row_id"].as_str().unwrap().parse::<u64>().unwrap();
            found.extend(rows.iter().map(id));
            match reply["meta"]["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, expected, "{names:?}");
    }
}
