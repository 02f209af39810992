//! A form: fields, and what happens with their values.

use std::sync::Arc;

use crossterm::event::KeyCode;
use serde_json::{Map, Value as Json};

use super::field::{Field, Kind};
use crate::{calls::Fault, keys::Key};

/// What happens with the values.
pub(crate) type Submit<S> = Arc<dyn Fn(&Values) -> S + Send + Sync>;

/// Values of a form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    pub(crate) all: Map<String, Json>,
    /// Only those that differ from the beginning.
    pub(crate) changed: Map<String, Json>,
}

impl Values {
    pub(crate) fn text(&self, name: &str) -> String {
        self.all.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
    }
}

/// Fields, one of which has the focus.
pub(crate) struct Form<S> {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) at: usize,
    pub(crate) error: Option<String>,
    /// Its values are on their way.
    pub(crate) is_sent: bool,
    /// Number of the act that it was sent with last: replies to earlier ones are not for it.
    pub(crate) sent: u64,
    /// What it created or tried to, and the key under which that happens once only.
    pub(crate) once: Option<(String, String)>,
    /// Esc was pressed once over unsaved changes.
    pub(crate) is_leaving: bool,
    /// It lies low, so that what is above stays visible.
    pub(crate) is_low: bool,
    pub(crate) submit: Submit<S>,
}

/// What a key did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Open,
    Closed,
    Submit,
}

impl<S> Form<S> {
    pub(crate) fn new(
        title: impl Into<String>,
        fields: Vec<Field>,
        submit: impl Fn(&Values) -> S + Send + Sync + 'static,
    ) -> Self {
        Self {
            title: title.into(),
            note: String::new(),
            fields,
            at: 0,
            error: None,
            is_sent: false,
            sent: 0,
            once: None,
            is_leaving: false,
            is_low: false,
            submit: Arc::new(submit),
        }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    pub(crate) fn low(mut self) -> Self {
        self.is_low = true;
        self
    }

    pub(crate) fn is_changed(&self) -> bool {
        self.fields.iter().any(Field::is_changed)
    }

    pub(crate) fn key(&mut self, key: Key) -> Typed {
        let leaving = std::mem::take(&mut self.is_leaving);
        if key.ctrl && key.code == KeyCode::Char('s') {
            return Typed::Submit;
        }
        if key.code == KeyCode::Esc {
            if leaving || !self.is_changed() {
                return Typed::Closed;
            }
            self.is_leaving = true;
            return Typed::Open;
        }
        let last = self.fields.len().saturating_sub(1);
        match key.code {
            KeyCode::Tab => self.at = if self.at == last { 0 } else { self.at + 1 },
            KeyCode::BackTab => self.at = self.at.checked_sub(1).unwrap_or(last),
            _ => {
                if self.fields.get_mut(self.at).is_some_and(|field| field.key(key)) {
                    return Typed::Open;
                }
                match key.code {
                    KeyCode::Down => self.at = (self.at + 1).min(last),
                    KeyCode::Up => self.at = self.at.saturating_sub(1),
                    KeyCode::Enter if self.at == last => return Typed::Submit,
                    KeyCode::Enter => self.at += 1,
                    _ => {}
                }
            }
        }
        Typed::Open
    }

    /// The values, or the fields that are wrong.
    pub(crate) fn values(&mut self) -> Option<Values> {
        self.error = None;
        let (mut values, mut good) = (Values::default(), true);
        for field in &mut self.fields {
            if matches!(field.kind, Kind::Fixed(_)) {
                continue;
            }
            match field.value() {
                Ok(value) => {
                    if field.is_changed() {
                        values.changed.insert(field.name.clone(), value.clone());
                    }
                    values.all.insert(field.name.clone(), value);
                }
                Err(why) => {
                    field.error = Some(why);
                    good = false;
                }
            }
        }
        if !good {
            let wrong = self.fields.iter().position(|field| field.error.is_some());
            self.at = wrong.unwrap_or(self.at);
            return None;
        }
        Some(values)
    }

    /// Shows a failure: at its fields, the rest at the top.
    pub(crate) fn fail(&mut self, fault: &Fault) {
        self.is_sent = false;
        let (mut first, mut is_said) = (None, false);
        for problem in &fault.errors {
            let name = problem.field.split(['.', '[']).next().unwrap_or_default();
            let field = self.fields.iter_mut().enumerate().find(|(_, field)| field.name == name);
            if let Some((at, field)) = field {
                field.error = Some(problem.message.clone());
                is_said |= problem.message == fault.detail;
                first = Some(first.map_or(at, |first: usize| first.min(at)));
            }
        }
        self.error = (!is_said).then(|| fault.detail.clone());
        self.at = first.unwrap_or(self.at);
    }
}
