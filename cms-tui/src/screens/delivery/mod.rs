//! One delivery: what was sent, what came back, and all attempts of its job. `tabs` makes the
//! lines of each tab.

mod tabs;

use cms_http::wire::webhooks::{Deliveries, Read, Redeliver, Redelivery, WhichDeliveries};

use tabs::{TABS, Tab};

use super::{filter_words::fits, prelude::*};
use crate::{
    keys::Key,
    widgets::{
        draw::{filtering, search},
        input::TOO_LONG,
        list::Moved,
        pager::Pager,
        viewer::differences,
    },
};

/// Where replies go: the attempt, all attempts of its job, its webhook.
const ATTEMPT: u8 = 0;
const ATTEMPTS: u8 = 1;
const WEBHOOK: u8 = 2;

/// What the list of attempts says below.
const SAY: &str = " Space marks two, d compares them; without marks, with the attempt before";

/// The screen.
#[derive(Default)]
pub(crate) struct Delivery {
    /// The attempt: first from its list, later as read whole.
    attempt: Json,
    webhook: Json,
    /// The attempts of its job, oldest first.
    all: Vec<Row>,
    /// Those that fit the filter.
    attempts: List,
    tab: usize,
    pager: Pager,
    fault: Option<String>,
    now: i64,
}

/// One attempt with what was sent.
pub(crate) fn attempt(id: i64) -> Result<Calling, Fault> {
    get::<Deliveries>(&WhichDeliveries { id: Some(id), ..WhichDeliveries::default() })
}

/// All attempts of a job, newest first.
pub(crate) fn attempts(job: Option<i64>) -> Result<Calling, Fault> {
    get::<Deliveries>(&WhichDeliveries { job, limit: Limit(500), ..WhichDeliveries::default() })
}

/// These, to be sent again.
pub(crate) fn named(ids: Vec<i64>) -> Redelivery {
    Redelivery { ids: Some(ids), filter: None, expected: None }
}

/// Says how many are queued again.
pub(crate) fn queued(reply: Reply) -> Step {
    let jobs = usize::try_from(reply.data["queued"].as_i64().unwrap_or(0)).unwrap_or(0);
    Step::did(format!("{} queued again, with the same event and body", count(jobs, "delivery")))
}

impl Delivery {
    pub(crate) fn new(attempt: Json) -> Self {
        let mut attempts = List::default();
        attempts.look_for(&acts::id(&attempt).to_string());
        Self { attempt, attempts, ..Self::default() }
    }

    fn tab(&self) -> Tab {
        TABS[self.tab]
    }

    fn go_to_tab(&mut self, tab: usize) {
        self.tab = tab % TABS.len();
        self.attempts.is_filtering = false;
        self.pager.reset();
    }

    /// The two marked attempts, else the one under the cursor and the one before it.
    fn diff(&self) -> Step {
        let marked: Vec<i64> = self.attempts.marked().into_iter().map(acts::id).collect();
        match marked[..] {
            [one, other] => compare(one.min(other), one.max(other)),
            [] | [_] => {
                let here = acts::id(&self.attempt);
                let at = self.all.iter().position(|row| acts::id(&row.json) == here);
                match at.and_then(|at| self.all.get(at.checked_sub(1)?)) {
                    Some(before) => compare(acts::id(&before.json), here),
                    None => Step::tell("This job had no attempt before."),
                }
            }
            _ => Step::tell("Mark two attempts, not more."),
        }
    }

    /// What the tab shows, if it is no list.
    fn text(&self) -> Lines {
        let mut all = tabs::lines(self.tab(), &self.attempt, &self.webhook, self.now);
        if let Some(fault) = &self.fault {
            all.insert(0, (Role::Bad, format!("✗ {}", safe(fault))));
        }
        all
    }

    /// Shows the attempts that fit the filter. Returns whether anything changed.
    fn filter_here(&mut self) -> bool {
        let wanted = self.attempts.filter.text();
        let fit = |row: &&Row| fits(wanted, &tabs::attempt_line(&row.json, self.now).0);
        let rows = self.all.iter().filter(fit).cloned().collect();
        self.attempts.replace(rows)
    }

    fn moved(&mut self, moved: &Moved) -> Step {
        match moved {
            Moved::Along => self.choose(),
            Moved::Filtered => {
                self.attempts.restart();
                self.attempts.look_for(&acts::id(&self.attempt).to_string());
                self.filter_here();
                if self.attempts.is_lost() {
                    self.attempts.go(0);
                }
                self.choose()
            }
            Moved::Here | Moved::No => Step::None,
        }
    }

    /// Reads the attempt under the cursor.
    fn choose(&mut self) -> Step {
        let Some(row) = self.attempts.row() else { return Step::None };
        if acts::id(&row.json) == acts::id(&self.attempt) {
            return Step::None;
        }
        self.attempt = row.json.clone();
        self.pager.reset();
        attempt(acts::id(&self.attempt)).slot(ATTEMPT)
    }
}

impl Screen for Delivery {
    fn noun(&self) -> &'static str {
        "delivery"
    }

    fn title(&self) -> String {
        format!("Delivery {}", acts::id(&self.attempt))
    }

    fn subject(&self) -> &Json {
        &self.attempt
    }

    fn load(&mut self) -> Step {
        let hook = OneOrList { id: self.attempt["subscription"].as_i64(), ..OneOrList::default() };
        let job = self.attempt["queue_id"].as_i64();
        let mut steps = vec![attempts(job).slot(ATTEMPTS)];
        // A sent attempt never changes, so it is read once.
        if self.attempt.get("removed").is_none() {
            steps.push(attempt(acts::id(&self.attempt)).slot(ATTEMPT));
        }
        if self.webhook.is_null() {
            steps.push(get::<Read>(&hook).slot(WEBHOOK));
        }
        Step::Several(steps)
    }

    fn take(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        match (slot, outcome) {
            (ATTEMPT, Ok(reply)) => {
                self.fault = None;
                self.attempt = reply.data;
            }
            (ATTEMPTS, Ok(reply)) => {
                let rows = items(&reply.data).iter().rev().cloned();
                let row = |json: Json| Row { id: acts::id(&json).to_string(), json };
                self.all = rows.map(row).collect();
                return (Step::None, self.filter_here());
            }
            (WEBHOOK, Ok(reply)) => self.webhook = reply.data,
            // The webhook may have been deleted; the attempt can still be shown.
            (WEBHOOK, Err(_)) => {}
            (_, Ok(_)) => return (Step::None, false),
            (_, Err(fault)) => self.fault = Some(fault.detail),
        }
        (Step::None, true)
    }

    fn is_read(&mut self, slot: u8) -> bool {
        slot != WEBHOOK
    }

    fn act(&mut self, verb: &str, _: &Scene<'_>) -> Step {
        match verb {
            "tab" => self.go_to_tab(self.tab + 1),
            "tab_back" => self.go_to_tab(self.tab + TABS.len() - 1),
            "search" if self.tab() == Tab::Attempts => self.attempts.is_filtering = true,
            "search_next" | "search_before" | "wrap" if self.tab() == Tab::Attempts => {
                let say = match verb {
                    "wrap" => "This tab is a list: its lines are not wrapped.",
                    _ => "What / finds here is all that the list shows: j and k walk through it.",
                };
                return Step::tell(say);
            }
            // Attempts that the filter hides are not meant.
            "diff" | "redeliver" | "payload"
                if self.row().is_none() && (verb != "diff" || self.attempts.marks.len() < 2) =>
            {
                return Step::tell("No attempt is selected.");
            }
            "search" | "search_next" | "search_before" | "wrap" => {
                let all = self.text();
                self.pager.act(verb, &all);
            }
            "attempts" => {
                self.go_to_tab(TABS.iter().position(|tab| *tab == Tab::Attempts).unwrap_or(0))
            }
            "diff" => return self.diff(),
            "redeliver" => {
                let body = named(vec![acts::id(&self.attempt)]);
                return send::<Redeliver>(&NoQuery {}, &body).then(queued);
            }
            "payload" => {
                let title = format!("Body of {}", acts::id(&self.attempt));
                return Step::View(Viewer::json(title, &self.attempt["payload"]));
            }
            _ => {}
        }
        Step::None
    }

    fn row(&self) -> Option<&Json> {
        match self.tab() {
            Tab::Attempts => self.attempts.row().map(|row| &row.json),
            _ => Some(&self.attempt),
        }
    }

    fn list(&self) -> Option<&List> {
        Some(&self.attempts)
    }

    fn move_list(&mut self, verb: &str) -> Step {
        if self.tab() == Tab::Attempts {
            return match verb {
                "open" => {
                    self.go_to_tab(0);
                    Step::None
                }
                "filter" | "pane" | "zoom" | "sort" | "reverse" => Step::None,
                _ => {
                    self.attempts.act(verb);
                    self.choose()
                }
            };
        }
        self.pager.walk(verb);
        Step::None
    }

    fn key(&mut self, key: Key) -> Option<Step> {
        if self.attempts.is_filtering {
            let moved = self.attempts.filter_key(key);
            return Some(self.moved(&moved));
        }
        self.pager.typing()?;
        let all = self.text();
        self.pager.key(key, &all);
        Some(Step::None)
    }

    fn paste(&mut self, text: &str) -> Step {
        if self.attempts.is_filtering && self.attempts.filter.insert(text) {
            return self.moved(&Moved::Filtered);
        }
        let all = self.text();
        if self.attempts.is_filtering || !self.pager.paste(text, &all) {
            return Step::Fault(Fault::new(TOO_LONG));
        }
        Step::None
    }

    fn tick(&mut self, now: i64) {
        self.now = now;
    }

    fn click(&mut self, at: Position) -> Clicked {
        match self.attempts.hit(at) {
            Hit::Row(row) if self.tab() == Tab::Attempts => {
                self.attempts.go(row);
                Clicked::Moved(self.choose().into())
            }
            Hit::Head(tab) => {
                let tab = TABS.iter().position(|one| one.title() == tab);
                self.go_to_tab(tab.unwrap_or(self.tab));
                Clicked::Moved(Box::default())
            }
            _ => Clicked::Nothing,
        }
    }

    fn back(&mut self) -> Option<Step> {
        if self.pager.back() {
            return Some(Step::None);
        }
        if self.tab() != Tab::Attempts {
            return None;
        }
        let moved = self.attempts.back()?;
        Some(self.moved(&moved))
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let theme = look.theme;
        let event = plain_text(&self.attempt["event"]);
        let inner = framed(frame, area, &format!("{} · {event}", self.title()), true, theme);
        let [head, body] =
            Layout::vertical([Constraint::Length(2), Constraint::Fill(1)]).areas(inner);
        self.draw_tabs(frame, head, look);
        if self.tab() == Tab::Attempts {
            return self.draw_attempts(frame, body, look);
        }
        let cells = usize::from(body.width);
        let foot = search(&self.pager, cells, theme);
        let height = usize::from(body.height).saturating_sub(usize::from(foot.is_some()));
        let mut shown = self.pager.draw(&self.text(), (cells, height), theme);
        if let Some(foot) = foot {
            shown.resize(height, Line::default());
            shown.push(foot);
        }
        lines(frame, body, shown);
    }
}

impl Delivery {
    fn draw_tabs(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let (mut spans, mut heads, mut x) = (vec![Span::raw(" ")], Vec::new(), area.x + 1);
        for (n, tab) in TABS.iter().enumerate() {
            let text = format!(" {} ", tab.title());
            let wide = text.len() as u16;
            heads.push((Rect::new(x, area.y, wide, 1), tab.title().to_owned()));
            x += wide;
            let role = if n == self.tab { Role::Cursor } else { Role::Quiet };
            spans.push(Span::styled(text, look.theme.style(role)));
        }
        self.attempts.heads_at.replace(heads);
        lines(frame, area, vec![Line::from(spans)]);
    }

    fn draw_attempts(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let (theme, cells) = (look.theme, usize::from(area.width));
        let head = "   TRY TIME        OUTCOME        CODE       MS  ";
        let mut shown = vec![Line::styled(head, theme.style(Role::Title))];
        let height = usize::from(area.height).saturating_sub(2);
        let rows = Rect { y: area.y + 1, height: height as u16, ..area };
        self.attempts.rows_at.set(rows);
        for (row, is_here) in self.attempts.seen(height) {
            let (text, role) = tabs::attempt_line(&row.json, look.now);
            let mark = if self.attempts.marks.contains_key(&row.id) { "✓" } else { " " };
            let sign = if is_here { "▶" } else { " " };
            let line =
                Line::styled(fitted(&format!("{sign}{mark} {text}"), cells), theme.style(role));
            shown.push(if is_here { line.patch_style(theme.style(Role::Cursor)) } else { line });
        }
        shown.resize(height + 1, Line::default());
        shown.push(match &self.attempts {
            List { is_filtering: true, filter, .. } => filtering(filter, cells, theme),
            list => {
                let (fit, all) = (list.window.len(), self.all.len());
                let say = match list.filter.text() {
                    "" => SAY.to_owned(),
                    filter => format!(" {fit} of {all} fit {}: Esc shows all", safe(filter)),
                };
                Line::styled(cut(&say, cells).into_owned(), theme.style(Role::Quiet))
            }
        });
        lines(frame, area, shown);
    }
}

/// Reads both, then shows what differs, member by member.
pub(crate) fn compare(before: i64, after: i64) -> Step {
    attempt(before).then(move |old| {
        attempt(after).then(move |new| {
            let title = format!("Attempt {before} → {after}");
            Step::View(Viewer::new(title, differences(&old.data, &new.data)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(id: i64, status: &str) -> Json {
        json!({"id": id, "queue_id": 9, "attempt": id, "status": status, "removed": []})
    }

    /// At the tab of the attempts, on the second of three.
    fn opened() -> Delivery {
        let mut screen = Delivery::new(one(2, "failed"));
        let all = json!([one(3, "delivered"), one(2, "failed"), one(1, "failed")]);
        screen.take(ATTEMPTS, Ok(Reply { data: all, ..Reply::default() }));
        screen.act("attempts", &Scene::default());
        screen
    }

    /// Types behind `/`. Returns the calls that were made.
    fn typed(screen: &mut Delivery, text: &str) -> Vec<String> {
        screen.act("search", &Scene::default());
        let mut lines = Vec::new();
        for c in text.chars() {
            let key = c.to_string().parse().expect("a key");
            match screen.key(key).expect("the key is typed") {
                Step::Call(call) => lines.push(call.ask.line()),
                Step::None => {}
                _ => panic!("{c} was a command"),
            }
        }
        lines
    }

    fn ids(screen: &Delivery) -> Vec<&str> {
        screen.attempts.window.rows().map(|row| row.id.as_str()).collect()
    }

    #[test]
    fn letters_behind_a_search_filter_the_attempts() {
        let mut screen = opened();
        // Each of them is a command of this screen, too.
        let calls = typed(&mut screen, "wrdca");
        assert_eq!((calls, ids(&screen).len(), screen.row()), (Vec::new(), 0, None));
        for verb in ["diff", "redeliver", "payload"] {
            let step = screen.act(verb, &Scene::default());
            assert!(matches!(step, Step::Tell(_)), "{verb} has no attempt");
        }
        screen.key("Esc".parse().expect("a key"));
        assert_eq!((ids(&screen).len(), acts::id(&screen.attempt)), (3, 2));
        assert!(screen.back().is_none());
    }

    #[test]
    fn the_attempt_that_fits_is_chosen() {
        let mut screen = opened();
        let calls = typed(&mut screen, "deliv");
        assert!(calls.iter().all(|line| line.starts_with("GET ")), "{calls:?}");
        assert_eq!((ids(&screen), acts::id(&screen.attempt)), (vec!["3"], 3));
        // The one before it is compared, though it is not shown.
        let Step::Call(call) = screen.act("diff", &Scene::default()) else { panic!("no call") };
        assert!(call.ask.line().contains("id=2"), "{}", call.ask.line());
        let enter = "Enter".parse().expect("a key");
        screen.key(enter);
        assert!(screen.key(enter).is_none(), "Enter ends the line");
        assert!(matches!(screen.act("search_next", &Scene::default()), Step::Tell(_)));
        // Another tab is searched as a text.
        screen.act("tab", &Scene::default());
        screen.act("search", &Scene::default());
        assert!(!screen.attempts.is_filtering && screen.pager.typing().is_some());
    }
}
