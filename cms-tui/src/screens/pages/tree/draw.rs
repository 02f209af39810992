//! The tree, and beside it what is known of the node under the cursor.

use super::{PageTree, nodes, widgets, wording};
use crate::screens::prelude::*;

/// From this width on, what is known of a node stands beside the tree.
const BESIDE: u16 = 96;
/// From this height on it stands below.
const BELOW: u16 = 18;
/// Bytes of a value that are shown; its form shows the rest.
const SHOWN_BYTES: usize = 16 << 10;
/// Lines of a value that are shown.
const MOST: usize = 200;

/// The lines about a node, and of what they are: they are not made for each drawing.
#[derive(Default)]
pub(super) struct NodeLines {
    of: (String, u64, usize),
    lines: Lines,
}

pub(super) fn draw(of: &PageTree, frame: &mut Frame<'_>, area: Rect, look: Look) {
    if of.is_zoomed {
        return node(of, frame, area, look);
    }
    let [left, right] = if area.width >= BESIDE {
        Layout::horizontal([Constraint::Percentage(55), Constraint::Fill(1)]).areas(area)
    } else if area.height >= BELOW {
        Layout::vertical([Constraint::Percentage(62), Constraint::Fill(1)]).areas(area)
    } else {
        Layout::vertical([Constraint::Fill(1), Constraint::Length(0)]).areas(area)
    };
    tree(of, frame, left, look);
    if !right.is_empty() {
        node(of, frame, right, look);
    }
}

fn tree(of: &PageTree, frame: &mut Frame<'_>, area: Rect, look: Look) {
    let (list, theme) = (&of.nodes, look.theme);
    let title = of.title();
    let title = cut(&title, usize::from(area.width).saturating_sub(4));
    let inner = framed(frame, area, &title, !of.is_beside, theme);
    let cells = usize::from(inner.width);
    let height = usize::from(inner.height).saturating_sub(1);
    list.rows_at.set(Rect { height: height as u16, ..inner });
    let mut shown = Vec::new();
    for (row, is_here) in list.seen(height) {
        let line = line(of, row, cells, look);
        shown.push(match (is_here, of.is_beside) {
            (true, false) => line.patch_style(theme.style(Role::Cursor)),
            (true, true) => line.patch_style(theme.style(Role::CursorElsewhere)),
            _ => line,
        });
    }
    if list.window.len() == 0 {
        match &of.fault {
            Some(fault) => shown.extend(wrong(fault, " ", cells, theme)),
            None => shown.push(Line::styled(" Loading …", theme.style(Role::Quiet))),
        }
    }
    shown.resize(height, Line::default());
    let (role, foot) = foot(of);
    shown.push(Line::styled(cut(&foot, cells).into_owned(), theme.style(role)));
    lines(frame, inner, shown);
}

/// The last line: what is wrong, or what the signs mean.
fn foot(of: &PageTree) -> (Role, String) {
    if of.nodes.is_lost() {
        return (Role::Warn, " The node you were on is gone: j or k selects another.".to_owned());
    }
    if of.nodes.window.len() == 0 {
        return (Role::Quiet, String::new());
    }
    match (&of.fault, of.differing) {
        (Some(fault), _) => (Role::Bad, format!(" ✗ not up to date: {}", safe(fault))),
        (_, Some(0)) => (Role::Quiet, " Visitors see it as it is.".to_owned()),
        (_, Some(n)) => {
            let gone = of.found.iter().filter(|one| one["change"] == "removed");
            let gone = match gone.count() {
                0 => String::new(),
                n => format!(", {n} gone"),
            };
            (Role::Quiet, format!(" {}{gone}: + new ~ changed > moved", count(n, "difference")))
        }
        _ => (Role::Quiet, String::new()),
    }
}

/// The worst that happened to a node since it was published.
fn mark(of: &PageTree, row: &Row) -> (char, Role) {
    let signs = of.differences(&row.id).map(wording::sign).filter(|(sign, _)| *sign != '-');
    signs.min_by_key(|(sign, _)| "+>~".find(*sign)).unwrap_or((' ', Role::Plain))
}

fn line(of: &PageTree, row: &Row, cells: usize, look: Look) -> Line<'static> {
    let style = |role| look.theme.style(role);
    let node = &row.json;
    let (sign, role) = mark(of, row);
    let lanes = node["lanes"].as_str().unwrap_or_default().to_owned();
    let fold = if node["folded"] == true { "▸ " } else { "" };
    let name = format!("{fold}{}", nodes::name(node));
    let room = cells.saturating_sub(2 + width(&lanes));
    let name = cut(&name, room).into_owned();
    let rest = fitted(&nodes::telling(node), room.saturating_sub(width(&name)));
    let named = if matches!(node["kind"].as_str(), Some("row" | "col")) {
        Role::Plain
    } else {
        Role::Title
    };
    Line::from(vec![
        Span::styled(format!("{sign} "), style(role)),
        Span::styled(lanes, style(Role::Key)),
        Span::styled(name, style(named)),
        Span::styled(rest, style(Role::Plain)),
    ])
}

fn node(of: &PageTree, frame: &mut Frame<'_>, area: Rect, look: Look) {
    let here = of.nodes.row();
    let title = here.map_or_else(|| "—".to_owned(), |row| nodes::name(&row.json));
    let title = cut(&title, usize::from(area.width).saturating_sub(4));
    let inner = framed(frame, area, &title, of.is_beside, look.theme);
    if let Some(row) = here {
        keep(of, row, usize::from(inner.width).saturating_sub(2));
    }
    let kept = of.node_lines.borrow();
    let all = here.map(|_| kept.lines.as_slice()).unwrap_or_default();
    text_in(frame, inner, all, &of.beside_top, 2, look.theme);
}

/// Makes the lines when they are of another node, state or width.
fn keep(of: &PageTree, row: &Row, cells: usize) {
    let key = (row.id.clone(), of.version, cells);
    let mut kept = of.node_lines.borrow_mut();
    if kept.of != key {
        *kept = NodeLines { lines: about(of, row, cells), of: key };
    }
}

/// What is known of a node: its values, and what was published of them.
fn about(of: &PageTree, row: &Row, cells: usize) -> Lines {
    let node = &row.json;
    let mut all = match node["kind"].as_str() {
        Some("page") => wording::state(&of.draft),
        Some("row" | "col") => {
            let below = node["below"].as_u64().unwrap_or_default() as usize;
            vec![(Role::Quiet, count(below, nodes::inner(node)))]
        }
        _ => values(of, node, cells),
    };
    let differs: Vec<_> = match node["kind"] == "page" {
        true => of.found.iter().collect(),
        false => of.differences(&row.id).collect(),
    };
    if !differs.is_empty() {
        all.push((Role::Title, "What publishing would change".to_owned()));
        all.extend(differs.into_iter().flat_map(|one| wording::difference(one, cells)));
    }
    all
}

fn values(of: &PageTree, node: &Json, cells: usize) -> Lines {
    let name = plain_text(&node["widget"]);
    let known = of.known.get(&name);
    let text = |member: &str| known.map(|one| plain_text(&one[member])).unwrap_or_default();
    let is_item = node["kind"] == "item";
    let head = match (known.is_some(), is_item) {
        (false, _) if of.known.is_read => format!("{name}: no plugin brings it any more"),
        (false, _) => name.clone(),
        (true, true) => format!("item of {}", text("title")),
        (true, false) => format!("{} · {}", text("title"), text("group_title")),
    };
    let mut all = vec![(Role::Quiet, head)];
    let entries = known.map(|one| widgets::menu(one, if is_item { "item" } else { "widget" }));
    let order =
        |row: &str| entries.and_then(|menu| menu.iter().position(|entry| entry["row"] == row));
    let mut data: Vec<_> = node["data"].as_object().into_iter().flatten().collect();
    // In the order of the menu; what it does not ask for any more comes last.
    data.sort_by_key(|(row, _)| order(row).unwrap_or(usize::MAX));
    for (row, value) in data {
        let label = of.known.label(node, row).unwrap_or_else(|| plain_text(&row.as_str().into()));
        all.push((Role::Title, label));
        let text = wording::value(value);
        let looked = &text[..text.floor_char_boundary(SHOWN_BYTES)];
        let said = paragraph(Role::Plain, "  ", looked, cells.saturating_sub(2).max(8));
        let more = said.len().saturating_sub(MOST);
        all.extend(said.into_iter().take(MOST));
        all.extend(match looked.len() < text.len() {
            true => Some((Role::Quiet, format!("  … {} KB in all", text.len() / 1000))),
            false => wording::left_out(more),
        });
    }
    if all.len() == 1 {
        all.push((Role::Quiet, "No value is set.".to_owned()));
    }
    all
}
