//! The conservation law, over random visitors at random moments, two servers, staff who delete, and
//! retention: started = completed + abandoned + under way, and at each step entered = answered +
//! exited + waiting, none negative. Some numbers are compared with a plain model.
//! Long, because what moves the visitors moves the model too.
//!
//! `CMS_TEST_VISITORS` is the number of visitors; 600 without it.

use std::collections::BTreeMap;

use cms_core::{Cms, funnels::AnalyticsQuery};
use serde_json::{Value as Json, json};

use super::{another, model::drawn::Random as Dice};
use crate::support::{Site, Visit, has, with};

const DAY: i64 = 24 * 3_600_000;

/// A visitor, as the model knows them.
#[derive(Default)]
struct Visitor {
    session: String,
    began: i64,
    seen: i64,
    /// Steps that are answered on the way.
    answers: usize,
    rich: bool,
    state: State,
    spam: bool,
    is_deleted: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    #[default]
    UnderWay,
    Away,
    Completed,
}

/// Both servers remove what is too old. One that waits too long for the other tries again later, as
/// the task does.
async fn cleaned(site: &Site, other: &Site) -> u64 {
    let cleaned = async |cms: &Cms| {
        for _ in 0..30 {
            match cms.funnels().cleanup_old_submissions().await {
                Ok(removed) => return removed,
                Err(error) => assert_eq!(error.code(), cms_core::Code::Unavailable, "{error}"),
            }
        }
        panic!("the other server never ends");
    };
    let (one, two) = tokio::join!(cleaned(&site.cms), cleaned(&other.cms));
    one + two
}

/// What the model counts.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    started: i64,
    completed: i64,
    abandoned: i64,
    in_progress: i64,
    spam: i64,
    entered_budget: i64,
    entered_sorry: i64,
}

impl Visitor {
    /// A visit ends a day after its last step, or when its row goes.
    fn is_over(&self, now: i64) -> bool {
        self.is_deleted || now >= self.seen + DAY
    }

    fn count(&self, now: i64, sums: &mut Sums) {
        if self.spam {
            sums.spam += 1;
            return;
        }
        sums.started += 1;
        match self.state {
            State::Completed => sums.completed += 1,
            State::Away => sums.abandoned += 1,
            State::UnderWay if self.is_over(now) => sums.abandoned += 1,
            State::UnderWay => sums.in_progress += 1,
        }
        sums.entered_budget += i64::from(self.answers >= 1);
        sums.entered_sorry += i64::from(self.answers >= 2 && !self.rich);
    }
}

async fn numbers(cms: &Cms) -> Json {
    let mut query = AnalyticsQuery::new(1.to_string());
    query.from = Some("2026-11-01".to_owned());
    query.to = Some("2027-03-31".to_owned());
    serde_json::to_value(cms.funnels().analytics(&query).await.unwrap()).unwrap()
}

/// The law, at this instant.
fn holds(told: &Json) {
    let number = |of: &Json, name: &str| {
        let number = of[name].as_i64().unwrap_or_else(|| panic!("{name}: {of}"));
        assert!(number >= 0, "{name}: {of}");
        number
    };
    let totals = &told["totals"];
    let parts = ["completed", "abandoned", "in_progress"].map(|name| number(totals, name));
    assert_eq!(number(totals, "started"), parts.iter().sum::<i64>(), "{totals}");
    for step in told["steps"].as_array().unwrap() {
        let parts = ["answered", "exited", "waiting"].map(|name| number(step, name));
        assert_eq!(number(step, "entered"), parts.iter().sum::<i64>(), "{step}");
    }
    assert_eq!(number(&told["steps"][0], "entered"), number(totals, "started"), "{told}");
    for (list, name, sum) in [
        ("series", "started", "started"),
        ("series", "abandoned", "abandoned"),
        ("sources", "started", "started"),
        ("sources", "completed", "completed"),
        ("ends", "sessions", "completed"),
    ] {
        let parts = told[list].as_array().unwrap().iter().map(|one| number(one, name));
        assert_eq!(parts.sum::<i64>(), number(totals, sum), "{list}: {}", told[list]);
    }
    let states = ["new", "qualified", "contacted", "converted", "rejected"];
    let states = states.map(|state| number(&told["inbox"], state));
    assert_eq!(states.iter().sum::<i64>(), number(totals, "started"), "{}", told["inbox"]);
}

fn compare(told: &Json, visitors: &[Visitor], now: i64) {
    let mut sums = Sums::default();
    visitors.iter().for_each(|one| one.count(now, &mut sums));
    let total = |name: &str| told["totals"][name].as_i64().unwrap();
    let entered = |name: &str| {
        let mut steps = told["steps"].as_array().unwrap().iter();
        steps.find(|step| step["node_name"] == name).unwrap()["entered"].as_i64().unwrap()
    };
    let found = Sums {
        started: total("started"),
        completed: total("completed"),
        abandoned: total("abandoned"),
        in_progress: total("in_progress"),
        spam: total("spam"),
        entered_budget: entered("budget"),
        entered_sorry: entered("sorry"),
    };
    assert_eq!(found, sums);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_visit_is_lost_or_counted_twice() {
    let asked = std::env::var("CMS_TEST_VISITORS").ok().and_then(|text| text.parse().ok());
    let most: usize = asked.unwrap_or(600);
    let site = Site::open().await;
    site.leads(json!({
        "save_abandoned": 1, "abandon_after_min": 24 * 60, "settings_json": {"retention_days": 20},
    }))
    .await;
    let other = another(&site).await;
    let mut dice = Dice(17);
    let mut visitors: Vec<Visitor> = Vec::new();
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    let mut removed = 0;
    // Both servers read all the time, whatever happens.
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let watchers = [site.cms.clone(), other.cms.clone()].map(|cms| {
        let stopped = stopped.clone();
        tokio::spawn(async move {
            let mut looks = 0;
            while !*stopped.borrow() {
                holds(&numbers(&cms).await);
                looks += 1;
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            looks
        })
    });
    let every = (most / 60).max(8);
    while visitors.len() < most {
        // Several at once, on both servers.
        let mut batch: Vec<(Option<usize>, usize, usize, bool)> = Vec::new();
        for _ in 0..8 {
            let at = match dice.below(4) {
                1.. if !visitors.is_empty() => Some(dice.below(visitors.len().min(30))),
                _ => None,
            };
            // A visitor is met once in a batch.
            let at = at.map(|back| visitors.len() - 1 - back);
            if batch.iter().all(|(one, ..)| at.is_none() || *one != at) {
                batch.push((at, dice.below(2), dice.below(100), dice.below(2) == 0));
            }
        }
        let now = site.clock.now();
        let calls = batch.into_iter().map(|(at, server, act, rich)| {
            let (here, known) = ([&site, &other][server], at.map(|at| (at, &visitors[at])));
            async move { (at, visit(here, known.map(|(_, one)| one), act, rich, now).await) }
        });
        for (at, (visitor, what)) in futures_util::future::join_all(calls).await {
            *met.entry(what).or_default() += 1;
            match at {
                Some(at) => visitors[at] = visitor,
                None => visitors.push(visitor),
            }
        }
        if dice.one_in(6) {
            site.clock.advance(dice.below(3 * 3_600_000) as i64);
        }
        if dice.one_in(every) {
            let server = [&site, &other][dice.below(2)];
            match dice.below(4) {
                0 => {
                    tokio::join!(site.process_abandoned(), other.process_abandoned());
                    *met.entry("folded").or_default() += 1;
                }
                1 => {
                    site.clock.advance(DAY);
                    removed += cleaned(&site, &other).await;
                    forget(&site, &mut visitors).await;
                    *met.entry("cleaned").or_default() += 1;
                }
                kind => {
                    delete((&site, server), &mut dice, &mut visitors, kind == 2).await;
                    *met.entry("deleted").or_default() += 1;
                }
            }
            let told = numbers(&server.cms).await;
            holds(&told);
            compare(&told, &visitors, site.clock.now());
        }
    }
    let before = numbers(&site.cms).await;
    compare(&before, &visitors, site.clock.now());
    // Half of them go.
    let mut starts: Vec<_> = visitors.iter().filter(|one| !one.is_deleted).collect();
    starts.sort_by_key(|one| one.began);
    let middle = starts[starts.len() / 2].began + 20 * DAY;
    site.clock.advance((middle - site.clock.now()).max(0));
    removed += cleaned(&site, &other).await;
    forget(&site, &mut visitors).await;
    let after = numbers(&other.cms).await;
    holds(&after);
    compare(&after, &visitors, site.clock.now());
    for name in ["started", "completed", "spam", "engaged"] {
        assert_eq!(after["totals"][name], before["totals"][name], "{name}");
    }
    has!(after, {"fields": before["fields"], "branches": before["branches"]});
    stop.send_replace(true);
    let mut looks = 0;
    for watcher in watchers {
        looks += watcher.await.unwrap();
    }
    let gone = visitors.iter().filter(|one| one.is_deleted).count();
    assert!(removed > 0 && gone >= visitors.len() / 2, "{removed} {gone}");
    for what in
        ["started", "stepped", "away", "revived", "completed", "trapped", "folded", "deleted"]
    {
        assert!(met.contains_key(what), "{what}: {met:?}");
    }
    println!("{} visitors, {gone} gone, {looks} looks meanwhile: {met:?}", visitors.len());
    other.cms.close().await;
}

/// One call of a visitor: a new one, or one who comes back.
async fn visit(
    site: &Site,
    known: Option<&Visitor>,
    act: usize,
    rich: bool,
    now: i64,
) -> (Visitor, &'static str) {
    let Some(known) = known else {
        let source = ["", "fair", "ads"][act % 3];
        let start = json!({"funnel_id": "leads", "utm_source": source});
        let visit = site.begun(site.visitor("start", start)).await;
        let (session, state) = (visit.session, State::UnderWay);
        let new = Visitor { session, began: now, seen: now, rich, state, ..Visitor::default() };
        return (new, "started");
    };
    let mut one = Visitor { session: known.session.clone(), ..*known };
    let visit = Visit { site, session: one.session.clone() };
    let is_closed = one.is_over(now) || one.state == State::Completed;
    if act < 15 {
        visit.abandon().await;
        if !is_closed && one.state == State::UnderWay {
            one.state = State::Away;
            return (one, "away");
        }
        return (one, "nothing");
    }
    let steps = if one.rich { 3 } else { 2 };
    if one.answers >= steps {
        let reply = visit.complete(None).send().await;
        if one.state == State::Completed && !one.is_deleted {
            assert_eq!(reply.status, 200);
            return (one, "nothing");
        }
        assert_eq!(reply.status == 200, !is_closed, "{}", reply.text());
        if !is_closed {
            (one.state, one.seen) = (State::Completed, now);
            return (one, "completed");
        }
        return (one, "late");
    }
    let budget = if one.rich { 9000 } else { 10 };
    let answers =
        [json!({"name": "Ada"}), json!({"budget": budget}), json!({})][one.answers].clone();
    let trapped = act >= 97;
    let trap = if trapped { json!({"trap": "x"}) } else { json!({}) };
    let reply = visit.call("step", with(trap, json!({"answers": answers}))).send().await;
    assert_eq!(reply.status == 200, !is_closed, "{}", reply.text());
    if is_closed {
        return (one, "late");
    }
    let was_away = one.state == State::Away;
    (one.state, one.seen) = (State::UnderWay, now);
    one.answers += 1;
    one.spam |= trapped;
    let what = match (trapped, was_away) {
        (true, _) => "trapped",
        (_, true) => "revived",
        _ => "stepped",
    };
    (one, what)
}

/// The staff deletes one, or several at once.
async fn delete(
    (first, site): (&Site, &Site),
    dice: &mut Dice,
    visitors: &mut [Visitor],
    many: bool,
) {
    let number = if many { 6 } else { 1 };
    let mut ids = Vec::new();
    for _ in 0..number {
        let at = dice.below(visitors.len().max(1));
        let Some(one) = visitors.get_mut(at).filter(|one| !one.is_deleted) else { continue };
        let visit = Visit { site: first, session: one.session.clone() };
        ids.push(visit.column("id").await);
        one.is_deleted = true;
        let id = *ids.last().unwrap();
        if dice.one_in(2) {
            let update = json!({"id": id, "inbox_status": "qualified"});
            site.staff("submission_update", update).expect(200).await;
        }
    }
    let Some(id) = ids.first() else { return };
    let delete = match many {
        true => site.staff("submissions_bulk", json!({"op": "delete", "ids": ids})),
        false => site.staff("submission_delete", json!({"id": id})),
    };
    delete.expect(200).await;
}

/// Learns which rows retention has left.
async fn forget(site: &Site, visitors: &mut [Visitor]) {
    let joined = match site.database.is_postgres() {
        true => "string_agg(session_uuid, ' ')",
        false => "group_concat(session_uuid, ' ')",
    };
    let sql = format!("select coalesce({joined}, '') from cms_formfunnel_submissions");
    let kept = site.database.text(&sql).await;
    let kept: std::collections::HashSet<&str> = kept.split(' ').collect();
    for one in visitors {
        one.is_deleted |= !kept.contains(one.session.as_str());
    }
}
