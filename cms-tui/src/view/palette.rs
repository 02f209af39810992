//! Help and palette: one list of all actions.

use ratatui::{
    Frame,
    text::{Line, Span},
    widgets::Paragraph,
};

use super::right_said;
use crate::{
    actions::Scene,
    model::{Model, over::Palette},
    text::{cut, fitted, safe},
    theme::Role,
    widgets::draw::{popup, typed},
};

/// A window narrower than this leaves the names out: what an action does comes first.
const NAMED: usize = 88;

pub(super) fn draw(frame: &mut Frame<'_>, palette: &Palette, model: &Model, scene: &Scene<'_>) {
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
