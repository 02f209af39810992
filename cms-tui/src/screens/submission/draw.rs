//! How a submission looks: one column, or two on wide screens.

use super::Submission;
use crate::screens::{inbox::wording, prelude::*};

/// From this width on there are two columns.
const TWO: u16 = 96;

pub(super) fn draw(of: &Submission, frame: &mut Frame<'_>, area: Rect, look: Look) {
    if area.width < TWO {
        let mut all = about(of, area, look);
        all.extend(more(of, "The way", area, look));
        of.panes_at[1].set(Rect::default());
        return column(of, 0, &of.title(), all, frame, area, look);
    }
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(46), Constraint::Fill(1)]).areas(area);
    column(of, 0, &of.title(), about(of, left, look), frame, left, look);
    column(of, 1, "The way that it took", more(of, "", right, look), frame, right, look);
}

fn cells(area: Rect) -> usize {
    usize::from(area.width).saturating_sub(4)
}

/// A part with its title, when there is something in it.
fn part(title: &str, part: Lines, all: &mut Lines) {
    if part.is_empty() {
        return;
    }
    if !title.is_empty() {
        all.push((Role::Plain, String::new()));
        all.push((Role::Title, title.to_owned()));
    }
    all.extend(part);
}

/// Who it is, the notes, the answers.
fn about(of: &Submission, area: Rect, look: Look) -> Lines {
    let mut all = Vec::new();
    if let Some(fault) = &of.fault {
        all.push((Role::Bad, format!("✗ {}", safe(fault))));
        if !of.is_whole {
            return all;
        }
    }
    all.extend(wording::head(&of.shown, look.now));
    if !of.is_whole {
        part("", vec![loading()], &mut all);
        return all;
    }
    part("Notes", wording::notes(&of.shown, cells(area)), &mut all);
    part("Answers", wording::answers(&of.shown, cells(area)), &mut all);
    part("Came from", wording::origin(&of.shown), &mut all);
    all
}

/// The way, files, mails, what happened.
fn more(of: &Submission, title: &str, area: Rect, look: Look) -> Lines {
    let mut all = Vec::new();
    if !of.is_whole {
        return all;
    }
    part(title, wording::way(&of.shown, cells(area)), &mut all);
    part("Files", wording::files(&of.shown), &mut all);
    part("Mails", wording::mails(&of.shown, look.now), &mut all);
    part("What happened", wording::history(&of.shown, look.now), &mut all);
    all
}

fn column(
    of: &Submission,
    number: usize,
    title: &str,
    all: Lines,
    frame: &mut Frame<'_>,
    area: Rect,
    look: Look,
) {
    let title = cut(title, cells(area));
    let inner = framed(frame, area, title.trim(), of.pane == number, look.theme);
    of.panes_at[number].set(area);
    text_in(frame, inner, &all, &of.tops[number], 1, look.theme);
}
