//! A funnel as a graph: a cursor walks through its nodes, edges show how many visits took them,
//! and problems stand at their nodes.

mod draw;

use std::cell::Cell;

use super::{
    act,
    lanes::{self, Drawn, LineKind},
    wording,
};
use crate::screens::{analytics, prelude::*};

/// Where replies go: the funnel, whether it could be published, its numbers.
const WHOLE: u8 = 0;
const JUDGED: u8 = 1;
const NUMBERS: u8 = 2;
/// From this width on, what is known of a node stands beside the graph.
const BESIDE: u16 = 96;

/// A problem: whether it prevents publishing, its node, its text.
struct Problem {
    is_bad: bool,
    node: Option<i64>,
    say: String,
}

impl Problem {
    fn sign(&self) -> (&'static str, Role) {
        if self.is_bad { ("✗", Role::Bad) } else { ("◐", Role::Warn) }
    }
}

/// The screen.
#[derive(Default)]
pub(crate) struct Graph {
    funnel: Json,
    /// The nodes in the order in which they are drawn.
    nodes: List,
    drawn: Vec<Drawn>,
    found: Vec<Problem>,
    /// The numbers of the last thirty days.
    numbers: Json,
    /// The `rev` that was judged last.
    judged: Option<i64>,
    fault: Option<String>,
    /// First visible line.
    top: Cell<usize>,
}

/// Nodes and edges as lines of text.
pub(super) fn drawn(funnel: &Json) -> Vec<String> {
    let line = |one: &Drawn| match one.what {
        LineKind::Node(n) => format!("{} {}", one.lanes, plain_text(&funnel["nodes"][n]["name"])),
        LineKind::Edge(n) => {
            format!("{} {}", one.lanes, wording::branch(&funnel["edges"][n])).trim_end().to_owned()
        }
        LineKind::Back(n) => format!("{} ↺ {}", one.lanes, to_name(funnel, n)),
        LineKind::Joint => one.lanes.clone(),
    };
    lay(funnel).iter().map(line).collect()
}

fn lay(funnel: &Json) -> Vec<Drawn> {
    let nodes: Vec<_> =
        items(&funnel["nodes"]).iter().map(|node| (acts::id(node), wording::sign(node))).collect();
    let end = |edge: &Json, name: &str| edge[name].as_i64().unwrap_or_default();
    let edges = items(&funnel["edges"]).iter();
    let edges: Vec<_> =
        edges.map(|edge| (end(edge, "from_node_id"), end(edge, "to_node_id"))).collect();
    lanes::draw(funnel["start_node_id"].as_i64(), &nodes, &edges)
}

/// The name of the node that an edge leads to.
fn to_name(funnel: &Json, edge: usize) -> String {
    let to = &funnel["edges"][edge]["to_node_id"];
    let node = items(&funnel["nodes"]).iter().find(|node| node["id"] == *to);
    node.map(|node| plain_text(&node["name"])).unwrap_or_default()
}

/// The numbers of a node or an edge.
fn numbered<'a>(all: &'a Json, by: &str, of: &Json) -> Option<&'a Json> {
    all.as_array()?.iter().find(|one| one[by] == of["id"])
}

impl Graph {
    pub(crate) fn new(funnel: Json) -> Self {
        Self { funnel, ..Self::default() }
    }

    fn put(&mut self, funnel: Json) -> Step {
        (self.funnel, self.fault) = (funnel, None);
        self.drawn = lay(&self.funnel);
        let nodes = self.drawn.iter().filter_map(|one| match one.what {
            LineKind::Node(n) => self.funnel["nodes"].get(n).cloned(),
            _ => None,
        });
        let rows = nodes.map(|json| Row { id: acts::id(&json).to_string(), json }).collect();
        self.nodes.replace(rows);
        let rev = self.funnel["rev"].as_i64();
        if self.judged == rev {
            return Step::None;
        }
        self.judged = rev;
        act::judging(&self.funnel).slot(JUDGED)
    }

    /// Callers that may not publish see no problems.
    fn judge(&mut self, judged: &Result<Reply, Fault>) {
        let nodes = items(&self.funnel["nodes"]);
        // A fault names its node by its index: `nodes[2].config_json`.
        let at = |path: &str| {
            let place = path.strip_prefix("nodes[")?.split(']').next()?.parse::<usize>().ok()?;
            nodes.get(place).map(acts::id)
        };
        let problems = act::problems(judged).into_iter();
        let found = problems.map(|(is_bad, path, node, say)| {
            let node = node.or_else(|| at(&path));
            let say = if node.is_some() { say } else { format!("{path}: {say}") };
            Problem { is_bad, node, say }
        });
        self.found = found.collect();
    }

    /// The most serious problem of a node.
    fn sign_of(&self, node: &Json) -> Option<(&'static str, Role)> {
        let of = self.found.iter().filter(|one| one.node == Some(acts::id(node)));
        of.max_by_key(|one| one.is_bad).map(Problem::sign)
    }

    /// Opens the submissions of the visits that stopped at the node under the cursor.
    fn people(&self) -> Step {
        let Some(Row { json: node, .. }) = self.nodes.row() else { return Step::None };
        let (funnel, id) = (acts::id(&self.funnel), acts::id(node));
        let word = match node["type"].as_str() {
            Some("end") => format!("end_node_id={id}"),
            Some("step") => format!("at:{id}"),
            _ => {
                return Step::tell("Nobody stops at a condition: choose a step or an end.");
            }
        };
        Step::Open(Place::of("inbox").filtered(format!("funnel:{funnel} {word}")))
    }
}

impl Screen for Graph {
    fn noun(&self) -> &'static str {
        "funnel"
    }

    fn title(&self) -> String {
        let version = self.funnel["version"].as_i64().map(|one| format!(" {one}"));
        let status = plain_text(&self.funnel["status"]);
        format!("{} · {status}{}", super::name(&self.funnel), version.unwrap_or_default())
    }

    fn subject(&self) -> &Json {
        &self.funnel
    }

    fn load(&mut self) -> Step {
        let numbers = analytics::usual(&self.funnel).slot(NUMBERS);
        Step::Several(vec![super::whole(&self.funnel).slot(WHOLE), numbers])
    }

    fn take(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        match (slot, outcome) {
            (WHOLE, Ok(reply)) => {
                let changed = self.fault.is_some() || self.funnel != reply.data;
                (self.put(reply.data), changed)
            }
            (WHOLE, Err(fault)) => {
                self.fault = Some(fault.detail);
                (Step::None, true)
            }
            (NUMBERS, outcome) => {
                // Callers that may not see the inbox get the graph without numbers.
                let numbers = outcome.map(|reply| reply.data).unwrap_or_default();
                let before = std::mem::replace(&mut self.numbers, numbers);
                (Step::None, before != self.numbers)
            }
            (_, judged) => {
                self.judge(&judged);
                (Step::None, true)
            }
        }
    }

    fn is_read(&mut self, slot: u8) -> bool {
        slot == WHOLE
    }

    fn act(&mut self, verb: &str, _: &Scene<'_>) -> Step {
        act::shared(verb, &self.funnel)
    }

    /// Its actions are about the funnel, not about a node.
    fn row(&self) -> Option<&Json> {
        None
    }

    fn list(&self) -> Option<&List> {
        Some(&self.nodes)
    }

    fn move_list(&mut self, verb: &str) -> Step {
        if verb == "open" {
            return self.people();
        }
        self.nodes.act(verb);
        Step::None
    }

    fn click(&mut self, at: Position) -> Clicked {
        // The list's rows are nodes, and the drawing has more lines than nodes.
        let area = self.nodes.rows_at.get();
        if !area.contains(at) {
            return Clicked::Nothing;
        }
        let line = self.top.get() + usize::from(at.y - area.y);
        let is_node = |one: &&Drawn| matches!(one.what, LineKind::Node(_));
        if !self.drawn.get(line).as_ref().is_some_and(is_node) {
            return Clicked::Nothing;
        }
        let row = self.drawn[..line].iter().filter(is_node).count();
        if row == self.nodes.at() {
            return Clicked::Again;
        }
        self.nodes.go(row);
        Clicked::Moved(Box::default())
    }

    fn poll_s(&self) -> i64 {
        10
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let [graph, node] = if area.width >= BESIDE {
            Layout::horizontal([Constraint::Percentage(55), Constraint::Fill(1)]).areas(area)
        } else if area.height >= 18 {
            Layout::vertical([Constraint::Percentage(60), Constraint::Fill(1)]).areas(area)
        } else {
            Layout::vertical([Constraint::Fill(1), Constraint::Length(0)]).areas(area)
        };
        self.draw_graph(frame, graph, look);
        if !node.is_empty() {
            self.draw_node(frame, node, look);
        }
    }
}
