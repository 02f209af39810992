//! Random visitors in random funnels, beside a plain model of the rules.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::{
    moves::{self, Moved, Walk},
    session::{Session, Status, Trail},
};
use crate::{
    Code,
    conditions::Surroundings,
    fields::Context,
    funnels::graph::{Branch, Graph, GraphInput, read},
};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// A funnel whose steps ask for a number from 0 to 3 each, `a<id>`; half of them demand it. Some
/// nodes branch by the answer to an earlier step.
fn funnel(random: &mut Random) -> Graph {
    let count = 3 + random.below(9) as i64;
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for id in 1..=count {
        let kind = match random.below(10) {
            _ if id == 1 => "step",
            _ if id == count => "end",
            0..=1 => "end",
            2..=4 => "condition",
            _ => "step",
        };
        let mut config = json!({});
        if kind == "step" {
            let field = json!({"id": format!("a{id}"), "type": "number", "required": id % 2 == 0,
                               "min": 0, "max": 3});
            config["fields"] = json!([field]);
        }
        let branches = kind == "condition" || (kind == "step" && random.below(4) == 0);
        if branches {
            let asked = 1 + random.below(id as u64);
            let value = random.below(4);
            config["rules"] = json!({"rules": [
                {"field": format!("a{asked}"), "op": "greater_or_equal", "value": value}]});
        }
        nodes.push(json!({"id": id, "type": kind, "name": format!("n{id}"),
                          "config_json": config, "sort_order": id}));
        if kind == "end" {
            continue;
        }
        let labels: &[&str] = if branches { &["true", "false", "default"] } else { &["default"] };
        for label in labels {
            // Some ways lead nowhere, which is an end too.
            if id < count && random.below(8) > 0 {
                let to = id + 1 + random.below((count - id) as u64) as i64;
                edges.push(json!({"id": edges.len() + 1, "from_node_id": id, "to_node_id": to,
                                  "branch_label": label, "sort_order": 0}));
            }
        }
    }
    let (graph, problems) = read(GraphInput { start: Some(1), nodes: &nodes, edges: &edges });
    assert!(problems.is_empty(), "{problems:?}");
    graph
}

/// The rules, plainly: what was answered at each step, and the steps in their order.
#[derive(Debug)]
struct Model<'a> {
    graph: &'a Graph,
    given: BTreeMap<i64, Option<i64>>,
    path: Vec<i64>,
    /// None: past the last step, nowhere.
    now: Option<i64>,
}

impl Model<'_> {
    fn is_step(&self, id: i64) -> bool {
        self.graph.node(id).is_some_and(|node| node.step().is_some())
    }

    /// The next step or end.
    fn follow(&self, from: i64) -> Option<i64> {
        let node = self.graph.node(from)?;
        let rule = node.condition()["rules"][0].clone();
        let label = rule.is_object().then(|| {
            let asked: i64 = rule["field"].as_str().unwrap_or("a0")[1..].parse().expect("an id");
            // Only what was answered on the way counts.
            let answer = self.path.contains(&asked).then(|| self.given.get(&asked)).flatten();
            let answer = answer.copied().flatten();
            let holds = answer.is_some_and(|answer| answer >= rule["value"].as_i64().unwrap_or(0));
            if holds { Branch::True } else { Branch::False }
        });
        let find = |label: Branch| {
            self.graph.edges().iter().find(|edge| edge.from == from && edge.branch == label)
        };
        let edge = label.and_then(find).or_else(|| find(Branch::Default))?;
        if self.graph.node(edge.to)?.kind.is_condition() {
            return self.follow(edge.to);
        }
        Some(edge.to)
    }

    fn answer(
        &mut self,
        node: Option<i64>,
        value: Option<i64>,
    ) -> Result<Option<i64>, &'static str> {
        let target = node.or(self.now);
        let target = target.filter(|id| self.path.contains(id) && self.is_step(*id));
        let target = target.ok_or("not_on_path")?;
        if value.is_none() && target % 2 == 0 || value.is_some_and(|value| value > 3) {
            return Err("validation_failed");
        }
        let at = self.path.iter().position(|id| *id == target).expect("on the path");
        if self.now != Some(target) && self.given.get(&target).copied().flatten() == value {
            return Ok(self.path.get(at + 1).copied());
        }
        self.path.truncate(at + 1);
        self.given.insert(target, value);
        self.now = self.follow(target);
        self.path.extend(self.now);
        Ok(self.now)
    }

    fn effective(&self) -> Map<String, Json> {
        // What the presented step was answered with before counts no more.
        let answered = self.path.iter().filter(|id| self.now != Some(**id));
        let counting = answered.filter_map(|id| {
            let value = self.given.get(id).copied().flatten()?;
            Some((format!("a{id}"), value.into()))
        });
        counting.collect()
    }
}

fn session(start: i64) -> Session {
    Session {
        id: 1,
        funnel: 1,
        version: 1,
        uuid: "x".to_owned(),
        rev: 0,
        status: Status::InProgress,
        language: String::new(),
        path: vec![start],
        answers: Map::new(),
        current: Some(start),
        end: None,
        end_kind: None,
        reference: None,
        source_url: None,
        referer: None,
        utm: Default::default(),
        host: None,
        is_spam: false,
        is_test: false,
        started_at: 0,
        last_activity_at: 0,
        presented_at: 0,
        completed_at: None,
        abandoned_at: None,
        abandoned_told: false,
        expires_at: i64::MAX,
        folded: false,
        mail_rule: None,
        mail_status: None,
    }
}

/// 100,000 calls.
#[test]
fn random_visitors_go_as_the_plain_rules_say() {
    let mut random = Random(7);
    let (mut calls, mut moved, mut repeated, mut refused, mut completed) = (0, 0, 0, 0, 0);
    while calls < 100_000 {
        let graph = funnel(&mut random);
        let conditions = graph.conditions();
        let around = Surroundings::at(0);
        let walk = Walk { graph: &graph, conditions: &conditions, around: &around };
        let context = Context::at(0);
        for _ in 0..5 {
            let mut session = session(1);
            let given = BTreeMap::new();
            let mut model = Model { graph: &graph, given, path: vec![1], now: Some(1) };
            for _ in 0..15 {
                calls += 1;
                let asked = match random.below(8) {
                    0 => Some(1 + random.below(12) as i64),
                    1..=3 => Some(model.path[random.below(model.path.len() as u64) as usize]),
                    _ => None,
                };
                let value = match random.below(8) {
                    0 => None,
                    // The same again.
                    6.. => asked.and_then(|id| model.given.get(&id).copied().flatten()),
                    value => Some(value as i64 - 1),
                };
                // A call without a node names the field of the step that is presented.
                let Some(field) = asked.or(session.current) else { continue };
                let mut answers = Map::new();
                if let Some(value) = value {
                    answers.insert(format!("a{field}"), value.into());
                }
                let told = play(&walk, &mut session, &context, asked, &answers);
                let expected = model.answer(asked, value);
                match (&told, &expected) {
                    (Ok((_, true)), Ok(_)) => moved += 1,
                    (Ok(_), Ok(_)) => repeated += 1,
                    _ => refused += 1,
                }
                assert_eq!(told.map(|(next, _)| next), expected, "{model:?} {asked:?} {value:?}");
                assert_eq!((&session.path, session.current), (&model.path, model.now));
                let counting = walk.effective(session.answered(), &session.answers);
                assert_eq!(counting, model.effective());
                let is_over = model.now.is_none_or(|id| !model.is_step(id));
                completed += u64::from(is_over);
                let unfinished = moves::unfinished(&walk, &session, &context, &[]);
                assert_eq!(unfinished.is_none(), is_over, "{model:?}");
            }
        }
    }
    // Every kind of outcome was met often.
    for (what, count) in
        [("moved", moved), ("repeated", repeated), ("refused", refused), ("completed", completed)]
    {
        assert!(count > 5_000, "{what}: {count}");
    }
}

/// A call as [`Funnels::step`](crate::funnels::Funnels::step) makes it: the next node, and whether
/// anything changed.
fn play(
    walk: &Walk<'_>,
    session: &mut Session,
    context: &Context,
    asked: Option<i64>,
    answers: &Map<String, Json>,
) -> Result<(Option<i64>, bool), &'static str> {
    let node = moves::target(walk, session, asked, answers).map_err(|error| {
        assert_eq!((error.code(), error.node()), (Code::NotOnPath, session.current));
        "not_on_path"
    })?;
    let step = node.step().expect("a step");
    let taken = moves::judge_answers(step, answers, context, &[], false);
    let taken = taken.map_err(|_| "validation_failed")?;
    let mut trail = Trail::default();
    let moved = moves::answer(walk, session, node, &taken, 0, &mut trail).expect("small");
    let happened = trail.0.iter().filter(|one| one.kind == "answered").count();
    assert_eq!(happened, usize::from(matches!(moved, Moved::To(_))));
    Ok(match moved {
        Moved::Unchanged(next) => (next.map(|node| node.id), false),
        Moved::To(next) => (next.map(|node| node.id), true),
    })
}
