//! One submission: who it is, what was answered, the way that it took, files, mails, notes. It has
//! one column, or two on wide screens.

use std::{cell::Cell, path::PathBuf};

use cms_http::{
    client::Ask,
    wire::{
        NoBody,
        funnel_logic::{RoutingTest, RoutingTrial},
        funnels::WhichFunnel,
        inbox::{StoredFile, WhichStoredFile},
    },
};

use super::{inbox, prelude::*};
use crate::{
    screens::inbox::{at_home, wording},
    step::Saving,
};

/// Where replies go.
const WHOLE: u8 = 0;

/// The screen.
#[derive(Default)]
pub(crate) struct Submission {
    /// As its list showed it, then as it was read.
    shown: Json,
    is_whole: bool,
    fault: Option<String>,
    /// The column that keys move: 0 or 1.
    pane: usize,
    tops: [Cell<usize>; 2],
    panes_at: [Cell<Rect>; 2],
    /// It has no rows; the keys of lists move it all the same.
    none: List,
}

impl Submission {
    pub(crate) fn new(row: Json) -> Self {
        Self { shown: row, ..Self::default() }
    }

    fn go_to(&mut self, row: Json) -> Step {
        (self.shown, self.is_whole, self.fault) = (row, false, None);
        self.tops.iter().for_each(|top| top.set(0));
        self.load()
    }

    fn scroll(&mut self, verb: &str) {
        let top = &self.tops[self.pane];
        let at = top.get();
        top.set(match verb {
            "down" => at + 1,
            "up" => at.saturating_sub(1),
            "half_down" => at + 10,
            "half_up" => at.saturating_sub(10),
            "first" => 0,
            "last" => usize::MAX / 2,
            _ => at,
        });
    }
}

impl Screen for Submission {
    fn noun(&self) -> &'static str {
        "submission"
    }

    fn title(&self) -> String {
        format!("{} · {}", inbox::name(&self.shown), inbox::id(&self.shown))
    }

    fn subject(&self) -> &Json {
        &self.shown
    }

    fn load(&mut self) -> Step {
        inbox::whole(&self.shown).slot(WHOLE)
    }

    fn take(&mut self, _: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        match outcome {
            Ok(reply) => {
                let changed = !self.is_whole || self.fault.is_some() || self.shown != reply.data;
                (self.shown, self.is_whole, self.fault) = (reply.data, true, None);
                (Step::None, changed)
            }
            Err(fault) => {
                if fault.is_forbidden() {
                    (self.shown, self.is_whole) = (Json::Null, false);
                }
                self.fault = Some(fault.detail);
                (Step::None, true)
            }
        }
    }

    fn act(&mut self, verb: &str, scene: &Scene<'_>) -> Step {
        match verb {
            "next" => Step::Neighbour(1),
            "before" => Step::Neighbour(-1),
            verb if inbox::is_shared(verb) => inbox::act(verb, scene),
            verb => act(verb, &self.shown, scene),
        }
    }

    fn row(&self) -> Option<&Json> {
        (!self.shown.is_null() && self.fault.is_none()).then_some(&self.shown)
    }

    fn list(&self) -> Option<&List> {
        Some(&self.none)
    }

    fn move_list(&mut self, verb: &str) -> Step {
        match verb {
            "pane" => self.pane = 1 - self.pane,
            _ => self.scroll(verb),
        }
        Step::None
    }

    fn show(&mut self, row: Json) -> Step {
        self.go_to(row)
    }

    fn click(&mut self, at: Position) -> Clicked {
        let Some(pane) = self.panes_at.iter().position(|area| area.get().contains(at)) else {
            return Clicked::Nothing;
        };
        self.pane = pane;
        Clicked::Moved(Box::default())
    }

    fn follows(&self, event: &str) -> bool {
        event.starts_with("formfunnel.")
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        draw(self, frame, area, look);
    }
}

/// From this width on there are two columns.
const TWO: u16 = 96;

fn draw(of: &Submission, frame: &mut Frame<'_>, area: Rect, look: Look) {
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

fn act(verb: &str, of: &Json, scene: &Scene<'_>) -> Step {
    match verb {
        "files" => files(of),
        "mails" => mails(of, scene.now),
        "deliveries" => deliveries(of),
        "why" => why(of),
        _ => Step::None,
    }
}

fn files(of: &Json) -> Step {
    let files = items(&of["files"]).to_vec();
    let entries: Vec<_> = wording::files(of).into_iter().map(|(_, line)| line).collect();
    match files.len() {
        0 => Step::tell("The visitor sent no file."),
        1 => save(&files[0]),
        _ => Step::Menu(Menu::new("Save which file?", entries, move |n| {
            files.get(n).map(save).unwrap_or_default()
        })),
    }
}

fn save(file: &Json) -> Step {
    let key = file["file"].as_str().unwrap_or_default().to_owned();
    let name = file_name(file["name"].as_str().unwrap_or_default());
    let path = Field::text("path", "File", &format!("./{name}"));
    let note = "A visitor sent it: it may be anything. A file that is there already stays.";
    let title = format!("Save {}", safe(&name));
    Form::new(title, vec![path.hint("~ is your home").required()], move |values| {
        let path = path_for(&values.text("path"), &name);
        match Ask::of::<StoredFile>(&WhichStoredFile { file: key.clone() }, &NoBody) {
            Ok(ask) => Step::Save(Saving { ask, path }),
            Err(error) => Step::Fault(Fault::from(error)),
        }
    })
    .note(note)
    .step()
}

/// The path that was typed; in a folder, under the file's own name.
fn path_for(typed: &str, name: &str) -> PathBuf {
    let path = at_home(typed);
    if typed.ends_with('/') || path.is_dir() { path.join(name) } else { path }
}

/// What the visitor called it, as a name that leads nowhere else and hides nothing.
fn file_name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let fits = |c: &char| !c.is_control() && !cms_http::plain::is_hidden(*c) && *c != ':';
    let name: String = last.chars().filter(fits).take(120).collect();
    let name = name.trim().trim_start_matches(['.', '-', '~']);
    if name.is_empty() { "file".to_owned() } else { name.to_owned() }
}

/// One opens at once; of several a menu asks which.
fn mails(of: &Json, now: i64) -> Step {
    let mails = items(&of["mails"]).to_vec();
    match &mails[..] {
        [] => Step::tell("It caused no mail."),
        [only] => mail(only),
        _ => {
            let entries = mails.iter().map(|one| wording::mail(one, now).1).collect();
            let title = format!("Mails of {}", inbox::name(of));
            Step::Menu(Menu::new(title, entries, move |n| {
                mails.get(n).map(mail).unwrap_or_default()
            }))
        }
    }
}

/// It alone in the log, where it can be read and sent again.
fn mail(one: &Json) -> Step {
    Step::Open(Place::of("mail").filtered(format!("id:{}", one["id"])))
}

/// Those of the events of this visit, and of no other.
fn deliveries(of: &Json) -> Step {
    Step::Open(Place::of("deliveries").filtered(format!("submission:{}", inbox::id(of))))
}

/// Tries the mail rules, as they are now, on the answers.
fn why(of: &Json) -> Step {
    let answer =
        |answer: &Json| Some((answer["field"].as_str()?.to_owned(), answer["value"].clone()));
    let answers: Map<String, Json> = items(&of["answers"]).iter().filter_map(answer).collect();
    let trigger = if of["status"] == "abandoned" { "abandoned" } else { "completed" };
    let body = RoutingTrial {
        funnel_id: WhichFunnel::Id(of["funnel_id"].as_i64().unwrap_or_default()),
        trigger: trigger.to_owned(),
        answers,
    };
    let (title, was) = (format!("Mail rules for {}", inbox::name(of)), of["mail_rule_id"].as_i64());
    send::<RoutingTest>(&NoQuery {}, &body)
        .then(move |reply| Step::View(Viewer::new(title, tried(&reply.data, was))))
}

fn tried(trial: &Json, was: Option<i64>) -> Lines {
    let mut lines = Vec::new();
    let then = was.map_or("no rule".to_owned(), |rule| format!("rule {rule}"));
    lines.push((Role::Plain, format!("Then {then} matched. As the rules are now:")));
    for rule in items(&trial["rules"]) {
        let is_chosen = rule["id"] == trial["chosen"];
        let (sign, role, said) = match (rule["matches"] == true, is_chosen) {
            (_, true) => ("✓", Role::Good, "matches first: it writes"),
            (true, _) => ("·", Role::Quiet, "would match too"),
            _ => ("✗", Role::Plain, "does not match"),
        };
        lines.push((role, format!("{sign} rule {} {said}", rule["id"])));
        let trace = items(&rule["trace"]).iter();
        lines.extend(trace.filter_map(ruled).map(|line| (Role::Quiet, format!("    {line}"))));
    }
    if trial["chosen"].is_null() {
        lines.push((Role::Warn, "No rule matches: no mail.".to_owned()));
    }
    for mail in items(&trial["mails"]) {
        let [kind, to, subject] = ["kind", "to", "subject"].map(|name| plain_text(&mail[name]));
        lines.push((Role::Plain, format!("✉ {kind} to {to}: {subject}")));
    }
    for why in items(&trial["skipped"]) {
        lines.extend(paragraph(Role::Warn, "", why.as_str().unwrap_or_default(), 76));
    }
    for fault in items(&trial["errors"]) {
        let [field, why] = ["field", "message"].map(|name| plain_text(&fault[name]));
        let told = format!("{field} is refused now: {why}");
        lines.extend(paragraph(Role::Warn, "", &told, 76));
    }
    lines
}

/// A rule of a condition with what it found.
fn ruled(rule: &Json) -> Option<String> {
    let field = rule["field"].as_str()?;
    let op = plain_text(&rule["op"]).replace('_', " ");
    let holds = if rule["result"] == true { "yes" } else { "no" };
    let value = if rule["value"].is_null() { String::new() } else { format!(" {}", rule["value"]) };
    let answer = match &rule["answer"] {
        Json::Null => "nothing".to_owned(),
        answer => answer.to_string(),
    };
    Some(safe(&format!("{field} {op}{value}? {holds}, it is {answer}")).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitors_name_leads_nowhere_else() {
        for (given, expected) in [
            ("roof.jpg", "roof.jpg"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\x\\bill.pdf", "bill.pdf"),
            (".bashrc", "bashrc"),
            ("-rf", "rf"),
            ("a\u{202e}gpj.exe\n", "agpj.exe"),
            ("..", "file"),
            ("", "file"),
        ] {
            assert_eq!(file_name(given), expected, "{given:?}");
        }
    }

    #[test]
    fn its_own_mails_and_deliveries_are_opened() {
        let opened = |step: Step| match step {
            Step::Open(place) => format!("{} {}", place.noun, place.filter),
            _ => panic!("nothing is opened"),
        };
        let mail = |id: i64| json!({"id": id, "to": "a@example.org", "subject": "x"});
        let of = |mails: Json| json!({"submission_id": 9, "mails": mails});
        assert_eq!(opened(deliveries(&of(json!([])))), "deliveries submission:9");
        assert_eq!(opened(mails(&of(json!([mail(4)])), 0)), "mail id:4");
        match mails(&of(json!([mail(5), mail(4)])), 0) {
            Step::Menu(menu) => {
                assert_eq!(menu.entries.len(), 2);
                assert_eq!(opened((menu.choose)(1)), "mail id:4");
            }
            _ => panic!("no question which"),
        }
        assert!(matches!(mails(&of(json!([])), 0), Step::Tell(_)));
    }

    #[test]
    fn answers_that_are_refused_are_told() {
        let fault = json!({"field": "size", "code": "max", "message": "at most 3 is expected"});
        let lines = tried(&json!({"rules": [], "chosen": null, "errors": [fault]}), None);
        let last = "size is refused now: at most 3 is expected";
        assert_eq!(lines.last().map(|(_, line)| line.as_str()), Some(last));
    }

    #[test]
    fn a_path_in_a_folder_has_the_files_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let typed = folder.path().to_str().expect("a path");
        assert_eq!(path_for(typed, "a.pdf"), folder.path().join("a.pdf"));
        assert_eq!(path_for("/no/such/", "a.pdf"), PathBuf::from("/no/such/a.pdf"));
        assert_eq!(path_for("b.pdf", "a.pdf"), PathBuf::from("b.pdf"));
    }
}
