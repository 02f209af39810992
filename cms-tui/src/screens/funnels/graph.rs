//! A funnel as a graph: a cursor walks through its nodes, edges show how many visits took them,
//! and problems stand at their nodes.

use std::cell::Cell;

use super::lanes::{self, Drawn, LineKind};
use crate::screens::{
    analytics::{self, percent},
    funnels,
    prelude::*,
};

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
            format!("{} {}", one.lanes, funnels::branch(&funnel["edges"][n])).trim_end().to_owned()
        }
        LineKind::Back(n) => format!("{} ↺ {}", one.lanes, to_name(funnel, n)),
        LineKind::Joint => one.lanes.clone(),
    };
    lay(funnel).iter().map(line).collect()
}

fn lay(funnel: &Json) -> Vec<Drawn> {
    let nodes: Vec<_> =
        items(&funnel["nodes"]).iter().map(|node| (acts::id(node), funnels::sign(node))).collect();
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
        funnels::judging(&self.funnel).slot(JUDGED)
    }

    /// Callers that may not publish see no problems.
    fn judge(&mut self, judged: &Result<Reply, Fault>) {
        let nodes = items(&self.funnel["nodes"]);
        // A fault names its node by its index: `nodes[2].config_json`.
        let at = |path: &str| {
            let place = path.strip_prefix("nodes[")?.split(']').next()?.parse::<usize>().ok()?;
            nodes.get(place).map(acts::id)
        };
        let problems = funnels::problems(judged).into_iter();
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
        funnels::shared(verb, &self.funnel)
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

impl Graph {
    fn draw_graph(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let theme = look.theme;
        let inner = framed(frame, area, &self.title(), true, theme);
        let (height, cells) = (usize::from(inner.height), usize::from(inner.width));
        let here = self.nodes.row().map(|row| acts::id(&row.json));
        let is_here = |one: &Drawn| match one.what {
            LineKind::Node(n) => here == Some(acts::id(&self.funnel["nodes"][n])),
            _ => false,
        };
        let at = self.drawn.iter().position(is_here).unwrap_or(0);
        let highest = self.drawn.len().saturating_sub(height).min(at);
        // The way to the next node stays in sight.
        let lowest = (at + 2).min(self.drawn.len()).saturating_sub(height);
        self.top.set(self.top.get().min(highest).max(lowest));
        self.nodes.rows_at.set(inner);
        self.nodes.height.set(height / 2);
        let seen = self.drawn.iter().skip(self.top.get()).take(height);
        let mut shown: Vec<Line<'_>> = seen
            .map(|one| {
                let line = self.line(one, cells, look);
                if is_here(one) { line.patch_style(theme.style(Role::Cursor)) } else { line }
            })
            .collect();
        if let Some(fault) = &self.fault {
            shown.splice(..0, wrong(fault, " ", cells, theme));
        } else if self.drawn.is_empty() {
            let say = if self.nodes.window.loaded { " It has no nodes." } else { " Loading …" };
            shown.push(Line::styled(say, theme.style(Role::Quiet)));
        }
        lines(frame, inner, shown);
    }

    fn line(&self, one: &Drawn, cells: usize, look: Look) -> Line<'static> {
        let style = |role| look.theme.style(role);
        let lanes = Span::styled(format!(" {} ", one.lanes), style(Role::Key));
        let room = cells.saturating_sub(lanes.width());
        match one.what {
            LineKind::Node(n) => {
                let node = &self.funnel["nodes"][n];
                let is_start = self.funnel["start_node_id"] == node["id"];
                let start = if is_start { " (start)" } else { "" };
                let name = format!("{}{start}", plain_text(&node["name"]));
                let (sign, role) = self.sign_of(node).unwrap_or((" ", Role::Plain));
                let came = self.came(node);
                let room = room.saturating_sub(width(&came) + 3);
                let name = fitted(&name, room);
                Line::from(vec![
                    lanes,
                    Span::styled(name, style(Role::Title)),
                    Span::styled(format!(" {came}"), style(Role::Plain)),
                    Span::styled(format!("{sign} "), style(role)),
                ])
            }
            LineKind::Edge(n) => {
                let said = self.went(&self.funnel["edges"][n]);
                let said = cut(&said, room).into_owned();
                Line::from(vec![lanes, Span::styled(said, style(Role::Quiet))])
            }
            LineKind::Back(n) => {
                let said = format!("↺ back to {}", to_name(&self.funnel, n));
                let said = cut(&said, room).into_owned();
                Line::from(vec![lanes, Span::styled(said, style(Role::Warn))])
            }
            LineKind::Joint => Line::from(lanes),
        }
    }

    /// How many came to a node, and how many of them left there.
    fn came(&self, node: &Json) -> String {
        let Some(step) = numbered(&self.numbers["steps"], "node_id", node) else {
            return String::new();
        };
        let left = step["exited"].as_i64().filter(|left| *left > 0);
        let left = left.map(|left| format!("  −{}", number(left))).unwrap_or_default();
        format!("{}{left}", analytics::count(&step["entered"]))
    }

    /// Which branch an edge is, and how many took it.
    fn went(&self, edge: &Json) -> String {
        let branch = funnels::branch(edge);
        let Some(taken) = numbered(&self.numbers["branches"], "edge_id", edge) else {
            return branch.to_owned();
        };
        let share = percent(&taken["share_pct"]);
        format!("{branch} {} ({share})", analytics::count(&taken["sessions"]))
            .trim_start()
            .to_owned()
    }

    fn draw_node(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let node = self.nodes.row().map(|row| &row.json);
        let title = node.map_or_else(|| "—".to_owned(), |node| plain_text(&node["name"]));
        let inner = framed(frame, area, &title, false, look.theme);
        let wide = usize::from(inner.width).saturating_sub(2);
        let all = node.map(|node| self.about(node, wide)).unwrap_or_default();
        text_in(frame, inner, &all, &Cell::default(), 2, look.theme);
    }

    /// What became of the visits that came to a node.
    fn outcomes(&self, node: &Json) -> Lines {
        let Some(step) = numbered(&self.numbers["steps"], "node_id", node) else {
            return Vec::new();
        };
        let of = |name: &str| analytics::count(&step[name]);
        let mut lines = vec![(Role::Title, "The last 30 days".to_owned())];
        lines.push((Role::Plain, format!("came {}   went on {}", of("entered"), of("answered"))));
        let left = format!("left {} ({})", of("exited"), percent(&step["dropoff_pct"]));
        lines.push((Role::Plain, format!("{left}   are there {}", of("waiting"))));
        if let Some(field) = step["top_error_field"].as_str() {
            let errors = of("validation_errors");
            lines.push((Role::Warn, format!("{errors} refused answers, most at {}", safe(field))));
        }
        lines
    }

    /// What is known of a node.
    fn about(&self, node: &Json, cells: usize) -> Lines {
        let kind = plain_text(&node["type"]);
        let mut all = vec![(Role::Quiet, format!("{kind} {}", acts::id(node)))];
        let of = |one: &&Problem| one.node == Some(acts::id(node));
        for one in self.found.iter().filter(of) {
            let (sign, role) = one.sign();
            let said = wrapped(&one.say, cells.saturating_sub(2).max(8)).into_iter().enumerate();
            let line = |(n, line)| (role, format!("{} {line}", if n == 0 { sign } else { " " }));
            all.extend(said.map(line));
        }
        all.extend(self.outcomes(node));
        all.extend(funnels::about(node, cells));
        let rules = items(&self.funnel["email_routings"]);
        if kind == "end" && !rules.is_empty() {
            all.push((Role::Title, "Mail rules of the funnel".to_owned()));
            all.extend(rules.iter().map(|rule| (Role::Plain, funnels::mail_rule(rule))));
        }
        let whole: Vec<_> = self.found.iter().filter(|one| one.node.is_none()).collect();
        if !whole.is_empty() {
            all.push((Role::Title, "About the funnel".to_owned()));
            for one in whole {
                let (sign, role) = one.sign();
                let said = format!("{sign} {}", one.say);
                all.extend(paragraph(role, "", &said, cells.max(8)));
            }
        }
        all
    }
}
