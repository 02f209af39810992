//! The graph and the chosen node, drawn.

use std::cell::Cell;

use super::{Graph, Problem, numbered, to_name};
use crate::screens::{
    analytics::{count, percent},
    funnels::{
        lanes::{Drawn, LineKind},
        wording,
    },
    prelude::*,
};

impl Graph {
    pub(super) fn draw_graph(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
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
        format!("{}{left}", count(&step["entered"]))
    }

    /// Which branch an edge is, and how many took it.
    fn went(&self, edge: &Json) -> String {
        let branch = wording::branch(edge);
        let Some(taken) = numbered(&self.numbers["branches"], "edge_id", edge) else {
            return branch.to_owned();
        };
        let share = percent(&taken["share_pct"]);
        format!("{branch} {} ({share})", count(&taken["sessions"])).trim_start().to_owned()
    }

    pub(super) fn draw_node(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
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
        let of = |name: &str| count(&step[name]);
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
        all.extend(wording::about(node, cells));
        let rules = items(&self.funnel["email_routings"]);
        if kind == "end" && !rules.is_empty() {
            all.push((Role::Title, "Mail rules of the funnel".to_owned()));
            all.extend(rules.iter().map(|rule| (Role::Plain, wording::rule(rule))));
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
