//! The columns as the user wants them, and the form that changes them.

use super::Browser;
use crate::{
    calls::Fault,
    screens::cells::Column,
    step::{Form, Step},
    widgets::{
        field::{Field, Kind},
        input::Input,
        shape::Shape,
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
            return Step::Fault(Fault::new(why));
        }
        self.columns = arranged(usual, &self.shape);
        Step::None
    }
}
