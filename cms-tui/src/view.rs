//! Draws a model; never waits. Help and palette are one list of all actions.

use ratatui::{
    Frame,
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Paragraph, Wrap},
};

use crate::{
    actions::{ACTIONS, Action, Right, Scene, find},
    model::{Model, Over, Palette},
    screens::Look,
    text::{cut, fitted, safe, width, wrapped_to},
    theme::Role,
    widgets::draw::{self, popup, typed},
};

/// The smallest screen, in columns and lines.
pub(crate) const SMALLEST: (u16, u16) = (60, 16);

/// The whole screen.
pub(crate) fn draw(frame: &mut Frame<'_>, model: &Model) {
    let area = frame.area();
    let is_too_small = area.width < SMALLEST.0 || area.height < SMALLEST.1;
    model.is_too_small.set(is_too_small);
    if is_too_small {
        let mut text = format!(
            "cms tui needs {} × {} cells; this is {} × {}.",
            SMALLEST.0, SMALLEST.1, area.width, area.height
        );
        if let Some(question) = model.leaving() {
            text.push_str(&format!(" {question} Ctrl-c: yes."));
        }
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        return;
    }
    let said = told_lines(model, area);
    let [head, tabs, body, keys, told] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(said.len() as u16),
    ])
    .areas(area);
    let (scene, look) = (model.scene(), Look { theme: model.theme, now: model.now });
    match model.screen() {
        Some(screen) if screen.is_whole() => {
            screen.draw(frame, Rect { height: area.height - told.height, ..area }, look);
        }
        screen => {
            frame.render_widget(head_line(model, head.width), head);
            frame.render_widget(tabs_line(model, tabs), tabs);
            if let Some(screen) = screen {
                screen.draw(frame, body, look);
            }
            frame.render_widget(keys_line(model, &scene, keys.width), keys);
        }
    }
    frame.render_widget(Paragraph::new(said), told);
    if let Some(over) = model.over.last() {
        match over {
            Over::Palette(palette) => draw_palette(frame, palette, model, &scene),
            Over::Form(form) => draw::form(frame, form, model.theme),
            Over::Confirm(confirm, _) => draw::confirm(frame, confirm, model.theme),
            Over::Menu(menu, _) => draw::menu(frame, menu, model.theme),
            Over::View(viewer) => draw::viewer(frame, viewer, model.theme),
        }
    }
    scrub(frame.buffer_mut());
}

/// The first line: site, user, and the age of the data.
fn head_line(model: &Model, cells: u16) -> Line<'static> {
    let theme = model.theme;
    let (role, fresh) = model.freshness();
    let who = match (model.is_local, &model.acts_as) {
        (_, Some(user)) => format!("as {}", safe(user)),
        (true, None) => "operator".to_owned(),
        _ => safe(&model.who).into_owned(),
    };
    let readonly = if model.readonly { " read-only" } else { "" };
    let room = usize::from(cells).saturating_sub(width(&fresh) + width(&who) + 12 + readonly.len());
    let site = cut(&safe(&model.site), room).into_owned();
    let left = vec![
        Span::raw(" cms "),
        Span::styled(format!(" {site} "), theme.style(Role::Site)),
        Span::raw(format!(" {who}{readonly}")),
    ];
    spread(left, vec![Span::styled(format!("{fresh} "), theme.style(role))], cells)
}

fn spread(left: Vec<Span<'static>>, right: Vec<Span<'static>>, cells: u16) -> Line<'static> {
    let used: usize = left.iter().chain(&right).map(Span::width).sum();
    let gap = usize::from(cells).saturating_sub(used).max(1);
    let mut spans = left;
    spans.push(Span::raw(" ".repeat(gap)));
    spans.extend(right);
    Line::from(spans)
}

/// The tabs: screens with a digit; on a narrow screen only their digits.
fn tabs_line(model: &Model, area: Rect) -> Line<'static> {
    let cells = area.width;
    let theme = model.theme;
    let here = model.stack.get(1).or(model.stack.first()).map_or("", |shown| shown.screen.noun());
    let title = |verb: &str| {
        let mut letters = verb.chars();
        letters.next().map(|c| c.to_uppercase().collect::<String>() + letters.as_str())
    };
    let tabs: Vec<_> = ACTIONS
        .iter()
        .filter(|one| one.noun() == "go" && !one.keys.is_empty() && one.keys != "0")
        .map(|one| (one.keys, one.verb()))
        .collect();
    let whole: usize = tabs.iter().map(|(_, verb)| verb.len() + 4).sum();
    let mut spans = vec![Span::raw(" ")];
    let (mut is_known, mut x, mut places) = (false, area.x + 1, Vec::new());
    for (key, verb) in tabs {
        let is_here = verb == here;
        is_known |= is_here;
        let name = title(verb).unwrap_or_default();
        let text = if whole < usize::from(cells) || is_here {
            format!(" {key} {name} ")
        } else {
            format!(" {key} ")
        };
        let role = if is_here { Role::Cursor } else { Role::Quiet };
        let wide = width(&text) as u16;
        places.push((Rect::new(x, area.y, wide, 1), verb));
        x += wide;
        spans.push(Span::styled(text, theme.style(role)));
    }
    model.tabs_at.replace(places);
    if !is_known {
        let text = format!(" {} ", title(here).unwrap_or_default());
        spans.push(Span::styled(text, theme.style(Role::Cursor)));
    }
    Line::from(spans)
}

/// Keys that all lists share; there is always room for them.
const SHARED: [&str; 3] = ["list.open", "list.filter", "list.mark"];
/// Keys that are shown if room is left.
const SPARE: [&str; 2] = ["app.undo", "list.sort"];

/// Keys of this screen, as many as fit; those that cannot be used now are dim.
fn keys_line(model: &Model, scene: &Scene<'_>, cells: u16) -> Line<'static> {
    let theme = model.theme;
    let help = "? help ";
    let said = |action: &'static Action| {
        let key = model.map.keys(action, scene).first().copied()?;
        action.is_here(scene).then(|| (action, format!(" {key}"), format!(" {} ", action.label())))
    };
    let wide = |(_, key, what): &(&Action, String, String)| width(key) + width(what);
    let own: Vec<_> =
        ACTIONS.iter().filter(|one| one.noun() == scene.noun).filter_map(said).collect();
    let shared: Vec<_> = SHARED.iter().filter_map(|name| said(find(name)?)).collect();
    let changes = own.iter().any(|(one, ..)| one.changes && !scene.readonly);
    let spare = SPARE.iter().filter(|name| changes || **name != "app.undo");
    let spare: Vec<_> = spare.filter_map(|name| said(find(name)?)).collect();
    let reserved = help.len() + 1 + shared.iter().map(wide).sum::<usize>();
    let mut left = usize::from(cells).saturating_sub(reserved);
    let mut spans = Vec::new();
    // An entry that is too long is left out; later ones may still fit.
    let fitting = own.into_iter().chain(spare).filter(|one| {
        let used = wide(one);
        let fits = used <= left;
        left -= if fits { used } else { 0 };
        fits
    });
    for (action, key, what) in fitting.collect::<Vec<_>>().into_iter().chain(shared) {
        let enabled = action.disabled(scene).is_none();
        let role = if enabled { Role::Key } else { Role::Disabled };
        spans.push(Span::styled(key, theme.style(role)));
        let role = if enabled { Role::Plain } else { Role::Disabled };
        spans.push(Span::styled(what, theme.style(role)));
    }
    spread(spans, vec![Span::styled(help, theme.style(Role::Key))], cells)
}

/// The hints of the tour in the first session.
const HINTS: [&str; 5] = [
    "Hint 1 of 5: ? lists every key here; type to search, Enter runs.",
    "Hint 2 of 5: digits open screens, Esc goes one step back.",
    "Hint 3 of 5: / filters, Space marks, and keys then work on all marked rows.",
    "Hint 4 of 5: u takes the last change back.",
    "Hint 5 of 5: y copies the command line that does the same.",
];

/// The last message, and the command line that does the same. A long message takes up to a third
/// of the lines, because its end says how to mend what is wrong.
fn told_lines(model: &Model, area: Rect) -> Vec<Line<'static>> {
    let theme = model.theme;
    let cells = usize::from(area.width).saturating_sub(2);
    let slow = model.slow_change();
    if let Some((role, text)) = slow.as_ref().or(model.told.as_ref()) {
        let mut lines = wrapped_to(text, cells, usize::from(area.height / 3));
        let end = lines.pop().unwrap_or_default();
        let room = cells.saturating_sub(width(&end) + 3);
        let right = match &model.line {
            Some(line) if width(line) <= room && *role == Role::Good => format!("{} ", safe(line)),
            _ => String::new(),
        };
        let left = |line: String| Span::styled(format!(" {line}"), theme.style(*role));
        let right = Span::styled(right, theme.style(Role::Quiet));
        let end = spread(vec![left(end)], vec![right], area.width);
        return lines.into_iter().map(left).map(Line::from).chain([end]).collect();
    }
    vec![match HINTS.get(model.remembered.hints) {
        Some(hint) => Line::styled(format!(" {}", cut(hint, cells)), theme.style(Role::Quiet)),
        None => Line::default(),
    }]
}

/// The last safeguard: removes anything from cells that a terminal would obey, and piled-up marks.
fn scrub(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let symbol = cell.symbol();
        if symbol.len() > 1
            && (symbol.contains(cms_http::plain::is_hidden) || symbol.chars().count() > 8)
        {
            cell.set_symbol("?");
        }
    }
}

/// Who may do something, in words.
fn right_said(right: Right) -> &'static str {
    match right {
        Right::Free => "",
        Right::Holds(key) => key,
        Right::Admin => "administrators",
        Right::Local => "on the site's machine",
    }
}

/// A window narrower than this leaves the names out: what an action does comes first.
const NAMED: usize = 88;

fn draw_palette(frame: &mut Frame<'_>, palette: &Palette, model: &Model, scene: &Scene<'_>) {
    let theme = model.theme;
    let found = palette.fitting(scene);
    let title = match model.screen() {
        Some(screen) => format!("Help · {}", screen.title()),
        None => "Help".to_owned(),
    };
    let inner = popup(frame, &title, (92, found.len().max(6) as u16 + 7), theme);
    let cells = usize::from(inner.width);
    let mut line = typed(&palette.input, cells.saturating_sub(4), true);
    let sign = if palette.is_command { " : " } else { " / " };
    line.spans.insert(0, Span::styled(sign, theme.style(Role::Key)));
    let mut lines = vec![line];
    let height = usize::from(inner.height).saturating_sub(4);
    let has_names = cells >= NAMED;
    let at = palette.at.min(found.len().saturating_sub(1));
    let from = (at + 1).saturating_sub(height);
    for (n, action) in found.iter().enumerate().skip(from).take(height) {
        let keys: Vec<_> = model.map.keys(action, scene).iter().map(ToString::to_string).collect();
        let disabled = action.disabled(scene);
        let what = match &disabled {
            Some(why) if has_names => format!("{} · {why}", action.help),
            Some(why) => format!("{} · {why}", action.label()),
            None => action.help.to_owned(),
        };
        let name = match has_names {
            true => fitted(&format!(":{}", action.name), 24) + " ",
            false => String::new(),
        };
        let text = format!(
            "{} {} {name}{what}",
            if n == at { '▶' } else { ' ' },
            fitted(&keys.join(" "), 14),
        );
        let role = match (n == at, disabled.is_some()) {
            (true, _) => Role::Cursor,
            (_, true) => Role::Disabled,
            _ => Role::Plain,
        };
        lines.push(Line::styled(fitted(&text, cells), theme.style(role)));
    }
    if found.is_empty() {
        lines.push(Line::styled("  No action fits.", theme.style(Role::Quiet)));
    }
    lines.resize(height + 1, Line::default());
    let chosen = found.get(at);
    let command = chosen.and_then(|action| action.command_line(scene));
    let said = match (&command, chosen.map(|action| right_said(action.right))) {
        (Some(line), Some("")) => format!(" {}", safe(line)),
        (Some(line), Some(right)) => format!(" {}   (for: {right})", safe(line)),
        _ => String::new(),
    };
    let why = chosen.and_then(|action| action.disabled(scene));
    let why = why.map(|why| format!(" {why}")).unwrap_or_default();
    lines.push(Line::styled(cut(&why, cells).into_owned(), theme.style(Role::Warn)));
    lines.push(Line::styled(cut(&said, cells).into_owned(), theme.style(Role::Title)));
    let keys = " Enter run   Ctrl-y copy the command line   Esc close   keys.toml changes keys";
    lines.push(Line::styled(cut(keys, cells).into_owned(), theme.style(Role::Quiet)));
    frame.render_widget(Paragraph::new(lines), inner);
}
