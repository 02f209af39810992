//! The rights of a key as a matrix: a row for each endpoint, a column for each method.

use std::collections::{BTreeMap, BTreeSet};

use cms_http::wire::keys::{Endpoints, Read};

use super::{
    act, right_text,
    rights::{Call, Granted, Methods, as_right, call_of, changed, granted, merged, without},
};
use crate::screens::prelude::*;

const METHODS: [&str; 4] = ["GET", "POST", "PATCH", "DELETE"];
const KEY: u8 = 0;
const KNOWN: u8 = 1;

/// The screen.
#[derive(Default)]
pub(crate) struct Matrix {
    key: Json,
    known: Vec<Json>,
    /// Methods granted now, and those wanted.
    now: Granted,
    want: Granted,
    list: List,
    column: usize,
    /// Esc was pressed once over unsaved changes.
    is_leaving: bool,
    fault: Option<String>,
}

impl Matrix {
    pub(crate) fn new(key: Json) -> Self {
        let now = granted(&key);
        let mut matrix = Self { key, want: now.clone(), now, ..Self::default() };
        matrix.arrange();
        matrix
    }

    /// The rows: everything, then each endpoint, below it the rows that fix parameters.
    fn arrange(&mut self) {
        let mut calls: BTreeSet<Call> = self.now.keys().chain(self.want.keys()).cloned().collect();
        calls.insert(("*".to_owned(), BTreeMap::new()));
        calls.extend(self.known.iter().map(call_of));
        let rows = calls.into_iter().map(|(endpoint, query)| {
            let json = json!({"endpoint": endpoint, "query": query});
            Row { id: json.to_string(), json }
        });
        self.list.replace(rows.collect());
    }

    /// The methods of an endpoint, or of one action of it; one cell for "everything".
    fn offered(&self, (endpoint, query): &Call) -> Methods {
        if endpoint == "*" {
            return Methods::from(["GET".to_owned()]);
        }
        let action = query.get("action");
        let is_one = |row: &&Json| {
            let (own, is_here) = (&row["query"]["action"], row["endpoint"] == *endpoint);
            is_here && (own.is_null() || action.is_none_or(|action| own == action))
        };
        let rows = self.known.iter().filter(is_one);
        let methods = rows.filter_map(|row| row["methods"].as_array()).flatten();
        methods.filter_map(Json::as_str).map(str::to_owned).collect()
    }

    fn toggle(&mut self) -> Step {
        let Some(row) = self.list.row() else { return Step::None };
        let call = call_of(&row.json);
        let method = METHODS[self.column].to_owned();
        if !self.offered(&call).contains(&method) {
            return Step::Tell(format!("{} has no {method}.", call.0));
        }
        let methods = self.want.entry(call).or_default();
        if !methods.remove(&method) {
            methods.insert(method);
        }
        self.want.retain(|_, methods| !methods.is_empty());
        Step::None
    }

    /// What would change: signs and rights.
    fn pending(&self) -> Vec<(char, String)> {
        let lines = |sign, rights: Granted| {
            let text = |(call, methods)| (sign, right_text(&as_right(&call, &methods)));
            rights.into_iter().map(text).collect::<Vec<_>>()
        };
        let mut pending = lines('-', without(&self.now, &self.want));
        pending.extend(lines('+', without(&self.want, &self.now)));
        pending
    }

    fn save(&mut self) -> Step {
        if self.pending().is_empty() {
            return Step::tell("No right is different.");
        }
        let change = changed(self.key.clone(), &self.now, &self.want);
        Act::one(change, "has its new rights", "").step()
    }

    /// Adds a row that fixes parameters, such as one table.
    fn add(&self) -> Step {
        let endpoint = self.list.row().and_then(|row| row.json["endpoint"].as_str());
        let example = format!("GET {}?table=", endpoint.unwrap_or("/api/backend/item"));
        let field = Field::text("right", "Right", &example).hint("METHODS PATH?NAME=VALUE");
        Form::new("Add a right", vec![field.required()], |values| {
            Step::Set("right", values.text("right"))
        })
        .step()
    }
}

impl Screen for Matrix {
    fn noun(&self) -> &'static str {
        "rights"
    }

    fn title(&self) -> String {
        format!("Rights of {}", acts::name(&self.key))
    }

    fn subject(&self) -> &Json {
        &self.key
    }

    fn load(&mut self) -> Step {
        let known = Listing { limit: Limit(500), ..Listing::default() };
        Step::Several(vec![
            acts::again::<Read>(&self.key).slot(KEY),
            get::<Endpoints>(&known).slot(KNOWN),
        ])
    }

    fn take(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        match outcome {
            Err(fault) => {
                if fault.is_forbidden() {
                    (self.known, self.key) = Default::default();
                    self.arrange();
                }
                self.fault = Some(fault.detail);
                return (Step::None, true);
            }
            // Unsaved cells are kept, on top of what others changed.
            Ok(reply) if slot == KEY => {
                self.key = reply.data;
                let now = granted(&self.key);
                self.want = merged(&self.now, &self.want, &now);
                self.now = now;
            }
            Ok(reply) => {
                self.fault = None;
                self.known = items(&reply.data).to_vec();
            }
        }
        self.arrange();
        (Step::None, true)
    }

    fn is_read(&mut self, slot: u8) -> bool {
        slot == KEY
    }

    fn act(&mut self, verb: &str, _: &Scene<'_>) -> Step {
        self.is_leaving = false;
        match verb {
            "toggle" => self.toggle(),
            "left" => {
                self.column = self.column.saturating_sub(1);
                Step::None
            }
            "right" => {
                self.column = (self.column + 1).min(METHODS.len() - 1);
                Step::None
            }
            "add" => self.add(),
            "save" => self.save(),
            "check" => act::check(&self.key),
            _ => Step::None,
        }
    }

    fn list(&self) -> Option<&List> {
        Some(&self.list)
    }

    fn move_list(&mut self, verb: &str) -> Step {
        if matches!(verb, "filter" | "range" | "mark_all") {
            return Step::None;
        }
        self.is_leaving = false;
        self.list.act(verb);
        Step::None
    }

    fn click(&mut self, at: Position) -> Clicked {
        let Hit::Row(row) = self.list.hit(at) else { return Clicked::Nothing };
        self.list.go(row);
        Clicked::Moved(Box::default())
    }

    fn set(&mut self, what: &str, value: &str) -> Step {
        if what == "right" {
            match act::right(value) {
                Ok(right) => {
                    let methods = granted(&json!({"rights": [right]}));
                    for (call, methods) in methods {
                        self.want.entry(call).or_default().extend(methods);
                    }
                    self.arrange();
                }
                Err(why) => return Step::Fault(Fault::at("right", why)),
            }
        }
        Step::None
    }

    fn back(&mut self) -> Option<Step> {
        if self.want == self.now {
            return None;
        }
        if std::mem::take(&mut self.is_leaving) {
            self.want = self.now.clone();
            self.arrange();
            return Some(Step::tell("What was not saved is forgotten."));
        }
        self.is_leaving = true;
        let changes = count(self.pending().len(), "unsaved change");
        Some(Step::Tell(format!("Esc again throws {changes} away.")))
    }

    fn is_unsaved(&self) -> bool {
        self.want != self.now
    }

    fn poll_s(&self) -> i64 {
        30
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let theme = look.theme;
        let pending = self.pending();
        let mut title = self.title();
        if !pending.is_empty() {
            title = format!("{title} · {}", count(pending.len(), "unsaved change"));
        }
        let inner = framed(frame, area, &title, true, theme);
        let below = (pending.len() + 1).min(5);
        let cells = usize::from(inner.width);
        let first = cells.saturating_sub(4 * 8 + 3);
        // A name that is cut in its row is shown whole here.
        let here = self.list.row().map(|row| label(&call_of(&row.json)));
        let note = match here.filter(|label| width(&safe(label)) > first) {
            Some(label) => wrapped(&label, cells.saturating_sub(2)),
            None => vec!["· the endpoint has no such method".to_owned()],
        };
        let height = usize::from(inner.height).saturating_sub(below + 1 + note.len());
        let heads: String = METHODS.iter().map(|method| format!("{method:^8}")).collect();
        let head = format!("  {}{heads}", fitted("ENDPOINT", first));
        let mut shown = vec![Line::styled(head, theme.style(Role::Title))];
        self.list.rows_at.set(Rect { y: inner.y + 1, height: height as u16, ..inner });
        shown.extend(
            self.list.seen(height).map(|(row, is_here)| self.line(row, is_here, first, look)),
        );
        shown.resize(height + 1, Line::default());
        if let Some(fault) = &self.fault {
            shown.push(Line::styled(format!(" ✗ {}", safe(fault)), theme.style(Role::Bad)));
        }
        let note = note.into_iter().map(|line| format!(" {line}"));
        shown.extend(note.map(|line| Line::styled(line, theme.style(Role::Quiet))));
        for (sign, right) in pending.iter().take(below) {
            let role = if *sign == '+' { Role::Good } else { Role::Bad };
            shown.push(Line::styled(format!(" {sign} {}", safe(right)), theme.style(role)));
        }
        lines(frame, inner, shown);
    }
}

/// The name of a row.
fn label((endpoint, query): &Call) -> String {
    let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    match query.is_empty() {
        true if endpoint == "*" => "* everything".to_owned(),
        true => endpoint.clone(),
        false => format!("{endpoint} ?{}", query.join("&")),
    }
}

impl Matrix {
    fn line(&self, row: &Row, is_here: bool, first: usize, look: Look) -> Line<'static> {
        let call = call_of(&row.json);
        let sign = if is_here { "▶ " } else { "  " };
        let mut spans = vec![Span::raw(format!("{sign}{}", fitted(&safe(&label(&call)), first)))];
        let (offered, none) = (self.offered(&call), Methods::new());
        let now = self.now.get(&call).unwrap_or(&none);
        let want = self.want.get(&call).unwrap_or(&none);
        for (n, method) in METHODS.iter().enumerate() {
            let (cell, role) = match (now.contains(*method), want.contains(*method)) {
                (true, true) => ("[x]", Role::Plain),
                (false, true) => ("[+]", Role::Good),
                (true, false) => ("[-]", Role::Bad),
                _ if offered.contains(*method) => ("[ ]", Role::Plain),
                _ => (" · ", Role::Quiet),
            };
            let style =
                look.theme.style(if is_here && n == self.column { Role::Cursor } else { role });
            spans.push(Span::raw("  "));
            spans.push(Span::styled(cell, style));
            spans.push(Span::raw("   "));
        }
        Line::from(spans)
    }
}
