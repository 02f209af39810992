//! One delivery: what was sent, what came back, and all attempts of its job. `tabs` has the lines
//! of each tab.

mod tabs;

use cms_http::wire::{
    parameters::{Limit, NoQuery, OneOrList},
    webhooks::{Deliveries, Read, Redeliver, Redelivery, WhichDeliveries},
};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Position, Rect},
    text::{Line, Span},
};
use serde_json::Value as Json;

use tabs::{TABS, Tab};

use super::{Clicked, Look, Screen, acts, cells::plain_text};
use crate::{
    actions::Scene,
    calls::{Fault, Reply},
    keys::Key,
    step::{Calling, Step, get, send},
    text::{count, cut, fitted, safe},
    theme::Role,
    widgets::{
        draw::{lines, pane, search},
        list::{Hit, List},
        pager::Pager,
        viewer::{Viewer, differences},
        window::Row,
    },
};

/// Where replies go: the attempt, all attempts of its job, its webhook.
const ATTEMPT: u8 = 0;
const ATTEMPTS: u8 = 1;
const WEBHOOK: u8 = 2;

/// The screen.
pub(crate) struct Delivery {
    /// The attempt as its list showed it, then as it was read.
    attempt: Json,
    webhook: Json,
    /// The attempts of its job, oldest first.
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

/// Says how many are sent again.
pub(crate) fn queued(reply: Reply) -> Step {
    let jobs = usize::try_from(reply.data["queued"].as_i64().unwrap_or(0)).unwrap_or(0);
    Step::did(format!("{} sent again, with the same event and body", count(jobs, "delivery")))
}

impl Delivery {
    pub(crate) fn new(attempt: Json) -> Self {
        let mut attempts = List::default();
        attempts.look_for(&acts::id(&attempt).to_string());
        let webhook = Json::Null;
        Self { attempt, webhook, attempts, tab: 0, pager: Pager::default(), fault: None, now: 0 }
    }

    fn tab(&self) -> Tab {
        TABS[self.tab]
    }

    fn go_to_tab(&mut self, tab: usize) {
        self.tab = tab % TABS.len();
        self.pager.reset();
    }

    /// The two marked attempts, else the one under the cursor and the one before it.
    fn diff(&self) -> Step {
        let marked: Vec<i64> = self.attempts.marked().into_iter().map(acts::id).collect();
        match marked[..] {
            [one, other] => compare(one.min(other), one.max(other)),
            [] | [_] => {
                let at = self.attempts.at();
                let id = |at: usize| self.attempts.window.get(at).map(|row| acts::id(&row.json));
                match (at.checked_sub(1).and_then(id), id(at)) {
                    (Some(before), Some(here)) => compare(before, here),
                    _ => Step::Tell("This job had no attempt before.".to_owned()),
                }
            }
            _ => Step::Tell("Mark two attempts, not more.".to_owned()),
        }
    }

    /// What the tab shows, if it is no list.
    fn text(&self) -> Vec<(Role, String)> {
        let mut all = tabs::lines(self.tab(), &self.attempt, &self.webhook, self.now);
        if let Some(fault) = &self.fault {
            all.insert(0, (Role::Bad, format!("✗ {}", safe(fault))));
        }
        all
    }

    /// Reads the attempt under the cursor.
    fn choose(&mut self) -> Step {
        let Some(row) = self.attempts.row() else { return Step::None };
        if acts::id(&row.json) == acts::id(&self.attempt) {
            return Step::None;
        }
        self.attempt = row.json.clone();
        self.pager.reset();
        attempt(acts::id(&self.attempt)).map(|call| call.slot(ATTEMPT)).into()
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
        let mut steps = vec![attempts(job).map(|call| call.slot(ATTEMPTS)).into()];
        // What was sent never changes.
        if self.attempt.get("removed").is_none() {
            steps.push(attempt(acts::id(&self.attempt)).map(|call| call.slot(ATTEMPT)).into());
        }
        if self.webhook.is_null() {
            steps.push(get::<Read>(&hook).map(|call| call.slot(WEBHOOK)).into());
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
                let rows = reply.data.as_array().cloned().unwrap_or_default().into_iter().rev();
                let row = |json: Json| Row { id: acts::id(&json).to_string(), json };
                return (Step::None, self.attempts.replace(rows.map(row).collect()));
            }
            (WEBHOOK, Ok(reply)) => self.webhook = reply.data,
            // Its webhook may be gone; what was sent is there all the same.
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
            "search" | "search_next" | "search_before" | "wrap" if self.tab() == Tab::Attempts => {
                let say = match verb {
                    "wrap" => "This tab is a list: its lines are not wrapped.",
                    _ => "This list has no search: j and k walk through it.",
                };
                return Step::Tell(say.to_owned());
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
                return send::<Redeliver>(&NoQuery {}, &body).map(|call| call.then(queued)).into();
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
        self.pager.typing()?;
        let all = self.text();
        self.pager.key(key, &all);
        Some(Step::None)
    }

    fn paste(&mut self, text: &str) -> Step {
        let all = self.text();
        self.pager.paste(text, &all);
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
        self.attempts.back().map(|_| Step::None)
    }

    fn poll_s(&self) -> i64 {
        5
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let theme = look.theme;
        let event = plain_text(&self.attempt["event"]);
        let block = pane(&format!("{} · {event}", self.title()), true, theme);
        let inner = block.inner(area);
        frame.render_widget(block, area);
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
        let top = self.attempts.top_for(height);
        let rows = Rect { y: area.y + 1, height: height as u16, ..area };
        self.attempts.rows_at.set(rows);
        for at in top..top + height {
            let Some(row) = self.attempts.window.get(at) else { break };
            let (text, role) = tabs::attempt_line(&row.json, look.now);
            let is_here = at == self.attempts.at();
            let mark = if self.attempts.marks.contains_key(&row.id) { "✓" } else { " " };
            let sign = if is_here { "▶" } else { " " };
            let line =
                Line::styled(fitted(&format!("{sign}{mark} {text}"), cells), theme.style(role));
            shown.push(if is_here { line.patch_style(theme.style(Role::Cursor)) } else { line });
        }
        shown.resize(height + 1, Line::default());
        let say = " Space marks two, d compares them; without marks, with the attempt before";
        shown.push(Line::styled(cut(say, cells).into_owned(), theme.style(Role::Quiet)));
        lines(frame, area, shown);
    }
}

/// Reads both, then shows what differs, member by member.
pub(crate) fn compare(before: i64, after: i64) -> Step {
    let call = attempt(before).map(|call| {
        call.then(move |old| {
            let call = attempt(after).map(|call| {
                call.then(move |new| {
                    let title = format!("Attempt {before} → {after}");
                    Step::View(Viewer::new(title, differences(&old.data, &new.data)))
                })
            });
            call.into()
        })
    });
    call.into()
}
