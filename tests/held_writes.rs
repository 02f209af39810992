//! A process that stands still in the middle of a change keeps nobody else from writing. Each kind
//! of change is held at its commit, with all that it has locked by then, while others write.
//! PostgreSQL alone: on SQLite a change holds the only writer.

use std::{pin::pin, time::Duration};

use cms_core::{Actor, Code};
use futures_util::FutureExt;
use serde_json::{Value as Json, json};
use sqlx::{Connection, Executor, PgConnection};

use crate::{
    revoked::requests::acts,
    support::{Receiver, Reply, Site, plugins::table, webhooks::open},
};

/// While a barrier is up, the first change that commits waits for it, with its locks, and is undone
/// then. `cms_audit` is what nearly every change writes.
const HOLD_AT_COMMIT: &str = "
    create function held() returns trigger language plpgsql set lock_timeout = '60s' as $$
    begin
        if not pg_try_advisory_xact_lock_shared(815, 0) and pg_try_advisory_xact_lock(815, 1) then
            perform pg_advisory_xact_lock_shared(815, 0);
            raise exception 'the barrier is down';
        end if;
        return null;
    end $$;
    create constraint trigger held after insert on cms_audit
        deferrable initially deferred for each row execute function held()";

/// Holds what comes next at its commit, while it is up.
struct Barrier(PgConnection);

impl Barrier {
    async fn new(site: &Site) -> Self {
        let url = site.database.url.as_ref().unwrap();
        let mut connection = PgConnection::connect(url).await.unwrap();
        connection.execute(sqlx::raw_sql(HOLD_AT_COMMIT)).await.unwrap();
        Self(connection)
    }

    async fn up(&mut self) {
        self.0.execute("select pg_advisory_lock(815, 0)").await.unwrap();
    }

    /// Whether some change stands at its commit.
    async fn holds(&mut self) -> bool {
        let held = "select exists (select 1 from pg_locks where locktype = 'advisory' \
                    and classid = 815 and objid = 0 and not granted)";
        sqlx::query_scalar(held).fetch_one(&mut self.0).await.unwrap()
    }

    async fn down(&mut self) {
        self.0.execute("select pg_advisory_unlock(815, 0)").await.unwrap();
    }
}

/// Writes that everybody makes, by a caller whom no other change is about.
async fn others(site: &Site, key: &str, round: usize) {
    let body = json!({"name": format!("other {round}"), "value": 1});
    let ask = site.ask("POST /api/backend/item?table=settings").key(key);
    ask.json(body).expect(201).await;
    let line = "PATCH /api/backend/item?table=settings&id=other";
    site.ask(line).key(key).json(json!({"value": round})).expect(200).await;
    let tagged = site.ask("POST /api/backend/item?table=goods").key(key);
    tagged.json(json!({"tags": [round]})).expect(201).await;
    let answered = json!({"form": "visited", "answers": {"a": "b"}});
    site.ask("POST /api/form/submit").json(answered).expect(201).await;
    site.visit("visited").await;
}

/// A form and a funnel that no act changes.
async fn prepare(site: &Site) {
    let form = json!({"name": "visited", "fields": [{"id": "a", "type": "short_text"}]});
    site.insert("forms", form).await;
    let body = json!({"name": "other", "value": 0});
    site.insert("settings", body).await;
    let mut funnel = crate::funnels::drawn();
    funnel["slug"] = "visited".into();
    let id = crate::funnels::made(site, &funnel).await["id"].as_i64().unwrap();
    site.publish(id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_held_change_of_every_kind_stops_no_other() {
    let receiver = Receiver::start(200).await;
    let shop = json!({
        "id": "shop", "tables": [table("goods", "tags json")],
        "webhook_events": [{"name": "shop.sold", "description": "Sold."}],
        "action_button": [{"button_id": "nightly", "type": "script", "script": "nightly.php"}],
        "tasks": [{"name": "nightly", "interval_s": 60, "script": "nightly.php"}],
    });
    let site = Site::builder().await.settings(open).plugin(shop).open().await;
    if !site.database.is_postgres() {
        return;
    }
    let old = r#"insert into cms_plugins values ('old', '{"id": "old"}', true, 0)"#;
    site.database.run(old).await;
    let acts = acts(&site, &receiver).await;
    prepare(&site).await;
    let (_, key) = site.key_with(|_| {}, &["*"]).await;
    others(&site, &key, 0).await;
    let (mut barrier, mut held) = (Barrier::new(&site).await, Vec::new());
    for (round, act) in (1..).zip(acts.iter().filter(|act| act.writes)) {
        let case = format!("{} {}", act.method, act.target);
        barrier.up().await;
        let ask = site.admin(&case);
        let ask = match act.body.as_str() {
            "" => ask,
            form if form.starts_with("--") => {
                ask.header("content-type", crate::support::media::FORM).body(form)
            }
            body => ask.json(serde_json::from_str::<Json>(body).unwrap()),
        };
        let mut call = pin!(ask.send());
        // Those that end first write no audit row, and are refused for what they need.
        let ended: Option<Reply> = loop {
            let polled = tokio::time::timeout(Duration::from_millis(1), &mut call).await;
            match polled {
                Ok(reply) => break Some(reply),
                Err(_) if barrier.holds().await => break None,
                Err(_) => {}
            }
        };
        if ended.is_none() {
            others(&site, &key, round).await;
            assert!(call.as_mut().now_or_never().is_none(), "{case} was not held all the time");
            held.push(case);
        }
        barrier.down().await;
        if ended.is_none() {
            call.await;
        }
    }
    println!("{} of {} kinds of change were held", held.len(), acts.len());
    assert!(held.len() > 30, "{held:#?}");
}

/// A process that stands still wakes when PostgreSQL has ended its transaction.
#[tokio::test]
async fn a_change_that_stood_still_is_undone_and_says_so() {
    let change = |settings: &mut cms_core::settings::Settings| {
        settings.database.idle_in_transaction_s = 1;
    };
    let site = Site::with(change).await;
    if !site.database.is_postgres() {
        return;
    }
    let mut change = site.cms.change(Actor::Operator).await.unwrap();
    change.emit("shop.sold", json!({})).await.unwrap();
    let idle = "pg_stat_activity where state = 'idle in transaction' and application_name = \
                current_setting('application_name')";
    assert_eq!(site.database.rows(idle).await, 1);
    while site.database.rows(idle).await > 0 {}
    change.touch("settings");
    let refused = change.commit().await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    assert_eq!(site.database.rows("cms_events").await, 0);
    site.write("after").await;
}

/// Counts of connections that are gone are added up; those of the others stay, and the sum too.
#[tokio::test]
async fn counts_of_connections_that_are_gone_are_added_up() {
    let site = Site::open().await;
    site.write("a").await;
    let gone = "insert into cms_table_epochs values ('settings', 2147483001, 5), \
                ('settings', 2147483002, 6), ('elsewhere', 2147483002, 1)";
    site.database.run(gone).await;
    let sum = "select cast(sum(epoch) as bigint) from cms_table_epochs";
    let before = site.database.count(sum).await;
    site.cms.expire().await.unwrap();
    assert_eq!(site.database.count(sum).await, before);
    let left = "select count(*) from cms_table_epochs where backend > 2147483000";
    let of_gone = site.database.count(left).await;
    if !site.database.is_postgres() {
        assert_eq!(of_gone, 3, "there are no connections on SQLite");
        return;
    }
    assert_eq!(of_gone, 0);
    let live = "select count(*) from cms_table_epochs where backend <> 0";
    assert!(site.database.count(live).await > 0, "live ones are not touched");
    let base = "select epoch from cms_table_epochs where name = 'settings' and backend = 0";
    assert!(site.database.count(base).await >= 11);
    // Somebody holds the row of a connection that is gone: its number was given again.
    let url = site.database.url.clone().unwrap();
    site.database.run(gone).await;
    let mut holder = PgConnection::connect(&url).await.unwrap();
    let hold = "begin; update cms_table_epochs set epoch = 7 where backend = 2147483001";
    holder.execute(sqlx::raw_sql(hold)).await.unwrap();
    site.cms.expire().await.unwrap();
    assert_eq!(site.database.count(left).await, 1, "it waits for the next time");
}
