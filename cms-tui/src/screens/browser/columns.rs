//! The columns in the user's order, and the form that changes it. Some columns are filled by
//! another call, and shown only if its reply has values.

use serde_json::Value as Json;

use super::Browser;
use crate::{
    calls::{Fault, Reply},
    screens::cells::Column,
    step::{Calling, Form, IntoStep, Step},
    widgets::{field::Field, shape::Shape, window::Row},
};

/// The usual columns, put in order.
pub(super) fn arranged(usual: Vec<Column>, shape: &Shape) -> Vec<Column> {
    shape.arrange(usual, |column| &column.title, |column, width| column.cells = width)
}

impl Browser {
    pub(super) fn usual(&self) -> Vec<Column> {
        let mut columns = (self.spec.columns)(&self.subject);
        columns.extend(self.extra_columns());
        columns
    }

    pub(super) fn columns_form(&self) -> Step {
        let usual = self.usual();
        let names: Vec<_> = usual.iter().map(|column| column.title.as_str()).collect();
        let hint = "one a line, in their order; a number behind it is its width; - hides it";
        let field = Field::lines("columns", "Columns", &self.shape.text(&names)).hint(hint);
        let note = "Kept for this site, as the order of the rows.";
        let title = format!("Columns of {}", (self.spec.title)(&self.subject));
        Form::new(title, vec![field], |values| Step::Set("columns", values.text("columns")))
            .note(note)
            .step()
    }

    pub(super) fn set_columns(&mut self, text: &str) -> Step {
        let usual = self.usual();
        let names: Vec<_> = usual.iter().map(|column| column.title.as_str()).collect();
        if let Err(why) = self.shape.read(text, &names) {
            return Step::Fault(Fault::at("columns", why));
        }
        self.columns = arranged(usual, &self.shape);
        Step::None
    }
}

/// The place for the reply of that call.
pub(super) const EXTRA_SLOT: u8 = 7;

/// The other call, and how its reply fills columns.
pub(crate) struct ExtraColumns {
    pub(crate) ask: fn() -> Result<Calling, Fault>,
    /// The columns that show it.
    pub(crate) columns: fn(&Json) -> Vec<Column>,
    /// Puts it into a row.
    pub(crate) put: fn(&mut Json, &Json),
}

impl Browser {
    pub(super) fn ask_extra(&self) -> Step {
        let ask = self.spec.extra.map(|extra| (extra.ask)());
        ask.map(|call| call.slot(EXTRA_SLOT)).unwrap_or_default()
    }

    /// Takes the reply, and reads the rows again if it differs from the last one.
    pub(super) fn take_extra(&mut self, outcome: Result<Reply, Fault>) -> (Step, bool) {
        let told = match outcome {
            Ok(reply) => reply.data,
            Err(fault) if fault.is_forbidden() => Json::Null,
            Err(_) => return (Step::None, false),
        };
        let told = if told.as_array().is_some_and(Vec::is_empty) { Json::Null } else { told };
        if told == self.extra {
            return (Step::None, false);
        }
        self.extra = told;
        self.columns = arranged(self.usual(), &self.shape);
        self.version += 1;
        (self.read(), true)
    }

    pub(super) fn put_extra(&self, rows: &mut [Row]) {
        if let Some(extra) = self.spec.extra {
            rows.iter_mut().for_each(|row| (extra.put)(&mut row.json, &self.extra));
        }
    }

    /// The columns that show it now.
    fn extra_columns(&self) -> Vec<Column> {
        self.spec.extra.map(|extra| (extra.columns)(&self.extra)).unwrap_or_default()
    }
}
