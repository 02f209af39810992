//! Records and findings: for people on a terminal, tab-separated in a pipe.

use std::io;

use cms_core::{Finding, Level, plain::shown, worst};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;

use super::{
    failure::{Done, Exit, Failure},
    printer::{Output, Part, Style},
    record::Record,
};

/// Longer cells are cut on a terminal, in characters.
const WIDEST: usize = 44;

/// Prints rows under their column names.
pub(crate) fn rows(out: &Output, columns: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    if !out.table {
        return out.raw(
            &rows
                .iter()
                .map(|row| tab_separated(row.iter().map(String::as_str)))
                .collect::<String>(),
        );
    }
    let shown = fitting(columns, rows, out.width());
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns[..shown].iter().map(|name| Cell::new(name.to_uppercase())));
    for row in rows {
        table.add_row(row[..shown].iter().map(|cell| {
            let number = cell.parse::<f64>().is_ok();
            Cell::new(cut(cell)).set_alignment(if number {
                CellAlignment::Right
            } else {
                CellAlignment::Left
            })
        }));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    for (number, line) in lines.iter().enumerate() {
        let line = if number == 0 { Part::In(Style::Bold, line) } else { Part::Plain(line) };
        out.parts(&[line, Part::Plain("\n")])?;
    }
    if shown < columns.len() {
        out.note(&format!(
            "The terminal is too narrow for: {} (--json shows all columns)",
            columns[shown..].join(", ")
        ));
    }
    Ok(())
}

/// Prints the named columns of values that are objects; all columns when none are named.
pub(crate) fn records<T: Serialize>(out: &Output, columns: &[&str], values: &[T]) -> Done {
    let records: Vec<Record> = values.iter().map(Record::of).collect::<Done<_>>()?;
    let columns: Vec<&str> = match (columns, records.first()) {
        ([], None) => return Ok(()),
        ([], Some(first)) => first.names().collect(),
        _ => columns.to_vec(),
    };
    let row = |record: &Record| columns.iter().map(|name| record.shown(name)).collect();
    Ok(rows(out, &columns, &records.iter().map(row).collect::<Vec<_>>())?)
}

/// Prints names with their values, a line for each.
pub(crate) fn pairs(out: &Output, pairs: &[(&str, String)]) -> io::Result<()> {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in pairs {
        if out.table {
            let (name, value) = (format!("{name:width$}"), format!("  {value}\n"));
            out.parts(&[Part::In(Style::Bold, &name), Part::Plain(&value)])?;
        } else {
            out.raw(&tab_separated([*name, value.as_str()].into_iter()))?;
        }
    }
    Ok(())
}

/// How many columns fit side by side, at least one.
fn fitting(columns: &[&str], rows: &[Vec<String>], width: usize) -> usize {
    let mut used = 0;
    for (index, name) in columns.iter().enumerate() {
        let cells = rows.iter().map(|row| cut(&row[index]).chars().count());
        used += cells.chain([name.len()]).max().unwrap_or(0) + 2;
        if used > width && index > 0 {
            return index;
        }
    }
    columns.len()
}

fn cut(cell: &str) -> String {
    let blank = |c: char| if matches!(c, '\n' | '\t') { ' ' } else { c };
    let line: String = shown(cell).chars().map(blank).take(WIDEST + 1).collect();
    if line.chars().count() > WIDEST {
        line.chars().take(WIDEST - 1).chain(['…']).collect()
    } else {
        line
    }
}

/// A line of cells; tabs and line ends inside them become `\t` and `\n`.
fn tab_separated<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let escaped = |cell: &str| {
        cell.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
    };
    cells.map(escaped).collect::<Vec<_>>().join("\t") + "\n"
}

/// Prints what the checks of a site found; with `--quiet` only warnings and errors. Exits with 1
/// for an error.
pub(crate) fn findings(out: &Output, findings: &[Finding]) -> Done {
    if out.json {
        out.data(&findings.iter().map(|finding| serde_json::json!(finding)).collect())?;
    } else {
        for finding in findings.iter().filter(|one| !out.quiet || one.level != Level::Ok) {
            write_finding(out, finding)?;
        }
    }
    match worst(findings) {
        Level::Error => Err(Failure::silent(Exit::Failed)),
        Level::Ok | Level::Warning => Ok(()),
    }
}

fn write_finding(out: &Output, finding: &Finding) -> Done {
    let Finding { check, level, found, remedy, .. } = finding;
    let level = level.as_str();
    if !out.table {
        return Ok(out.line(&format!("{level}\t{check}\t{found}\t{remedy}"))?);
    }
    let style = match finding.level {
        Level::Ok => Style::Good,
        Level::Warning => Style::Warn,
        Level::Error => Style::Bad,
    };
    let found = format!("  {check:17}  {found}\n");
    out.parts(&[Part::In(style, &format!("{level:7}")), Part::Plain(&found)])?;
    if !remedy.is_empty() {
        let (indent, remedy) = (" ".repeat(28), format!(" {remedy}\n"));
        out.parts(&[Part::Plain(&indent), Part::In(Style::Bold, "→"), Part::Plain(&remedy)])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_are_left_out() {
        let rows = vec![vec!["1".to_owned(), "x".repeat(200), "y".to_owned()]];
        assert_eq!(fitting(&["id", "title", "z"], &rows, 200), 3);
        assert_eq!(fitting(&["id", "title", "z"], &rows, 50), 2);
        assert_eq!(fitting(&["id", "title", "z"], &rows, 1), 1);
    }

    #[test]
    fn a_row_stays_a_line() {
        assert_eq!(tab_separated(["a\tb", "c\nd", "\\"].into_iter()), "a\\tb\tc\\nd\t\\\\\n");
    }
}
