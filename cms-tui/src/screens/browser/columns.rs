//! The columns as the user wants them, and the form that changes them. Some are filled by another
//! call, and there when it tells something.

use serde_json::Value as Json;

use super::Browser;
use crate::{
    calls::{Fault, Reply},
    screens::cells::Column,
    step::{Calling, Form, Step},
    widgets::{
        field::{Field, Kind},
        input::Input,
        shape::Shape,
        window::Row,
    },
};

/// The usual columns, put in order.
pub(super) fn arranged(usual: Vec<Column>, shape: &Shape) -> Vec<Column> {
    shape.arrange(usual, |column| &column.title, |column, width| column.cells = width)
}

impl Browser {
    pub(super) fn usual(&self) -> Vec<Column> {
        let mut columns = (self.spec.columns)(&self.subject);
        columns.extend(self.columns_beside());
        columns
    }

    pub(super) fn columns_form(&self) -> Step {
        let usual = self.usual();
        let names: Vec<_> = usual.iter().map(|column| column.title.as_str()).collect();
        let mut lines = Input::of(&self.shape.text(&names));
        lines.is_multiline = true;
        let hint = "one a line, in their order; a number behind it is its width; - hides it";
        let field = Field::new("columns", "Columns", Kind::Text(lines)).hint(hint);
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

/// Where its reply goes.
pub(super) const BESIDE: u8 = 7;

/// The call, and what its reply is to the rows.
pub(crate) struct Beside {
    pub(crate) ask: fn() -> Result<Calling, Fault>,
    /// The columns that show it.
    pub(crate) columns: fn(&Json) -> Vec<Column>,
    /// Puts it into a row.
    pub(crate) put: fn(&mut Json, &Json),
}

impl Browser {
    pub(super) fn ask_beside(&self) -> Step {
        let ask = self.spec.beside.map(|beside| (beside.ask)());
        ask.map(|call| call.map(|call| call.slot(BESIDE)).into()).unwrap_or_default()
    }

    /// The rows are read again when it tells something else.
    pub(super) fn take_beside(&mut self, outcome: Result<Reply, Fault>) -> (Step, bool) {
        let told = match outcome {
            Ok(reply) => reply.data,
            Err(fault) if fault.is_forbidden() => Json::Null,
            Err(_) => return (Step::None, false),
        };
        let told = if told.as_array().is_some_and(Vec::is_empty) { Json::Null } else { told };
        if told == self.beside {
            return (Step::None, false);
        }
        self.beside = told;
        self.columns = arranged(self.usual(), &self.shape);
        self.version += 1;
        (self.read(), true)
    }

    pub(super) fn put_beside(&self, rows: &mut [Row]) {
        if let Some(beside) = self.spec.beside {
            rows.iter_mut().for_each(|row| (beside.put)(&mut row.json, &self.beside));
        }
    }

    /// The columns that show it now.
    fn columns_beside(&self) -> Vec<Column> {
        self.spec.beside.map(|beside| (beside.columns)(&self.beside)).unwrap_or_default()
    }
}
