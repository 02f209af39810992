//! How a visit goes on: which edges it takes, which answers count, what a step's answers do. Pure.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json};

use super::{
    session::{Session, Trail},
    sql::SentFile,
};
use crate::{
    Code, Error, FieldError, Millis, Result,
    conditions::{Condition, Surroundings, Traced},
    fields::{Answer, Context, Field},
    funnels::graph::{Branch, Edge, Graph, Node, Step, is_asked},
};

/// A funnel, with the surroundings that its conditions see beside the answers.
#[derive(Clone, Copy)]
pub(super) struct Walk<'a> {
    pub(super) graph: &'a Graph,
    /// By the ids of the nodes that branch.
    pub(super) conditions: &'a HashMap<i64, Condition>,
    pub(super) around: &'a Surroundings,
}

/// What a walk decided at a node that it came to.
pub(super) struct Decision<'a> {
    pub(super) node: &'a Node,
    /// Whether the node's condition holds; None where none decides.
    pub(super) result: Option<bool>,
    /// The results of its rules, if the walk asked for reasons.
    pub(super) rules: Vec<Traced>,
    /// The edge that was taken; None where none leads on.
    pub(super) edge: Option<&'a Edge>,
}

/// The way on from a node.
pub(super) struct Way<'a> {
    /// At the node, then at each condition node behind it; the last decision has no edge if
    /// none leads on.
    pub(super) decisions: Vec<Decision<'a>>,
    /// The next step or the end. None: no edge leads on, which also ends the visit.
    pub(super) to: Option<&'a Node>,
}

impl<'a> Walk<'a> {
    /// The way on from a step. Condition nodes are passed.
    pub(super) fn next(&self, from: i64, answers: &Map<String, Json>) -> Way<'a> {
        self.way(from, |condition| (condition.evaluate(answers, self.around), Vec::new()))
    }

    /// As [`Walk::next`], with the reasons.
    pub(super) fn traced(&self, from: i64, answers: &Map<String, Json>) -> Way<'a> {
        self.way(from, |condition| condition.trace(answers, self.around))
    }

    fn way(&self, from: i64, judge: impl Fn(&Condition) -> (bool, Vec<Traced>)) -> Way<'a> {
        let (mut decisions, mut at) = (Vec::new(), self.graph.node(from));
        // Graphs have no cycles, but a walk ends whatever is stored.
        for _ in self.graph.nodes() {
            let is_passed = |node: &&Node| decisions.is_empty() || node.kind.is_condition();
            let Some(node) = at.filter(is_passed) else { break };
            let judged = self.conditions.get(&node.id).map(&judge);
            let (result, rules) =
                judged.map_or((None, Vec::new()), |(holds, rules)| (Some(holds), rules));
            let branch = result.map(|holds| if holds { Branch::True } else { Branch::False });
            let edge = branch.and_then(|branch| self.graph.edge(node.id, branch));
            let edge = edge.or_else(|| self.graph.edge(node.id, Branch::Default));
            decisions.push(Decision { node, result, rules, edge });
            at = edge.and_then(|edge| self.graph.node(edge.to));
        }
        // A cycle of conditions leads nowhere.
        Way { decisions, to: at.filter(|next| !next.kind.is_condition()) }
    }

    /// The answers that count: answers to steps on the path, hidden answers that came with the
    /// visitor, and values computed from these.
    pub(super) fn effective(&self, path: &[i64], stored: &Map<String, Json>) -> Map<String, Json> {
        let mut counting = Map::new();
        for (node, step) in self.steps() {
            let is_on_path = path.contains(&node.id);
            let counts = |field: &&Field| match field.type_name() {
                "hidden" => true,
                "calculated" => false,
                _ => is_on_path,
            };
            for field in step.fields.iter().filter(counts) {
                for name in field.names() {
                    if let Some((name, value)) = stored.get_key_value(&name) {
                        counting.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        self.graph.compute(path, &mut counting);
        counting
    }

    /// The answers to steps on the path, in the order of the path, then hidden and
    /// computed answers.
    pub(super) fn answers(&self, path: &[i64], stored: &Map<String, Json>) -> Vec<Answer> {
        let counting = self.effective(path, stored);
        let on_path = || path.iter().filter_map(|id| self.graph.node(*id)?.step());
        let asked = on_path().flat_map(|step| step.fields.iter().filter(|field| is_asked(field)));
        let others = on_path().chain(self.steps().map(|(_, step)| step));
        let others = others.flat_map(|step| step.fields.iter().filter(|field| !is_asked(field)));
        let mut told = HashSet::new();
        let fields = asked.chain(others).filter(|field| told.insert(field.id()));
        fields.flat_map(|field| field.answered(&counting)).collect()
    }

    fn steps(&self) -> impl Iterator<Item = (&'a Node, &'a Step)> {
        self.graph.nodes().iter().filter_map(|node| Some((node, node.step()?)))
    }

    /// The number of steps that may still come, including this node.
    pub(super) fn remaining(&self, node: Option<&Node>) -> usize {
        let Some(node) = node else { return 0 };
        self.graph.steps_after(node.id) + usize::from(node.step().is_some())
    }
}

/// Maximum bytes of all answers of a session.
const ANSWERS: usize = 1 << 20;
/// Maximum number of refused answers that are noted.
const NOTED: usize = 20;
/// Maximum number of unknown names that are reported.
const UNKNOWN: usize = 100;

/// Answers to a step, in the form in which they are stored.
#[derive(Clone, Debug)]
pub(super) struct StepAnswers {
    pub(super) answers: Map<String, Json>,
    /// Names that no field takes.
    pub(super) ignored: Vec<String>,
}

/// Judges the answers of a step. A file answers only the field that it was sent for.
pub(super) fn judge_answers(
    step: &Step,
    given: &Map<String, Json>,
    context: &Context,
    files: &[SentFile],
    is_strict: bool,
) -> Result<StepAnswers, Vec<FieldError>> {
    let asked: Vec<&Field> = step.fields.iter().filter(|field| is_asked(field)).collect();
    let names: Vec<String> = asked.iter().flat_map(|field| field.names()).collect();
    let ignored: Vec<_> = given.keys().filter(|name| !names.contains(name)).cloned().collect();
    let is_foreign = |name: &&String| !step.fields.iter().any(|field| field.id() == *name);
    let unknown = |name: &String| FieldError {
        field: name.clone(),
        code: "unknown",
        message: "this step asks for nothing of this name".to_owned(),
    };
    let strange = ignored.iter().filter(|_| is_strict).filter(is_foreign);
    let mut faults: Vec<_> = strange.take(UNKNOWN).map(unknown).collect();
    let mut answers = Map::new();
    for field in asked {
        let own = files.iter().filter(|file| file.field == field.id());
        let own = own.fold(context.clone(), |own, file| own.upload(&file.uid, file.upload()));
        match field.take(given, &own) {
            Ok(taken) => answers.extend(taken),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(StepAnswers { answers, ignored }) } else { Err(faults) }
}

/// The names of the answers that a step asks for.
pub(super) fn names(step: &Step) -> Vec<String> {
    let asked = step.fields.iter().filter(|field| is_asked(field));
    asked.flat_map(Field::names).collect()
}

/// As [`judge_answers`], on top of the session's answers: a field that `given` does not name
/// keeps its answer.
pub(super) fn judge_merged(
    session: &Session,
    step: &Step,
    given: &Map<String, Json>,
    context: &Context,
    files: &[SentFile],
    is_strict: bool,
) -> Result<StepAnswers, Vec<FieldError>> {
    let mut kept = session.answers_of(step);
    for field in step.fields.iter().filter(|field| is_asked(field)) {
        let names = field.names();
        if names.iter().any(|name| given.contains_key(name)) {
            names.iter().for_each(|name| drop(kept.remove(name)));
        }
    }
    let mut all = kept.clone();
    all.extend(given.clone());
    let mut taken = judge_answers(step, &all, context, files, is_strict)?;
    // A kept consent keeps the time at which it was given.
    taken.answers.extend(kept);
    Ok(taken)
}

/// Whether the session already holds these answers to the step. The time of a consent is ignored.
fn is_stored(session: &Session, step: &Step, taken: &StepAnswers) -> bool {
    let asked = step.fields.iter().filter(|field| is_asked(field));
    asked.into_iter().all(|field| {
        let moment = (field.type_name() == "consent").then(|| format!("{}.at", field.id()));
        let names = field.names();
        let mut names = names.iter().filter(|name| moment.as_ref() != Some(name));
        names.all(|name| session.answers.get(name) == taken.answers.get(name))
    })
}

/// What a move did.
#[derive(Clone, Copy, Debug)]
pub(super) enum Moved<'a> {
    /// The step already had these answers. The node is the one that followed the step.
    Unchanged(Option<&'a Node>),
    /// The visitor is at this node now. None: no edge leads on from the last step.
    To(Option<&'a Node>),
}

/// The step that a call is about.
pub(super) fn target<'a>(
    walk: &Walk<'a>,
    session: &Session,
    asked: Option<i64>,
    given: &Map<String, Json>,
) -> Result<&'a Node> {
    let id = asked.or_else(|| repeated(walk, session, given)).or(session.current);
    let node = id.filter(|id| session.path.contains(id)).and_then(|id| walk.graph.node(id));
    node.filter(|node| node.step().is_some()).ok_or_else(|| {
        let detail = "The node is not a step that this visit has reached.";
        Error::new(Code::NotOnPath, detail).at_node(session.current)
    })
}

/// The step before the presented one, if the answers are answers to it: a page that did not get
/// the reply sends them again, without naming the step.
fn repeated(walk: &Walk<'_>, session: &Session, given: &Map<String, Json>) -> Option<i64> {
    let takes = |id: i64, name: &String| {
        let step = walk.graph.node(id).and_then(Node::step);
        step.is_some_and(|step| step.fields.iter().any(|field| field.names().contains(name)))
    };
    let before = match session.current {
        Some(current) => session.path.iter().rev().find(|id| **id != current).copied()?,
        None => session.path.last().copied()?,
    };
    let is_foreign = session.current.is_none_or(|now| !given.keys().any(|name| takes(now, name)));
    let is_own = !given.is_empty() && given.keys().all(|name| takes(before, name));
    (is_foreign && is_own).then_some(before)
}

/// Answers a step: stores the answers, cuts the path if the visitor went back, and moves on.
pub(super) fn answer<'a>(
    walk: &Walk<'a>,
    session: &mut Session,
    node: &'a Node,
    taken: &StepAnswers,
    now: Millis,
    trail: &mut Trail,
) -> Result<Moved<'a>> {
    let (Some(step), Some(at)) = (node.step(), session.path.iter().position(|id| *id == node.id))
    else {
        return Err(Error::internal("an answered node is no step on the path"));
    };
    let is_open = session.current == Some(node.id);
    if !is_open && is_stored(session, step, taken) {
        let next = session.path.get(at + 1).and_then(|id| walk.graph.node(*id));
        return Ok(Moved::Unchanged(next));
    }
    if !is_open {
        session.path.truncate(at + 1);
        trail.rewound(node.id);
    }
    for field in step.fields.iter().filter(|field| is_asked(field)) {
        for name in field.names() {
            session.answers.remove(&name);
        }
    }
    session.answers.extend(taken.answers.clone());
    if serde_json::to_string(&session.answers).map_or(0, |text| text.len()) > ANSWERS {
        let detail = format!("All answers together may have {ANSWERS} bytes.");
        return Err(Error::new(Code::PayloadTooLarge, detail));
    }
    trail.answered(node.id, is_open.then(|| now - session.presented_at));
    let counting = walk.effective(&session.path, &session.answers);
    for id in walk.graph.computed() {
        match counting.get(id) {
            Some(value) => session.answers.insert(id.to_owned(), value.clone()),
            None => session.answers.remove(id),
        };
    }
    let way = walk.next(node.id, &counting);
    for edge in way.decisions.iter().filter_map(|decision| decision.edge) {
        trail.edge(edge.id, edge.from);
    }
    session.current = way.to.map(|next| next.id);
    session.presented_at = now;
    if let Some(next) = way.to {
        session.path.push(next.id);
        trail.note("presented", Some(next.id));
    }
    Ok(Moved::To(way.to))
}

/// Notes refused answers with their fields. If only unknown names were refused, notes
/// just the step.
pub(super) fn note_refused(node: &Node, faults: &[FieldError], trail: &mut Trail) {
    let asked = node.step().map(names).unwrap_or_default();
    let is_asked = |fault: &&FieldError| asked.contains(&fault.field);
    for fault in faults.iter().filter(is_asked).take(NOTED) {
        trail.invalid(node.id, &fault.field);
    }
    if !faults.iter().any(|fault| is_asked(&fault)) {
        trail.note("invalid", Some(node.id));
    }
}

/// The first node of the path that is not finished, with its faults. The path is walked again from
/// its start, and no stored decision is trusted.
pub(super) fn unfinished<'a>(
    walk: &Walk<'a>,
    session: &Session,
    context: &Context,
    files: &[SentFile],
) -> Option<(Option<&'a Node>, Vec<FieldError>)> {
    let mut at = walk.graph.start();
    let mut walked = Vec::new();
    // A path holds no node twice.
    for _ in walk.graph.nodes() {
        let Some(node) = at else {
            return (walked != session.path).then_some((None, Vec::new()));
        };
        walked.push(node.id);
        let Some(step) = node.step() else {
            return (walked != session.path).then_some((Some(node), Vec::new()));
        };
        let is_answered = session.path.get(walked.len() - 1) == Some(&node.id)
            && session.current != Some(node.id);
        if !is_answered {
            return Some((Some(node), Vec::new()));
        }
        if let Err(faults) = judge_answers(step, &session.answers_of(step), context, files, false) {
            return Some((Some(node), faults));
        }
        let counting = walk.effective(&walked, &session.answers);
        at = walk.next(node.id, &counting).to;
    }
    Some((at, Vec::new()))
}

impl Session {
    /// The stored answers that the visitor gave to the fields of a step.
    pub(super) fn answers_of(&self, step: &Step) -> Map<String, Json> {
        let fields = step.fields.iter().filter(|field| is_asked(field));
        let names = fields.flat_map(|field| field.names());
        names.filter_map(|name| Some((name.clone(), self.answers.get(&name)?.clone()))).collect()
    }
}
