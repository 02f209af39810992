//! Random visitors in random funnels, over the API, beside a plain model of the rules.
//!
//! `CMS_TEST_ROUNDS` is the number of calls; a few hundred without it.

pub mod drawn;
mod rules;

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use self::{
    drawn::{Drawn, Random},
    rules::{Given, Model, Said, Status},
};
use crate::support::{Published, Reply, Site, Visit, has};

/// Calls of a visit at most.
const CALLS: usize = 25;
/// Visits of a funnel.
const VISITS: usize = 6;

#[tokio::test]
async fn visitors_go_as_the_plain_rules_say() {
    let rounds = std::env::var("CMS_TEST_ROUNDS").ok().and_then(|text| text.parse().ok());
    let rounds: usize = rounds.unwrap_or(600);
    let site = Site::open().await;
    let mut random = Random(11);
    let (mut calls, mut funnels) = (0, 0);
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    let mut raised = [0; 4];
    while calls < rounds {
        funnels += 1;
        let drawn = Drawn::random(&mut random, format!("f{funnels}"));
        let published = site.funnel(drawn.json()).await;
        for _ in 0..VISITS {
            let (made, model) = play(&site, &published, &drawn, &mut random, &mut met).await;
            calls += made;
            let times = |kind| model.rows.iter().filter(|row| row.kind == kind).count() as i64;
            raised[0] += 1;
            raised[1] += times("answered");
            raised[2] += times("completed");
            raised[3] += i64::from(model.status != Status::Completed);
        }
    }
    for what in ["moved", "repeated", "back", "resumed", "completed", "completed again", "revived"]
    {
        assert!(met.get(what).is_some_and(|times| *times > 2), "{what}: {met:?}");
    }
    for what in ["validation_failed", "not_on_path", "incomplete", "already_completed"] {
        assert!(met.get(what).is_some_and(|times| *times > 2), "{what}: {met:?}");
    }
    // Everybody who has not come to an end stays away, and is told of once.
    site.clock.advance(3_600_000);
    site.process_abandoned().await;
    let events = ["started", "step_completed", "completed", "abandoned"];
    for (event, times) in events.into_iter().zip(raised) {
        assert_eq!(site.raised(&format!("formfunnel.{event}")).await, times, "{event}");
    }
    println!("{calls} calls in {funnels} funnels: {met:?}");
}

/// A visit: every reply and all rows at the end are as the model says. Returns the number of calls.
async fn play<'a>(
    site: &Site,
    published: &Published,
    drawn: &'a Drawn,
    random: &mut Random,
    met: &mut BTreeMap<String, usize>,
) -> (usize, Model<'a>) {
    let source = [None, Some("spring")][random.below(2)];
    let hidden = source.map(|source| json!({"source": source})).unwrap_or(json!({}));
    let body = json!({"funnel_id": drawn.slug, "hidden": hidden});
    let visit = site.begun(site.visitor("start", body)).await;
    let mut model = Model::new(drawn, source);
    let ids: Vec<i64> =
        (0..drawn.nodes.len()).map(|at| published.node(&format!("n{at}"))).collect();
    let mut last: (Option<usize>, Given) = (None, Map::new());
    let mut note = |what: &str| *met.entry(what.to_owned()).or_default() += 1;
    let most = 5 + random.below(CALLS);
    for call in 1..=most {
        let before = model.clone();
        let (said, reply) = match random.below(20) {
            0 => {
                model.abandon();
                visit.abandon().await;
                continue;
            }
            1 => (model.resume(), visit.resume().send().await),
            2..=3 => {
                let given = given(random, &model, model.now);
                let body = if given.is_empty() && random.one_in(2) { None } else { Some(&given) };
                let said = model.complete(&given);
                (said, visit.complete(body.map(|given| json!(given))).send().await)
            }
            kind => {
                // Mostly the step that is presented; else one on the path, any node, or the last
                // call once more.
                let asked = match kind {
                    4 => Some(random.below(drawn.nodes.len())),
                    5..=7 => Some(model.path[random.below(model.path.len())]),
                    _ => None,
                };
                let (asked, answers) = match kind {
                    8..=9 => last.clone(),
                    _ => (asked, given(random, &model, asked.or(model.now))),
                };
                last = (asked, answers.clone());
                let said = model.step(asked, &answers);
                let reply = visit.step(asked.map(|at| ids[at]), json!(answers)).send().await;
                (said, reply)
            }
        };
        let about = || format!("call {call} of {}: {before:#?}", drawn.slug);
        compare(&said, &reply, &ids, &about);
        match (&said, model.answered - before.answered) {
            (Said::Refused(code, _), _) => note(code),
            (Said::Done(_), _) if before.status == Status::Completed => note("completed again"),
            (Said::Done(_), _) => note("completed"),
            (Said::At(..), 0) if reply.json()["rev"] == 0 => note("resumed"),
            (Said::At(..), 0) => note("repeated"),
            (Said::At(..), _) if model.path.len() <= before.path.len() => note("back"),
            (Said::At(..), _) => note("moved"),
        }
        if (before.status, model.status) == (Status::Abandoned, Status::InProgress) {
            note("revived");
        }
    }
    visit.resume().send().await;
    note("resumed");
    model.resume();
    kept(&visit, &model, &ids).await;
    (most, model)
}

/// Answers to the fields of a step: mostly good ones, some missing, some wrong, some of no field.
fn given(random: &mut Random, model: &Model<'_>, at: Option<usize>) -> Given {
    let fields = at.map(|at| model.drawn.nodes[at].fields.as_slice()).unwrap_or_default();
    let mut given = Map::new();
    for id in fields {
        let value = match random.below(12) {
            0..=1 => continue,
            2 => 7,
            // The same again.
            3..=6 => match model.answers.get(id).and_then(Json::as_i64) {
                Some(value) => value,
                None => continue,
            },
            value => value as i64 % 4,
        };
        given.insert(id.clone(), value.into());
    }
    if random.one_in(20) {
        given.insert("nobody".to_owned(), 1.into());
    }
    given
}

fn compare(said: &Said, reply: &Reply, ids: &[i64], about: &dyn Fn() -> String) {
    let told = reply.json();
    let id = |at: &Option<usize>| at.map_or(Json::Null, |at| ids[at].into());
    match said {
        Said::At(at, held) => {
            assert_eq!(reply.status, 200, "{told} {}", about());
            has!(told, {"/node/id": id(at), "answers": held}, "{told} {}", about());
            let is_step = told["node_type"] == "step";
            assert_eq!(told["can_complete"], !is_step, "{told} {}", about());
        }
        Said::Done(at) => {
            assert_eq!(reply.status, 200, "{told} {}", about());
            assert_eq!(told["node"]["id"], id(at), "{told} {}", about());
        }
        Said::Refused(code, at) => {
            assert_eq!(told["error"], *code, "{told} {}", about());
            assert_eq!(told["node_id"], id(at), "{told} {}", about());
        }
    }
}

/// The row, and the rows of what happened, hold what the model holds.
async fn kept(visit: &Visit<'_>, model: &Model<'_>, ids: &[i64]) {
    let path: Vec<_> = model.path.iter().map(|at| ids[*at]).collect();
    let (path, answers) = (json!(path).to_string(), json!(model.answers).to_string());
    let status = match model.status {
        Status::InProgress => "in_progress",
        Status::Abandoned => "abandoned",
        Status::Completed => "completed",
    };
    let rows = model.rows.iter().map(|row| {
        let node = row.node.map_or(0, |at| ids[at]);
        format!("{} {node} {} {}", row.kind, row.field, i32::from(row.counts))
    });
    let expected = [status, &path, &answers].into_iter().map(str::to_owned).chain(rows);
    let expected = expected.collect::<Vec<_>>().join("\n");
    let line = "e.kind || ' ' || coalesce(e.node_id, 0) || ' ' || coalesce(e.field, '') || ' ' || \
                case when e.on_path then 1 else 0 end";
    let joined = match visit.site.database.is_postgres() {
        true => "string_agg(line, chr(10) order by seq)",
        false => "group_concat(line, char(10))",
    };
    let sql = format!(
        "select s.status || '\n' || s.path_json || '\n' || s.answers_json || '\n' || (select \
         {joined} from (select e.seq, {line} as line from cms_formfunnel_events e where \
         e.submission_id = s.id order by e.seq) lines) from cms_formfunnel_submissions s where \
         s.session_uuid = '{}'",
        visit.session
    );
    assert_eq!(visit.site.database.text(&sql).await, expected, "{model:#?}");
}
