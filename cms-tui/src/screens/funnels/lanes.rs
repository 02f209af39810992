//! Draws a graph with lanes: one node a line, beginning at the start; edges are lines beside the
//! nodes that fork and join. Edges that lead back are named, not drawn.

/// A line of the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Drawn {
    /// The lanes, each two cells wide.
    pub(super) lanes: String,
    pub(super) what: LineKind,
}

/// What a line is about, by its place among those given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Node(usize),
    /// An edge that a lane stands for.
    Edge(usize),
    /// An edge that leads to a node above.
    Back(usize),
    /// Lanes come together.
    Joint,
}

/// A node: its id, and the sign that stands for it.
pub(super) type Node = (i64, char);
/// An edge: from a node to another, by their ids.
pub(super) type Edge = (i64, i64);

/// Draws all nodes, beginning with those that the start leads to. Each edge whose two nodes
/// exist has a line.
pub(super) fn draw(start: Option<i64>, nodes: &[Node], edges: &[Edge]) -> Vec<Drawn> {
    let graph = Graph::new(nodes, edges);
    let order = graph.order(start);
    let mut place = vec![0; nodes.len()];
    order.iter().enumerate().for_each(|(at, node)| place[*node] = at);
    let mut pen = Pen::default();
    for (at, &node) in order.iter().enumerate() {
        let col = pen.arrive(node);
        pen.line(LineKind::Node(node), |lane, is_on| match (lane == col, is_on) {
            (true, _) => nodes[node].1,
            (_, true) => '│',
            _ => ' ',
        });
        for &(edge, to) in &graph.out[node] {
            if place[to] <= at {
                pen.line(LineKind::Back(edge), |_, is_on| if is_on { '│' } else { ' ' });
            } else {
                pen.leave(col, to, edge);
            }
        }
    }
    pen.drawn
}

struct Graph {
    /// Of each node its edges, and where they lead.
    out: Vec<Vec<(usize, usize)>>,
    ids: Vec<i64>,
}

impl Graph {
    fn new(nodes: &[Node], edges: &[Edge]) -> Self {
        let ids: Vec<i64> = nodes.iter().map(|(id, _)| *id).collect();
        let place = |id: i64| ids.iter().position(|one| *one == id);
        let mut out = vec![Vec::new(); nodes.len()];
        for (edge, (from, to)) in edges.iter().enumerate() {
            if let (Some(from), Some(to)) = (place(*from), place(*to)) {
                out[from].push((edge, to));
            }
        }
        Self { out, ids }
    }

    /// The order of nodes: each before those that it leads to, except where an edge leads back.
    fn order(&self, start: Option<i64>) -> Vec<usize> {
        let start = self.ids.iter().position(|id| Some(*id) == start);
        let mut seen = vec![false; self.ids.len()];
        let (mut order, mut rest) = (Vec::new(), Vec::new());
        if let Some(start) = start {
            self.walk(start, &mut seen, &mut order);
        }
        // Nodes without a way to them come last, in the order in which they were drawn.
        for node in 0..self.ids.len() {
            if !seen[node] {
                let mut part = Vec::new();
                self.walk(node, &mut seen, &mut part);
                rest.extend(part.into_iter().rev());
            }
        }
        order.reverse();
        order.extend(rest);
        order
    }

    /// Adds everything that a node leads to, then the node. Walks the last edge first, so that
    /// the target of the first edge ends up next to the node.
    fn walk(&self, from: usize, seen: &mut [bool], into: &mut Vec<usize>) {
        let mut open = vec![(from, self.out[from].len())];
        seen[from] = true;
        while let Some((node, left)) = open.last_mut() {
            let node = *node;
            match left.checked_sub(1) {
                None => {
                    into.push(node);
                    open.pop();
                }
                Some(less) => {
                    *left = less;
                    let (_, to) = self.out[node][less];
                    if !std::mem::replace(&mut seen[to], true) {
                        open.push((to, self.out[to].len()));
                    }
                }
            }
        }
    }
}

/// Where lanes lead to, and the lines so far.
#[derive(Default)]
struct Pen {
    lanes: Vec<Option<usize>>,
    drawn: Vec<Drawn>,
}

impl Pen {
    fn line(&mut self, what: LineKind, sign: impl Fn(usize, bool) -> char) {
        let mut lanes = String::new();
        for (n, lane) in self.lanes.iter().enumerate() {
            lanes.push(sign(n, lane.is_some()));
            lanes.push(' ');
        }
        self.drawn.push(Drawn { lanes: lanes.trim_end().to_owned(), what });
    }

    /// A line with a stroke from one lane to another at its right, which begins or ends there.
    fn stroke(&mut self, what: LineKind, from: usize, to: usize, end: char) {
        let mut lanes = String::new();
        for (n, lane) in self.lanes.iter().enumerate() {
            let (sign, gap) = match n {
                n if n == from => ('├', '─'),
                n if n == to => (end, ' '),
                n if n > from && n < to => (if lane.is_some() { '┼' } else { '─' }, '─'),
                _ => (if lane.is_some() { '│' } else { ' ' }, ' '),
            };
            lanes.push(sign);
            lanes.push(gap);
        }
        self.drawn.push(Drawn { lanes: lanes.trim_end().to_owned(), what });
    }

    /// Ends the lanes that lead to a node. Returns its own.
    fn arrive(&mut self, node: usize) -> usize {
        let all = 0..self.lanes.len();
        let ending: Vec<usize> = all.filter(|lane| self.lanes[*lane] == Some(node)).collect();
        let Some((&col, others)) = ending.split_first() else {
            let col = self.free(0);
            self.lanes[col] = None;
            return col;
        };
        for &lane in others {
            self.stroke(LineKind::Joint, col, lane, '╯');
            self.lanes[lane] = None;
        }
        self.lanes[col] = None;
        self.trim(col);
        col
    }

    /// Begins the lane of an edge; the first one goes straight on.
    fn leave(&mut self, col: usize, to: usize, edge: usize) {
        if self.lanes[col].is_none() {
            self.lanes[col] = Some(to);
            self.line(LineKind::Edge(edge), |_, is_on| if is_on { '│' } else { ' ' });
            return;
        }
        let lane = self.free(col + 1);
        self.lanes[lane] = Some(to);
        self.stroke(LineKind::Edge(edge), col, lane, '╮');
    }

    /// The first free lane, not before this one.
    fn free(&mut self, from: usize) -> usize {
        let found = (from..self.lanes.len()).find(|lane| self.lanes[*lane].is_none());
        found.unwrap_or_else(|| {
            self.lanes.resize(self.lanes.len().max(from) + 1, None);
            self.lanes.len() - 1
        })
    }

    /// Free lanes at the right are forgotten.
    fn trim(&mut self, col: usize) {
        while self.lanes.len() > col + 1 && self.lanes.last() == Some(&None) {
            self.lanes.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(start: i64, nodes: &[i64], edges: &[Edge]) -> Vec<String> {
        let nodes: Vec<Node> = nodes.iter().map(|id| (*id, '●')).collect();
        let said = |one: Drawn| {
            let what = match one.what {
                LineKind::Node(n) => nodes[n].0.to_string(),
                LineKind::Edge(n) => format!("→{}", edges[n].1),
                LineKind::Back(n) => format!("↺{}", edges[n].1),
                LineKind::Joint => String::new(),
            };
            format!("{} {what}", one.lanes).trim_end().to_owned()
        };
        draw(Some(start), &nodes, edges).into_iter().map(said).collect()
    }

    #[test]
    fn lanes_fork_and_join() {
        let edges = [(1, 2), (2, 3), (2, 4), (3, 5), (4, 5)];
        #[rustfmt::skip]
        let expected = [
            "● 1",
            "│ →2",
            "● 2",
            "│ →3",
            "├─╮ →4",
            "● │ 3",
            "│ │ →5",
            "│ ● 4",
            "│ │ →5",
            "├─╯",
            "● 5",
        ];
        assert_eq!(text(1, &[1, 2, 3, 4, 5], &edges), expected);
    }

    #[test]
    fn what_leads_back_and_what_nothing_leads_to_is_there() {
        let edges = [(1, 2), (2, 1), (9, 2)];
        let drawn = text(1, &[9, 1, 2], &edges);
        assert_eq!(drawn, ["● 1", "│ →2", "● 2", " ↺1", "● 9", " ↺2"]);
    }

    #[test]
    fn a_stroke_crosses_other_lanes() {
        let edges = [(1, 2), (1, 5), (2, 3), (2, 4)];
        let drawn = text(1, &[1, 2, 3, 4, 5], &edges);
        let above = ["● 1", "│ →2", "├─╮ →5", "● │ 2", "│ │ →3"];
        assert_eq!(drawn[..5], above, "{drawn:?}");
        assert_eq!(drawn[5], "├─┼─╮ →4");
    }

    proptest! {
        #[test]
        fn each_node_and_each_edge_has_its_line(
            count in 0usize..12,
            edges in prop::collection::vec((0i64..12, 0i64..12), 0..30),
            start in prop::option::of(0i64..12),
        ) {
            let nodes: Vec<Node> = (0..count).map(|n| (n as i64, '●')).collect();
            let drawn = draw(start, &nodes, &edges);
            let of = |is: fn(&LineKind) -> Option<usize>| -> Vec<usize> {
                let mut all: Vec<_> = drawn.iter().filter_map(|one| is(&one.what)).collect();
                all.sort_unstable();
                all
            };
            let at = of(|what| match what { LineKind::Node(n) => Some(*n), _ => None });
            prop_assert_eq!(at, (0..count).collect::<Vec<_>>());
            let is_there = |id: &i64| (*id as usize) < count;
            let whole = edges.iter().enumerate();
            let whole = whole.filter(|(_, (from, to))| is_there(from) && is_there(to));
            let at = of(|what| match what {
                LineKind::Edge(n) | LineKind::Back(n) => Some(*n),
                _ => None,
            });
            prop_assert_eq!(at, whole.map(|(n, _)| n).collect::<Vec<_>>());
        }
    }
}
