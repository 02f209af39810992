//! Draws a model. Waits for nothing, and builds only the rows that are visible

use cms_http::plain::shown;
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style, Stylize},
    text::Line,
    widgets::{Block, Clear, Paragraph},
};

use crate::{
    keys::HELP,
    model::{Link, Model, Pane},
};

/// The smallest screen, in columns and lines.
const SMALLEST: (u16, u16) = (60, 16);
/// Wider columns are cut, in cells.
const WIDEST_COLUMN: usize = 28;

/// The whole screen.
pub(crate) fn draw(frame: &mut Frame<'_>, model: &Model) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!(
            "cms tui needs {} × {} cells; this is {} × {}.",
            SMALLEST.0, SMALLEST.1, area.width, area.height
        );
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let [body, status] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(area);
    let [left, right] =
        Layout::horizontal([Constraint::Length(22), Constraint::Min(0)]).areas(body);
    tables(frame, model, left);
    rows(frame, model, right);
    frame.render_widget(Line::from(visible(&status_text(model))).reversed(), status);
    if model.help {
        help(frame, area);
    }
}

fn pane(title: String, active: bool) -> Block<'static> {
    let block = Block::bordered().title(title);
    if active { block.bold() } else { block }
}

fn marked(text: String, selected: bool, active: bool) -> Line<'static> {
    let style = match (selected, active) {
        (true, true) => Style::new().add_modifier(Modifier::REVERSED),
        (true, false) => Style::new().add_modifier(Modifier::BOLD),
        _ => Style::new(),
    };
    // A sign too: the selection must be visible without colours.
    Line::styled(format!("{}{text}", if selected { "▶ " } else { "  " }), style)
}

/// The first visible line of a list, so that `selected` is visible.
fn window(selected: usize, height: usize) -> usize {
    (selected + 1).saturating_sub(height)
}

fn tables(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let active = model.pane == Pane::Tables;
    let block = pane(" Tables ".to_owned(), active);
    let height = usize::from(block.inner(area).height);
    let from = window(model.table, height);
    let names = model.tables.iter().enumerate().skip(from).take(height);
    let lines: Vec<_> =
        names.map(|(n, name)| marked(visible(name), n == model.table, active)).collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn rows(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let active = model.pane == Pane::Rows;
    let name = model.tables.get(model.table).map_or("no table", String::as_str);
    let block = pane(format!(" {} · page {} ", visible(name), model.page()), active);
    let inner = block.inner(area);
    let height = usize::from(inner.height).saturating_sub(1);
    let from = window(model.row, height);
    let cells = |row: &Vec<String>| row.iter().map(|cell| visible(cell)).collect::<Vec<_>>();
    let rows = model.rows.iter().map(cells).enumerate();
    let (columns, seen): (_, Vec<_>) =
        (cells(&model.columns), rows.skip(from).take(height).collect());
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| {
            let cells =
                seen.iter().map(|(_, row)| width(&row[column])).chain([width(&columns[column])]);
            cells.max().unwrap_or(0).min(WIDEST_COLUMN)
        })
        .collect();
    let line = |cells: &[String]| {
        cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| fitted(cell, *width))
            .collect::<Vec<_>>()
            .join("  ")
    };
    let mut lines = vec![Line::from(format!("  {}", line(&columns))).bold()];
    lines.extend(seen.iter().map(|(n, row)| marked(line(row), *n == model.row, active)));
    if model.rows.is_empty() {
        lines = vec![Line::from(if model.link == Link::Live { "  No rows." } else { "" })];
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn status_text(model: &Model) -> String {
    let link = match &model.link {
        Link::Connecting => "○ connecting".to_owned(),
        Link::Live => "● live".to_owned(),
        Link::Failed(why) => format!("✗ offline: {why}"),
    };
    let rows = match model.rows.len() {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    };
    let more = if model.has_next() { "n next page · " } else { "" };
    format!(" {link} · {} · {rows} · {more}? help · q quit", model.site)
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    let lines: Vec<_> =
        HELP.iter().map(|(keys, what)| Line::from(format!(" {keys:10} {what}"))).collect();
    let popup = area.centered(Constraint::Length(40), Constraint::Length(HELP.len() as u16 + 2));
    frame.render_widget(Clear, popup);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" Keys ")), popup);
}

fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { Line::from(text).width() }
}

/// The text in one line, without anything that a terminal would obey.
fn visible(text: &str) -> String {
    shown(text).replace(['\n', '\t'], " ")
}

/// The text cut or filled to `to` cells.
fn fitted(text: &str, to: usize) -> String {
    if width(text) <= to {
        return text.chars().chain(std::iter::repeat_n(' ', to - width(text))).collect();
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if width(&cut) + 1 > to {
            cut.pop();
            break;
        }
    }
    let used = width(&cut) + 1;
    cut.push('…');
    cut.extend(std::iter::repeat_n(' ', to.saturating_sub(used)));
    cut
}

#[cfg(test)]
mod tests {
    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::model::{Msg, Page, update};

    fn drawn(model: &Model, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("terminal");
        terminal.draw(|frame| draw(frame, model)).expect("drawn");
        let screen = terminal.backend().to_string();
        // The backend adds which cells wide characters cover.
        let cells = |line: &str| {
            line.split_once("\" Hidden")
                .map_or(line, |(cells, _)| cells)
                .trim_matches('"')
                .trim_end()
                .to_owned()
        };
        screen.lines().map(|line| cells(line) + "\n").collect()
    }

    fn model() -> Model {
        let tables = ["blog", "menu_items", "pages", "settings"].map(str::to_owned).to_vec();
        let (mut model, _) = Model::new("./try".to_owned(), tables);
        let row = |id: &str, title: &str| vec![id.to_owned(), title.to_owned(), "en".to_owned()];
        let rows = vec![
            row("1", "How to tell when a chain is really worn"),
            row("2", "Räder, die laufen"),
            row("3", "日本の自転車と京都の長い長い峠道の話"),
            row("4", "two\nlines"),
        ];
        let columns = ["id", "title", "language_short"].map(str::to_owned).to_vec();
        update(&mut model, Msg::Loaded(1, Ok(Page { columns, rows, next: Some("c".to_owned()) })));
        model
    }

    /// Compares with a golden file; `CMS_WRITE_GOLDEN=1 cargo test` writes it.
    fn golden(name: &str, screen: &str) {
        let path = format!("{}/src/screens/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("CMS_WRITE_GOLDEN").is_some() {
            std::fs::write(&path, screen).expect("written");
        }
        assert_eq!(screen, std::fs::read_to_string(&path).expect("a golden file"), "{path}");
    }

    #[test]
    fn screens() {
        let mut model = model();
        golden("tables", &drawn(&model, 80, 24));
        update(&mut model, Msg::Switch);
        update(&mut model, Msg::Down);
        golden("rows", &drawn(&model, 80, 24));
        update(&mut model, Msg::Help);
        golden("help", &drawn(&model, 80, 24));
        golden("smallest", &drawn(&model, 60, 16));
        golden("too_small", &drawn(&model, 59, 16));
    }

    #[test]
    fn a_terminal_obeys_no_text() {
        let (mut model, _) = Model::new("a\u{202e}b".to_owned(), vec!["t\u{9b}2J".to_owned()]);
        let columns = vec!["id".to_owned()];
        let rows = vec![vec!["x\u{1b}[2J\u{2066}\ny".to_owned()]];
        update(&mut model, Msg::Loaded(1, Ok(Page { columns, rows, next: None })));
        let screen = drawn(&model, 80, 24);
        for text in [r"a\u202eb", r"t\u009b2J", r"x\u001b[2J\u2066 y"] {
            assert!(screen.contains(text), "{screen}");
        }
        model.link = Link::Failed("\u{202e}gone".to_owned());
        assert!(drawn(&model, 80, 24).contains(r"\u202egone"));
    }

    #[test]
    fn every_size_can_be_drawn() {
        let mut model = model();
        for help in [false, true] {
            model.help = help;
            for (width, height) in [(1, 1), (10, 3), (60, 16), (200, 60), (60, 200)] {
                drawn(&model, width, height);
            }
        }
    }
}
