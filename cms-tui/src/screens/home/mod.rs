//! Home: what needs attention, and where to go.

mod needs;

use std::collections::{BTreeMap, BTreeSet};

use super::prelude::*;
use crate::actions::{ACTIONS, Action, find};

/// Columns of the list of places.
const PLACES: u16 = 30;

/// The screen.
#[derive(Default)]
pub(crate) struct Home {
    list: List,
    /// The slots of the probes that the user may make; None: the user is not known yet.
    probes: Option<BTreeSet<u8>>,
    /// By slot: what each probe found.
    found: BTreeMap<u8, Vec<Row>>,
    faults: BTreeMap<u8, String>,
    /// Whether the user may not make some of the probes.
    is_part: bool,
    now: i64,
}

impl Home {
    fn arrange(&mut self) -> bool {
        let mut rows: Vec<Row> = self.found.values().flatten().cloned().collect();
        let looked = self.found.keys().chain(self.faults.keys()).collect::<BTreeSet<_>>().len();
        let all = self.probes.as_ref().map_or(needs::PROBES.len(), BTreeSet::len);
        if rows.is_empty() && looked == all {
            let is_whole = !self.is_part && !self.faults.values().any(String::is_empty);
            let say = if is_whole {
                "Nothing needs attention."
            } else {
                "Nothing that you may see needs attention."
            };
            rows.push(Row { id: "well".to_owned(), json: json!({"say": say, "role": "good"}) });
        }
        rows.sort_by_key(|row| row.json["rank"].as_i64().unwrap_or(9));
        self.list.replace(rows)
    }
}

impl Screen for Home {
    fn noun(&self) -> &'static str {
        "home"
    }

    fn title(&self) -> String {
        "Home".to_owned()
    }

    fn load(&mut self) -> Step {
        let ask = |slot: &u8| {
            let probe = needs::PROBES.get(usize::from(*slot))?;
            Some((probe.ask)().slot(*slot))
        };
        Step::Several(self.probes.iter().flatten().filter_map(ask).collect())
    }

    fn meet(&mut self, _: &str, rights: Option<&[String]>) {
        let may = (0u8..).zip(&needs::PROBES).filter(|(_, probe)| probe.is_allowed(rights));
        let probes: BTreeSet<u8> = may.map(|(slot, _)| slot).collect();
        let meant = needs::PROBES.iter().filter(|probe| probe.is_for(rights)).count();
        self.is_part = probes.len() < meant;
        self.found.retain(|slot, _| probes.contains(slot));
        self.faults.retain(|slot, _| probes.contains(slot));
        if self.probes.as_ref().is_some_and(|before| *before != probes) {
            // Another user: the cursor starts at the top.
            self.list = List::default();
        }
        self.probes = Some(probes);
    }

    fn take(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        let Some(probe) = needs::PROBES.get(usize::from(slot)) else { return (Step::None, false) };
        let before = self.faults.get(&slot).cloned();
        match outcome {
            Ok(reply) => {
                self.faults.remove(&slot);
                self.found.insert(slot, (probe.read)(&reply, self.now));
            }
            // Callers that may not look there have nothing to do there.
            Err(fault)
                if fault.code == "permission_denied" || fault.code == "api_key_forbidden" =>
            {
                self.found.remove(&slot);
                self.faults.insert(slot, String::new());
            }
            Err(fault) => {
                self.faults.insert(slot, fault.detail);
            }
        }
        let fresh = self.arrange();
        (Step::None, fresh || self.faults.get(&slot) != before.as_ref())
    }

    fn list(&self) -> Option<&List> {
        Some(&self.list)
    }

    fn move_list(&mut self, verb: &str) -> Step {
        match verb {
            "open" => self.row().map(go).unwrap_or_default(),
            "down" | "up" | "first" | "last" | "half_down" | "half_up" => {
                self.list.act(verb);
                Step::None
            }
            _ => Step::None,
        }
    }

    fn click(&mut self, at: Position) -> Clicked {
        match self.list.hit(at) {
            Hit::Row(row) if row == self.list.at() => Clicked::Again,
            Hit::Row(row) => {
                self.list.go(row);
                Clicked::Moved(Box::default())
            }
            Hit::Head(_) | Hit::Nothing => Clicked::Nothing,
        }
    }

    fn tick(&mut self, now: i64) {
        self.now = now;
    }

    fn poll_s(&self) -> i64 {
        10
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let [left, right] = if area.width >= 80 {
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(PLACES)]).areas(area)
        } else {
            Layout::vertical([Constraint::Fill(1), Constraint::Length(0)]).areas(area)
        };
        self.draw_needs(frame, left, look);
        draw_places(frame, right, look);
    }
}

/// Opens the screen where a row's problem can be solved.
fn go(row: &Json) -> Step {
    let text = |name: &str| row[name].as_str().unwrap_or_default();
    let Some(place) = find(&format!("go.{}", text("go"))) else { return Step::None };
    Step::Open(Place::of(place.verb()).filtered(text("filter")).at(text("at")))
}

impl Home {
    fn draw_needs(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let theme = look.theme;
        let inner = framed(frame, area, "What needs attention", true, theme);
        let (height, cells) = (usize::from(inner.height), usize::from(inner.width));
        let mut shown = Vec::new();
        self.list.rows_at.set(Rect { height: inner.height.saturating_sub(2), ..inner });
        for (row, is_here) in self.list.seen(height.saturating_sub(2)) {
            let (sign, role) = match row.json["role"].as_str() {
                Some("bad") => ("✗", Role::Bad),
                Some("good") => ("✓", Role::Good),
                Some("work") => ("●", Role::Plain),
                _ => ("◐", Role::Warn),
            };
            let cursor = if is_here { "▶" } else { " " };
            let say = row.json["say"].as_str().unwrap_or_default();
            let text = fitted(&format!("{cursor} {sign} {say}"), cells);
            let line = Line::styled(text, theme.style(role));
            shown.push(if is_here { line.patch_style(theme.style(Role::Cursor)) } else { line });
        }
        if self.list.window.len() == 0 && self.faults.is_empty() {
            shown.push(Line::styled("  Looking …", theme.style(Role::Quiet)));
        }
        let mut told: Vec<_> = self.faults.values().filter(|why| !why.is_empty()).collect();
        told.dedup();
        // A text that is cut in its row is shown whole below.
        let here = self.list.row().and_then(|row| row.json["say"].as_str());
        if let Some(say) = here.filter(|say| told.is_empty() && width(say) + 4 > cells) {
            shown.resize(height.saturating_sub(2), Line::default());
            let whole = wrapped(say, cells.saturating_sub(4)).into_iter().take(2);
            shown.extend(whole.map(|line| Line::from(format!("    {line}"))));
        }
        let told = told.into_iter().flat_map(|why| wrong(why, "  ", cells, theme));
        shown.extend(told.take(2));
        lines(frame, inner, shown);
    }
}

/// The first words of a place: what else it shows has no room here.
fn short(place: &Action) -> &'static str {
    let label = place.label();
    let cut = [" and ", " that "].into_iter().find_map(|word| label.split_once(word));
    cut.map_or(label, |(first, _)| first)
}

fn draw_places(frame: &mut Frame<'_>, area: Rect, look: Look) {
    if area.is_empty() {
        return;
    }
    let inner = framed(frame, area, "Go to", false, look.theme);
    let places: Vec<&Action> = ACTIONS.iter().filter(|action| action.noun() == "go").collect();
    let line = |action: &&Action| {
        let key =
            if action.keys.is_empty() { format!(":{}", action.verb()) } else { action.keys.into() };
        Line::from(format!(" {key:<10} {}", short(action)))
    };
    let named = |rest: &[&Action]| {
        let names: String = rest.iter().map(|action| format!(":{} ", action.verb())).collect();
        wrapped(&names, usize::from(inner.width).saturating_sub(1))
    };
    // The last lines name those that have none of their own.
    let height = usize::from(inner.height);
    let fits = |own: &usize| own + named(&places[*own..]).len() <= height;
    let own = (0..=places.len()).rev().find(fits).unwrap_or(0);
    let (own, rest) = places.split_at(own);
    let mut shown: Vec<_> = own.iter().map(line).collect();
    shown.extend(named(rest).into_iter().map(|names| Line::from(format!(" {names}"))));
    lines(frame, inner, shown);
}
