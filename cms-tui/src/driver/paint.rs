//! A screen as text with its styles, and as SVG.

use std::fmt::Write as _;

use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier},
};

use crate::text::width;

/// The cells of a line; what a wide character covers is left out.
fn cells(buffer: &Buffer, y: u16) -> Vec<(u16, &Cell)> {
    let (mut x, mut cells) = (0, Vec::new());
    while x < buffer.area.width {
        let cell = &buffer[(x, y)];
        cells.push((x, cell));
        x += u16::try_from(width(cell.symbol())).unwrap_or(1).max(1);
    }
    cells
}

/// The lines, without styles.
pub(super) fn text(buffer: &Buffer) -> String {
    let line = |y| cells(buffer, y).into_iter().map(|(_, cell)| cell.symbol()).collect::<String>();
    (0..buffer.area.height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
}

fn style(cell: &Cell) -> String {
    let mut style = String::new();
    for (is, name) in [
        (cell.modifier.contains(Modifier::BOLD), "bold"),
        (cell.modifier.contains(Modifier::DIM), "dim"),
        (cell.modifier.contains(Modifier::REVERSED), "reversed"),
        (cell.modifier.contains(Modifier::UNDERLINED), "underlined"),
    ] {
        if is {
            style.push_str(name);
            style.push(' ');
        }
    }
    for color in [cell.fg, cell.bg] {
        if color != Color::Reset {
            let _ = write!(style, "{color} ");
        }
    }
    style.trim_end().to_owned()
}

/// Runs of one style: line, columns, style.
pub(super) fn styled(buffer: &Buffer) -> String {
    let mut all = text(buffer);
    for y in 0..buffer.area.height {
        let mut runs: Vec<(u16, u16, String)> = Vec::new();
        for (x, cell) in cells(buffer, y) {
            let style = style(cell);
            match runs.last_mut() {
                Some((_, end, last)) if *last == style => *end = x,
                _ => runs.push((x, x, style)),
            }
        }
        runs.retain(|(.., style)| !style.is_empty());
        for (from, to, style) in runs {
            let _ = writeln!(all, "{y}: {from}-{to} {style}");
        }
    }
    all
}

/// A picture for the docs, in the colours of a dark terminal.
pub(super) fn svg(buffer: &Buffer) -> String {
    const CELL: (u16, u16) = (8, 17);
    let (wide, high) = (buffer.area.width * CELL.0 + 16, buffer.area.height * CELL.1 + 16);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" \
         font-family=\"monospace\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#16181d\"/>\n"
    );
    for y in 0..buffer.area.height {
        for (x, cell) in cells(buffer, y) {
            let reversed = cell.modifier.contains(Modifier::REVERSED);
            let (left, top) = (8 + x * CELL.0, 8 + y * CELL.1);
            let paper = if reversed { Some(color(cell.fg)) } else { paper(cell.bg) };
            if let Some(paper) = paper {
                let (w, h) = CELL;
                let _ = writeln!(
                    svg,
                    "<rect x=\"{left}\" y=\"{top}\" width=\"{w}\" height=\"{h}\" fill=\"{paper}\"/>"
                );
            }
            let symbol = cell.symbol();
            if symbol.trim().is_empty() {
                continue;
            }
            let ink = if reversed { "#16181d" } else { color(cell.fg) };
            let bold =
                if cell.modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
            let dim = if cell.modifier.contains(Modifier::DIM) { " opacity=\"0.6\"" } else { "" };
            let symbol = symbol.replace('&', "&amp;").replace('<', "&lt;");
            let base = top + 13;
            let _ = writeln!(
                svg,
                "<text x=\"{left}\" y=\"{base}\" fill=\"{ink}\"{bold}{dim}>{symbol}</text>"
            );
        }
    }
    svg + "</svg>\n"
}

fn paper(color: Color) -> Option<&'static str> {
    (color == Color::White).then_some("#ffffff")
}

fn color(color: Color) -> &'static str {
    match color {
        Color::Green => "#7fbf6a",
        Color::Yellow => "#d7b45a",
        Color::Red => "#e06c75",
        Color::Cyan => "#61b8c9",
        Color::Magenta => "#c086d6",
        Color::Black => "#000000",
        _ => "#d6d8dd",
    }
}
