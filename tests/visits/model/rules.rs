//! The rules of a visit, plainly: what a call answers, and what it leaves behind.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::drawn::{Drawn, Kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    InProgress,
    Abandoned,
    Completed,
}

/// What a call answers: a node by its place, or a refusal with the place that it names.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// The place, and whether the answers before are shown.
    At(Option<usize>, Map<String, Json>),
    Done(Option<usize>),
    Refused(&'static str, Option<usize>),
}

pub type Given = Map<String, Json>;

/// What happened, as a row tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub kind: &'static str,
    pub node: Option<usize>,
    pub field: String,
    /// False for what the visitor went back behind.
    pub counts: bool,
}

/// A visit. Answers stand under the ids of their fields, because steps that exclude each other
/// share them.
#[derive(Clone, Debug)]
pub struct Model<'a> {
    pub drawn: &'a Drawn,
    pub answers: BTreeMap<String, Json>,
    pub path: Vec<usize>,
    /// None: past the last step, nowhere.
    pub now: Option<usize>,
    pub status: Status,
    /// Steps that were answered, repeated ones aside.
    pub answered: i64,
    pub rows: Vec<Row>,
}

impl<'a> Model<'a> {
    pub fn new(drawn: &'a Drawn, source: Option<&str>) -> Self {
        let names_source = drawn.nodes.iter().any(|node| node.hidden);
        let source = names_source.then(|| source.unwrap_or("none"));
        let answers = source.map(|source| ("source".to_owned(), source.into()));
        let mut new = Self {
            drawn,
            answers: answers.into_iter().collect(),
            path: vec![0],
            now: Some(0),
            status: Status::InProgress,
            answered: 0,
            rows: Vec::new(),
        };
        new.note("started", None);
        new.note("presented", Some(0));
        new
    }

    fn note(&mut self, kind: &'static str, node: Option<usize>) {
        self.rows.push(Row { kind, node, field: String::new(), counts: true });
    }

    fn refused(&mut self, at: usize, fields: Vec<String>) {
        for field in fields {
            self.rows.push(Row { kind: "invalid", node: Some(at), field, counts: true });
        }
    }

    /// What came after a step was presented counts no more.
    fn cut(&mut self, at: usize) {
        let is_place = |row: &Row| row.counts && row.kind == "presented" && row.node == Some(at);
        let place = self.rows.iter().rposition(is_place).expect("presented");
        for row in &mut self.rows[place + 1..] {
            row.counts &= !matches!(row.kind, "presented" | "answered" | "edge");
        }
    }

    fn is_step(&self, at: usize) -> bool {
        self.drawn.nodes[at].kind == Kind::Step
    }

    fn fields(&self, at: usize) -> &'a [String] {
        &self.drawn.nodes[at].fields
    }

    /// What a step asks for and the visit holds.
    fn held(&self, at: Option<usize>) -> Given {
        let fields = at.map(|at| self.fields(at)).unwrap_or_default();
        let held = fields.iter().filter_map(|id| Some((id.clone(), self.answers.get(id)?.clone())));
        held.collect()
    }

    /// The fields of a step that these answers do not suit.
    fn faults(&self, at: usize, given: &Given) -> Vec<String> {
        let is_good = |place: usize, answer: Option<&Json>| match answer {
            None => !(self.drawn.nodes[at].required && place == 0),
            Some(answer) => answer.as_i64().is_some_and(|answer| (0..=3).contains(&answer)),
        };
        let fields = self.fields(at).iter().enumerate();
        let bad = fields.filter(|(place, id)| !is_good(*place, given.get(*id)));
        bad.map(|(_, id)| id.clone()).collect()
    }

    /// The answers that count: of steps on the path, and what came with the visitor.
    pub fn counting(&self) -> BTreeMap<String, Json> {
        let on_path = |id: &String| self.path.iter().any(|at| self.fields(*at).contains(id));
        let counts = |id: &String| id == "source" || on_path(id);
        let counting = self.answers.iter().filter(|(id, _)| counts(id));
        counting.map(|(id, answer)| (id.clone(), answer.clone())).collect()
    }

    /// The visitor is there.
    fn seen(&mut self) {
        if self.status == Status::Abandoned {
            self.status = Status::InProgress;
        }
    }

    /// The step that a call without a node is about: the one before, if all answers are its own and
    /// none is of the step that is presented.
    fn repeated(&self, given: &Given) -> Option<usize> {
        let before = match self.now {
            Some(now) => *self.path.iter().rev().find(|at| **at != now)?,
            None => *self.path.last()?,
        };
        let takes = |at: usize, id: &String| {
            let node = &self.drawn.nodes[at];
            node.fields.contains(id) || (node.hidden && id == "source")
        };
        let is_foreign = self.now.is_none_or(|now| !given.keys().any(|id| takes(now, id)));
        let is_own = !given.is_empty() && given.keys().all(|id| takes(before, id));
        (is_foreign && is_own).then_some(before)
    }

    /// Answers a step that is on the path. False: it had these answers.
    fn answer(&mut self, at: usize, given: &Given) -> bool {
        let fields = self.fields(at);
        let same = fields.iter().all(|id| self.answers.get(id) == given.get(id));
        if self.now != Some(at) && same {
            return false;
        }
        for id in fields {
            self.answers.remove(id);
            if let Some(answer) = given.get(id) {
                self.answers.insert(id.clone(), answer.clone());
            }
        }
        let place = self.path.iter().position(|one| *one == at).expect("on the path");
        self.path.truncate(place + 1);
        if self.now != Some(at) {
            self.cut(at);
            self.note("rewound", Some(at));
        }
        self.note("answered", Some(at));
        let (passed, next) = self.drawn.follow(at, &self.counting());
        passed.into_iter().for_each(|from| self.note("edge", Some(from)));
        self.now = next;
        self.path.extend(self.now);
        if next.is_some() {
            self.note("presented", next);
        }
        self.answered += 1;
        true
    }

    pub fn step(&mut self, node: Option<usize>, given: &Given) -> Said {
        if self.status == Status::Completed {
            return Said::Refused("already_completed", None);
        }
        let target = node.or_else(|| self.repeated(given)).or(self.now);
        let target = target.filter(|at| self.path.contains(at) && self.is_step(*at));
        let Some(at) = target else { return Said::Refused("not_on_path", self.now) };
        self.seen();
        let faults = self.faults(at, given);
        if !faults.is_empty() {
            self.refused(at, faults);
            return Said::Refused("validation_failed", Some(at));
        }
        let next = match self.answer(at, given) {
            true => self.now,
            false => {
                let place = self.path.iter().position(|one| *one == at).expect("on the path");
                self.path.get(place + 1).copied()
            }
        };
        Said::At(next, self.held(next))
    }

    pub fn resume(&mut self) -> Said {
        if self.status == Status::Completed {
            return Said::Refused("already_completed", None);
        }
        self.seen();
        self.note("resumed", self.now);
        Said::At(self.now, self.held(self.now))
    }

    pub fn abandon(&mut self) {
        if self.status == Status::InProgress {
            self.status = Status::Abandoned;
            self.note("abandoned", self.now);
        }
    }

    pub fn complete(&mut self, given: &Given) -> Said {
        if self.status == Status::Completed {
            return Said::Done(self.now);
        }
        let last = self.path.iter().rev().find(|at| self.is_step(**at));
        let last = *last.expect("a path begins with a step");
        let is_open = self.now == Some(last);
        let is_named = self.fields(last).iter().any(|id| given.contains_key(id));
        if is_open || is_named {
            self.seen();
            let mut all = self.held(Some(last));
            all.extend(given.clone());
            // Who names nothing has answered nothing that is required.
            let bare = if is_named { Vec::new() } else { self.faults(last, &Given::new()) };
            let faults = if bare.is_empty() { self.faults(last, &all) } else { bare };
            if !faults.is_empty() {
                self.refused(last, faults);
                return Said::Refused("incomplete", Some(last));
            }
            let mut ahead = self.clone();
            ahead.answer(last, &all);
            let next = ahead.now.filter(|at| self.is_step(*at));
            if next.is_some() && !is_named {
                return Said::Refused("incomplete", Some(last));
            }
            *self = ahead;
            if next.is_some() {
                return Said::Refused("incomplete", next);
            }
        }
        self.status = Status::Completed;
        self.answers = self.counting();
        self.note("completed", self.now);
        Said::Done(self.now)
    }
}
