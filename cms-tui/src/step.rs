//! What follows an action or a reply: calls, questions, other screens. Screens return steps; the
//! model runs them.

mod checked;

pub(crate) use checked::{Act, Checked, Patch, Reread};

use std::{path::PathBuf, sync::Arc};

use cms_http::{
    client::Ask,
    wire::{Body, NoBody, Operation},
};
use serde_json::Value as Json;

use crate::{
    calls::{Fault, Read, Reply, made, whole},
    widgets::{self, shape::Shape, viewer::Viewer},
};

/// The widgets whose answers are steps.
pub(crate) type Form = widgets::form::Form<Step>;
pub(crate) type Menu = widgets::ask::Menu<Step>;
pub(crate) type Confirm = widgets::ask::Confirm<Step>;

/// What happens with a reply.
pub(crate) type Next = Box<dyn FnOnce(Result<Reply, Fault>) -> Step + Send>;

/// Where a reply goes.
pub(crate) enum To {
    /// To a place of the screen that asked. A later call for the same place makes this one stale.
    Slot(u8),
    /// To this function, wherever the user is by then.
    Next(Next),
}

/// A call to be made.
pub(crate) struct Calling {
    pub(crate) ask: Ask,
    pub(crate) read: Read,
    pub(crate) to: To,
    /// The call reads a row before an act: which one, of how many.
    pub(crate) reread: Option<(usize, usize)>,
    /// The service only counts the rows that a change would match.
    pub(crate) is_count: bool,
}

/// A call without a body.
pub(crate) fn get<O: Operation<Body = NoBody>>(query: &O::Query) -> Result<Calling, Fault> {
    let (ask, read) = made::<O>(query, &NoBody)?;
    Ok(Calling { ask, read, to: To::Slot(0), reread: None, is_count: false })
}

/// A call with a body.
pub(crate) fn send<O: Operation>(query: &O::Query, body: &O::Body) -> Result<Calling, Fault> {
    let (ask, read) = made::<O>(query, body)?;
    Ok(Calling { ask, read, to: To::Slot(0), reread: None, is_count: false })
}

/// As [`send`], for members that the user chose or that are sent back as they were read. The type
/// of the body checks them before they are sent.
pub(crate) fn send_json<O: Operation>(query: &O::Query, body: Json) -> Result<Calling, Fault> {
    let body = <O::Body as Body>::read(Some(body)).map_err(|e| Fault::new(e.to_string()))?;
    send::<O>(query, &body)
}

impl Calling {
    /// A call of a path, for tests.
    #[cfg(test)]
    pub(crate) fn to(path: &str, read: Read) -> Self {
        Self { ask: Ask::get(path), read, to: To::Slot(0), reread: None, is_count: false }
    }

    /// Leaves long values of the reply whole, because they are sent back.
    pub(crate) fn whole<O: Operation>(mut self) -> Self {
        self.read = whole::<O>;
        self
    }

    /// The call changes nothing: the service only counts the rows that a change would match.
    pub(crate) fn counting(mut self) -> Self {
        self.is_count = true;
        self
    }

    pub(crate) fn slot(mut self, slot: u8) -> Self {
        self.to = To::Slot(slot);
        self
    }

    /// Continues with the reply; a failure is shown.
    pub(crate) fn then(self, next: impl FnOnce(Reply) -> Step + Send + 'static) -> Self {
        self.ending(|outcome| match outcome {
            Ok(reply) => next(reply),
            Err(fault) => Step::Fault(fault),
        })
    }

    /// Continues with the reply or the failure.
    pub(crate) fn ending(
        mut self,
        next: impl FnOnce(Result<Reply, Fault>) -> Step + Send + 'static,
    ) -> Self {
        self.to = To::Next(Box::new(next));
        self
    }

    pub(crate) fn if_match(mut self, etag: Option<String>) -> Self {
        self.ask = self.ask.if_match(etag);
        self
    }
}

/// What follows a call. One that could not be made is shown like one that failed.
pub(crate) trait IntoStep: Sized {
    /// The step that makes the call, changed before it is made.
    fn made(self, change: impl FnOnce(Calling) -> Calling) -> Step;

    fn slot(self, slot: u8) -> Step {
        self.made(|call| call.slot(slot))
    }

    /// Continues with the reply; a failure is shown.
    fn then(self, next: impl FnOnce(Reply) -> Step + Send + 'static) -> Step {
        self.made(|call| call.then(next))
    }

    /// Continues with the reply or the failure.
    fn ending(self, next: impl FnOnce(Result<Reply, Fault>) -> Step + Send + 'static) -> Step {
        self.made(|call| call.ending(next))
    }

    /// Says that it is done.
    fn did(self, say: impl Into<String> + Send + 'static) -> Step {
        self.then(move |_| Step::did(say))
    }

    /// Shows the reply whole.
    fn view(self, title: impl Into<String> + Send + 'static) -> Step {
        self.then(move |reply| Step::View(Viewer::json(title, &reply.data)))
    }
}

impl IntoStep for Result<Calling, Fault> {
    fn made(self, change: impl FnOnce(Calling) -> Calling) -> Step {
        self.map(change).into()
    }
}

/// What to do next.
#[derive(Default)]
pub(crate) enum Step {
    #[default]
    None,
    /// One call.
    Call(Calling),
    /// Several calls, one after the other, as one act with one result.
    Bulk(Bulk),
    /// A message about what was done; the screen is read again.
    Did(Did),
    /// A message.
    Tell(String),
    /// A failure, shown in the open form if there is one.
    Fault(Fault),
    Form(Box<Form>),
    Confirm(Confirm),
    Menu(Menu),
    View(Viewer),
    /// Another screen on top of this one.
    Open(Place),
    /// Something for the screen on top: what, and its value.
    Set(&'static str, String),
    /// Shows the row this many rows further in the list that this screen was opened from.
    Neighbour(isize),
    /// A reply written into a file of its own.
    Save(Saving),
    /// The act of this number was taken back, or done again, as a whole.
    Undone(u64, Did),
    /// A command line of `cms`, whose output is shown.
    Run(Vec<String>),
    /// A login has ended well.
    LoggedIn {
        token: String,
        user: String,
        expires_at: String,
    },
    /// The session is over.
    LoggedOut,
    /// Runs this action even though something is not saved.
    Leave(&'static str),
    /// Another site, by the name of its context.
    Context(String),
    /// Opens another site even though something is under way.
    LeaveFor(String),
    /// Reads the screen on top again, although nothing was done.
    Refresh,
    /// Calls the screen's `pause` once the user pauses.
    Pause,
    Several(Vec<Step>),
}

impl Form {
    pub(crate) fn step(self) -> Step {
        Step::Form(Box::new(self))
    }
}

/// Something was done, and how to take it back.
pub(crate) struct Did {
    pub(crate) say: String,
    pub(crate) undo: Option<Undo>,
    pub(crate) way: Way,
}

/// The direction of an act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Way {
    #[default]
    New,
    /// It is taken back.
    Back,
    /// It was taken back, and is done again.
    Again,
}

impl Way {
    /// The key that reverts an act of this direction, if there is one.
    pub(crate) fn back(self, has_undo: bool) -> &'static str {
        match (has_undo, self) {
            (false, _) => "",
            (true, Self::Back) => " (U does it again)",
            (true, _) => " (u takes it back)",
        }
    }
}

/// How to take an act back. It is kept until that has succeeded.
#[derive(Clone, Default)]
pub(crate) struct Undo {
    pub(crate) number: u64,
    pub(crate) rows: Vec<Checked>,
    /// The service takes the whole act back by itself. It remembers only its last such act.
    pub(crate) whole: Option<Whole>,
}

/// Takes an act back as a whole; the number is that of its [`Undo`]. Ends with [`Step::Undone`].
pub(crate) type Whole = Arc<dyn Fn(u64) -> Step + Send + Sync>;

/// What is to be written into a file.
pub(crate) struct Saving {
    pub(crate) ask: Ask,
    pub(crate) path: PathBuf,
}

/// Several calls as one act.
pub(crate) struct Bulk {
    /// What is done, such as `switched off`.
    pub(crate) done: String,
    /// What it is done to, such as `key`.
    pub(crate) what: &'static str,
    pub(crate) calls: Vec<BulkCall>,
    /// What failed before any call was sent.
    pub(crate) failed: Vec<Failed>,
    /// Number of the act that this one takes back.
    pub(crate) undoes: Option<u64>,
}

impl Bulk {
    pub(crate) fn new(done: impl Into<String>, what: &'static str, calls: Vec<BulkCall>) -> Self {
        Self { done: done.into(), what, calls, failed: Vec::new(), undoes: None }
    }
}

/// One of several calls: its name for messages, the call, and how its effect is taken back.
pub(crate) struct BulkCall {
    pub(crate) name: String,
    pub(crate) call: Calling,
    pub(crate) undo: Option<UndoOf>,
    /// The change that the call makes, kept for another try.
    pub(crate) row: Option<Checked>,
}

impl BulkCall {
    pub(crate) fn new(name: String, call: Calling, undo: Option<UndoOf>) -> Self {
        Self { name, call, undo, row: None }
    }
}

/// One of several changes that was not made.
pub(crate) struct Failed {
    pub(crate) name: String,
    pub(crate) fault: Fault,
    /// The change, kept for another try.
    pub(crate) row: Option<Checked>,
}

/// Makes the change that takes a call back, out of its reply.
pub(crate) type UndoOf = Box<dyn FnOnce(&Reply) -> Option<Checked> + Send>;

/// A screen to open: its noun, and the record it is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Place {
    pub(crate) noun: &'static str,
    pub(crate) subject: Json,
    /// Its filter at the start.
    pub(crate) filter: String,
    /// The filter, if another screen or the command line has chosen it.
    pub(crate) given: Option<String>,
    /// The row to put the cursor on.
    pub(crate) row: String,
    /// Columns and order of its list.
    pub(crate) shape: Shape,
}

impl Place {
    pub(crate) fn of(noun: &'static str) -> Self {
        Self { noun, ..Self::default() }
    }

    pub(crate) fn about(noun: &'static str, subject: &Json) -> Self {
        Self { noun, subject: subject.clone(), ..Self::default() }
    }

    /// With the cursor on the row of this id.
    pub(crate) fn at(mut self, row: impl Into<String>) -> Self {
        self.row = row.into();
        self
    }

    /// With a filter that the user of this list did not choose.
    pub(crate) fn filtered(mut self, filter: impl Into<String>) -> Self {
        self.filter = filter.into();
        self.given = Some(self.filter.clone());
        self
    }
}

impl Step {
    pub(crate) fn did(say: impl Into<String>) -> Self {
        Self::Did(Did { say: say.into(), undo: None, way: Way::New })
    }

    pub(crate) fn tell(say: impl Into<String>) -> Self {
        Self::Tell(say.into())
    }

    pub(crate) fn undoable(say: impl Into<String>, undo: Option<Undo>) -> Self {
        Self::Did(Did { say: say.into(), undo, way: Way::New })
    }
}

/// A call that could not be made is shown like one that failed.
impl From<Result<Calling, Fault>> for Step {
    fn from(made: Result<Calling, Fault>) -> Self {
        match made {
            Ok(call) => Self::Call(call),
            Err(fault) => Self::Fault(fault),
        }
    }
}
