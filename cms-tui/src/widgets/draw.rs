//! The look of widgets. Never waits, and builds only what is visible.

use std::cell::Cell;

use ratatui::{
    Frame,
    layout::{Alignment, Constraint, Rect},
    style::Modifier,
    text::{Line, Span},
    widgets::{Block, Clear, Paragraph},
};

use super::{
    ask::{Confirm, Menu},
    field::{Field, Kind, Many},
    form::Form,
    input::Input,
    pager::Pager,
    viewer::Viewer,
};
use crate::{
    text::{cut, fitted, safe, width, wrapped},
    theme::{Role, Theme},
};

/// Frames a part of the screen. Returns the area inside.
pub(crate) fn framed(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    has_focus: bool,
    theme: Theme,
) -> Rect {
    let role = if has_focus { Role::Focus } else { Role::Quiet };
    let title = Span::styled(format!(" {} ", safe(title)), theme.style(Role::Title));
    let block = Block::bordered().border_style(theme.style(role)).title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

/// A window in the middle, cleared.
pub(crate) fn popup(frame: &mut Frame<'_>, title: &str, size: (u16, u16), theme: Theme) -> Rect {
    let area = frame.area();
    let (wide, high) = (size.0.min(area.width), size.1.min(area.height));
    let area = area.centered(Constraint::Length(wide), Constraint::Length(high));
    cleared(frame, title, area, theme)
}

fn cleared(frame: &mut Frame<'_>, title: &str, area: Rect, theme: Theme) -> Rect {
    halve(frame, area);
    frame.render_widget(Clear, area);
    framed(frame, area, title, true, theme)
}

/// Blanks wide characters that begin left of a window and would reach into it.
fn halve(frame: &mut Frame<'_>, window: Rect) {
    let Some(before) = window.x.checked_sub(1) else { return };
    for y in window.y..window.bottom() {
        if let Some(cell) = frame.buffer_mut().cell_mut((before, y))
            && width(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
    }
}

/// A line that is being typed, its cursor shown as a reversed cell.
pub(crate) fn typed(input: &Input, cells: usize, has_focus: bool) -> Line<'static> {
    let (before, behind) = input.parts();
    let before = before.rsplit('\n').next().unwrap_or_default();
    let behind = behind.split('\n').next().unwrap_or_default();
    let (before, behind) = (safe(before), safe(behind));
    if !has_focus {
        return Line::from(cut(&format!("{before}{behind}"), cells).into_owned());
    }
    // The end of the text before the cursor stays visible.
    let mut kept: Vec<char> = Vec::new();
    let mut used = 1;
    for c in before.chars().rev() {
        used += width(c.encode_utf8(&mut [0; 4]));
        if used > cells {
            break;
        }
        kept.push(c);
    }
    let mut behind = behind.chars();
    let under = behind.next().unwrap_or(' ');
    let rest: String = behind.collect();
    let free = cells.saturating_sub(used);
    Line::from(vec![
        Span::raw(kept.iter().rev().collect::<String>()),
        Span::from(under.to_string()).style(Modifier::REVERSED),
        Span::raw(cut(&rest, free).into_owned()),
    ])
}

pub(crate) fn confirm<S>(frame: &mut Frame<'_>, confirm: &Confirm<S>, theme: Theme) {
    let wide = 64.min(frame.area().width);
    let lines = wrapped(&confirm.text, usize::from(wide) - 4);
    let inner = popup(frame, "Are you sure?", (wide, lines.len() as u16 + 5), theme);
    let mut lines: Vec<Line<'_>> =
        lines.into_iter().map(|line| Line::from(format!(" {line}"))).collect();
    lines.push(Line::default());
    match &confirm.name {
        None => lines.push(Line::styled(" y yes   any other key: no", theme.style(Role::Key))),
        Some(name) => {
            let say = format!(" Type {} and Enter; Esc: no", safe(name));
            lines.push(Line::styled(say, theme.style(Role::Key)));
            let mut line = typed(&confirm.typed, usize::from(wide) - 6, true);
            line.spans.insert(0, Span::raw(" > "));
            lines.push(line);
        }
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

pub(crate) fn menu<S>(frame: &mut Frame<'_>, menu: &Menu<S>, theme: Theme) {
    let longest = menu.entries.iter().map(|entry| width(entry)).max().unwrap_or(0);
    let wide = (longest.max(width(&menu.title)) + 10).min(90) as u16;
    let high = (menu.entries.len() as u16 + 2).min(frame.area().height.saturating_sub(2));
    let inner = popup(frame, &menu.title, (wide, high), theme);
    let height = usize::from(inner.height);
    let from = (menu.at + 1).saturating_sub(height);
    let entries = menu.entries.iter().enumerate().skip(from).take(height);
    let line = |(n, entry): (usize, &String)| {
        let number = if n < 9 { format!("{} ", n + 1) } else { "  ".to_owned() };
        let sign = if n == menu.at { '▶' } else { ' ' };
        let text = format!("{sign} {number} {}", safe(entry));
        let role = if n == menu.at { Role::Cursor } else { Role::Plain };
        Line::styled(fitted(&text, usize::from(inner.width)), theme.style(role))
    };
    frame.render_widget(Paragraph::new(entries.map(line).collect::<Vec<_>>()), inner);
}

pub(crate) fn viewer(frame: &mut Frame<'_>, viewer: &Viewer, theme: Theme) {
    let area = frame.area();
    let longest = viewer.lines.iter().take(500).map(|(_, line)| width(line)).max().unwrap_or(0);
    let wide = (longest.max(width(&viewer.title)) + 4).clamp(60, usize::from(area.width)) as u16;
    let footer = if viewer.until.is_some() { 3 } else { 1 };
    let rows = viewer.pager.lay(&viewer.lines, usize::from(wide.saturating_sub(2)));
    let high = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2 + footer);
    let inner = popup(frame, &viewer.title, (wide, high.min(area.height)), theme);
    let height = usize::from(inner.height.saturating_sub(footer));
    let cells = usize::from(inner.width);
    let mut lines = viewer.pager.draw(&viewer.lines, (cells, height), theme);
    let below = viewer.pager.below();
    let more = |key: char| match below {
        0 => String::new(),
        below => format!(" · {below} more: {key}"),
    };
    match viewer.until {
        Some(word) => {
            let say = |text: String| Line::styled(text, theme.style(Role::Quiet));
            lines.push(say(format!(" It is shown once. Ctrl-y copies it.{}", more('↓'))));
            lines.push(say(format!(" Type {word} when you have stored it.")));
            lines.push(match viewer.is_leaving {
                true => Line::styled(
                    " It is not shown again. Esc again closes it all the same.",
                    theme.style(Role::Warn),
                ),
                false => Line::from(format!(" > {}", viewer.typed)),
            });
        }
        None => {
            let more = more('j');
            let wrap = if viewer.pager.cuts() { "wrap" } else { "cut" };
            let keys = format!(" Esc close · y copy · / search · w {wrap} lines{more}");
            let keys = Line::styled(cut(&keys, cells).into_owned(), theme.style(Role::Quiet));
            lines.push(search(&viewer.pager, cells, theme).unwrap_or(keys));
        }
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

/// The filter of a list while it is typed.
pub(crate) fn filtering(filter: &Input, cells: usize, theme: Theme) -> Line<'static> {
    let mut line = typed(filter, cells.saturating_sub(3), true);
    line.spans.insert(0, Span::styled(" /", theme.style(Role::Key)));
    line
}

/// What is sought in a text, while it is typed and after.
pub(crate) fn search(pager: &Pager, cells: usize, theme: Theme) -> Option<Line<'static>> {
    if let Some(input) = pager.typing() {
        let found = pager.search_status().unwrap_or_default();
        let mut line = filtering(input, cells.saturating_sub(width(&found) + 2), theme);
        line.spans.push(Span::styled(format!("  {found}"), theme.style(Role::Quiet)));
        return Some(line);
    }
    let told = format!(" {}", pager.search_status()?);
    Some(Line::styled(cut(&told, cells).into_owned(), theme.style(Role::Key)))
}

/// Lines of a list of options while it has the focus.
const OPTIONS: usize = 8;

pub(crate) fn form<S>(frame: &mut Frame<'_>, form: &Form<S>, theme: Theme) {
    let wide = if form.is_low { 34 } else { 88 }.min(frame.area().width);
    let cells = usize::from(wide).saturating_sub(4);
    let (mut lines, mut focus) = (Vec::new(), 0);
    lines.extend(wrapped(&form.note, cells).into_iter().map(|line| quiet(&line, theme)));
    if let Some(error) = &form.error {
        lines.extend(wrong(error, " ", cells, theme));
    }
    let label = form.fields.iter().map(|field| width(&field.label)).max().unwrap_or(0).min(24);
    for (n, field) in form.fields.iter().enumerate() {
        let has_focus = n == form.at;
        let from = lines.len();
        field_lines(field, label, cells, has_focus, theme, &mut lines);
        if has_focus {
            focus = (from + lines.len()) / 2;
        }
    }
    let high = (lines.len() as u16 + 3).min(frame.area().height);
    let inner = if form.is_low {
        let all = frame.area();
        let (x, y) = (all.right().saturating_sub(wide), all.bottom().saturating_sub(high + 2));
        cleared(frame, &form.title, Rect::new(x, y, wide, high), theme)
    } else {
        popup(frame, &form.title, (wide, high), theme)
    };
    let height = usize::from(inner.height.saturating_sub(1));
    let top =
        (focus + height / 2 + 1).saturating_sub(height).min(lines.len().saturating_sub(height));
    let mut seen: Vec<_> = lines.into_iter().skip(top).take(height).collect();
    seen.resize(height, Line::default());
    seen.push(match (form.is_sent, form.is_leaving) {
        (true, _) => Line::styled(" Sending …", theme.style(Role::Quiet)),
        (_, true) => Line::styled(" Esc again throws your changes away", theme.style(Role::Warn)),
        _ if form.is_low => Line::styled(" Enter send   Esc cancel", theme.style(Role::Key)),
        _ => Line::styled(foot(form), theme.style(Role::Key)),
    });
    frame.render_widget(Paragraph::new(seen), inner);
}

/// What keys do in the field that has the focus.
fn foot<S>(form: &Form<S>) -> &'static str {
    match form.fields.get(form.at).map(|field| &field.kind) {
        Some(Kind::Pick(_)) if form.fields.len() == 1 => {
            " Type to filter   ↑ ↓ choose   Enter take   Esc cancel"
        }
        Some(Kind::Pick(_)) => " Type to filter   ↑ ↓ choose   Tab next   Ctrl-s save   Esc",
        _ => " Tab next   Space choose   Ctrl-s save   Esc cancel",
    }
}

fn quiet(text: &str, theme: Theme) -> Line<'static> {
    Line::styled(format!(" {text}"), theme.style(Role::Quiet))
}

fn field_lines(
    field: &Field,
    label: usize,
    cells: usize,
    has_focus: bool,
    theme: Theme,
    lines: &mut Vec<Line<'static>>,
) {
    let sign = if has_focus { '▶' } else { ' ' };
    let star = if field.required { '*' } else { ' ' };
    let role = if has_focus { Role::Focus } else { Role::Plain };
    let head = format!("{sign}{}{star} ", fitted(&safe(&field.label), label));
    let room = cells.saturating_sub(width(&head));
    let head = Span::styled(head, theme.style(role));
    let line = |text: String| Line::from(vec![head.clone(), Span::raw(text)]);
    let indent = " ".repeat(label + 3);
    match &field.kind {
        Kind::Text(input) | Kind::Json(input) | Kind::Number(input) if !input.is_multiline => {
            let mut shown = typed(input, room, has_focus);
            shown.spans.insert(0, head);
            lines.push(shown);
        }
        Kind::Text(input) | Kind::Json(input) | Kind::Number(input) => {
            let mut head = Some(head.clone());
            for shown in block(input, room, has_focus) {
                let mut shown = shown;
                shown.spans.insert(0, head.take().unwrap_or_else(|| Span::raw(indent.clone())));
                lines.push(shown);
            }
        }
        Kind::Secret(input) => {
            let dots = "•".repeat(input.text().chars().count().min(room.saturating_sub(1)));
            let cursor = if has_focus { "▏" } else { "" };
            lines.push(line(format!("{dots}{cursor}")));
        }
        Kind::Flag(value) => lines.push(line(
            match value {
                Some(true) => "[x] yes",
                Some(false) => "[ ] no",
                None => "[-] not set",
            }
            .to_owned(),
        )),
        Kind::One { options, at } => {
            let chosen = at.and_then(|at| options.get(at)).map_or("—", |(title, _)| title);
            lines.push(line(format!("‹ {} ›", cut(&safe(chosen), room.saturating_sub(4)))));
        }
        Kind::Many(many) => {
            let names: Vec<&str> = many.chosen.iter().map(String::as_str).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            lines.push(line(cut(&safe(&names), room).into_owned()));
            if has_focus {
                options(many, true, &indent, room, theme, lines);
            }
        }
        Kind::Pick(many) => {
            let name = safe(many.current_option().unwrap_or("—")).into_owned();
            lines.push(line(cut(&name, room).into_owned()));
            if has_focus {
                options(many, false, &indent, room, theme, lines);
            }
        }
        Kind::Fixed(why) => lines.push(line(cut(&safe(why), room).into_owned())),
    }
    if has_focus && !field.hint.is_empty() {
        let hint = wrapped(&field.hint, room).into_iter();
        lines.extend(hint.map(|text| quiet(&format!("{}{text}", &indent[1..]), theme)));
    }
    if let Some(error) = &field.error {
        lines.extend(wrong(error, &indent, cells, theme));
    }
}

/// What is wrong, whole: behind a sign, and below it.
pub(crate) fn wrong(text: &str, indent: &str, cells: usize, theme: Theme) -> Vec<Line<'static>> {
    let lines = wrapped(text, cells.saturating_sub(indent.len() + 2)).into_iter().enumerate();
    let line = |(n, line): (usize, String)| {
        let sign = if n == 0 { '✗' } else { ' ' };
        Line::styled(format!("{indent}{sign} {line}"), theme.style(Role::Bad))
    };
    lines.map(line).collect()
}

/// The lines of a longer text around its cursor.
fn block(input: &Input, cells: usize, has_focus: bool) -> Vec<Line<'static>> {
    const SEEN: usize = 8;
    let before = input.parts().0.matches('\n').count();
    let from = before.saturating_sub(SEEN - 1);
    let texts = input.text().split('\n').enumerate().skip(from).take(SEEN);
    let line = |(n, text): (usize, &str)| {
        if has_focus && n == before {
            typed(input, cells, true)
        } else {
            Line::from(cut(&safe(text), cells).into_owned())
        }
    };
    texts.map(line).collect()
}

/// The options that fit; `ticks`: several can be chosen.
fn options(
    many: &Many,
    ticks: bool,
    indent: &str,
    cells: usize,
    theme: Theme,
    lines: &mut Vec<Line<'static>>,
) {
    let shown = many.shown();
    let from = (many.at + 1).saturating_sub(OPTIONS);
    let filter = typed(&many.filter, cells.saturating_sub(26), true);
    let mut head = vec![Span::raw(indent.to_owned()), Span::raw("type to filter: ")];
    head.extend(filter.spans);
    let count = if ticks { many.chosen.len() } else { shown.len() };
    head.push(Span::styled(
        format!("  {count} of {}", many.options.len()),
        theme.style(Role::Quiet),
    ));
    lines.push(Line::from(head));
    for (n, option) in shown.iter().enumerate().skip(from).take(OPTIONS) {
        let (group, name) = &many.options[*option];
        let tick = match (ticks, many.chosen.contains(name)) {
            (false, _) => "",
            (true, true) => "[x] ",
            (true, false) => "[ ] ",
        };
        let text = format!("{tick}{}", safe(name));
        let group = cut(group, 18).into_owned();
        let text = fitted(&text, cells.saturating_sub(width(&group) + 1));
        let role = if n == many.at { Role::Cursor } else { Role::Plain };
        lines.push(Line::from(vec![
            Span::raw(indent.to_owned()),
            Span::styled(text, theme.style(role)),
            Span::styled(format!(" {group}"), theme.style(Role::Quiet)),
        ]));
    }
    if shown.is_empty() {
        lines.push(quiet(&format!("{indent}nothing fits"), theme));
    }
}

/// A text from its line `top` on, cut so many cells before the right edge. `top` stays within it.
pub(crate) fn text_in(
    frame: &mut Frame<'_>,
    area: Rect,
    text: &[(Role, String)],
    top: &Cell<usize>,
    margin: u16,
    theme: Theme,
) {
    let height = usize::from(area.height);
    top.set(top.get().min(text.len().saturating_sub(height)));
    let cells = usize::from(area.width.saturating_sub(margin));
    let line = |(role, text): &(Role, String)| {
        Line::styled(format!(" {}", cut(text, cells)), theme.style(*role))
    };
    lines(frame, area, text.iter().skip(top.get()).take(height).map(line).collect());
}

/// Lines in a frame, from the top.
pub(crate) fn lines(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>) {
    frame.render_widget(Paragraph::new(lines).alignment(Alignment::Left), area);
}
