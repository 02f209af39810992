//! What another call tells of the rows of a list, in columns that are there when it tells
//! something.

use serde_json::Value as Json;

use super::{Browser, columns::arranged};
use crate::{
    calls::{Fault, Reply},
    screens::cells::Column,
    step::{Calling, Step},
    widgets::window::Row,
};

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
    pub(super) fn columns_beside(&self) -> Vec<Column> {
        self.spec.beside.map(|beside| (beside.columns)(&self.beside)).unwrap_or_default()
    }
}
