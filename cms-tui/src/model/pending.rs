//! Calls under way, and whom their replies are for.

use super::Origin;
use crate::step::{Checked, Next, UndoOf};

/// A call under way.
pub(super) enum Pending {
    /// For a place of a screen.
    Slot(u64, u8),
    Next(Next, Origin),
    /// One of several.
    Bulk(Sent, Origin),
    Who,
}

impl Pending {
    pub(super) fn origin(&self) -> Origin {
        match self {
            Self::Next(_, origin) | Self::Bulk(_, origin) => *origin,
            _ => Origin::default(),
        }
    }

    /// It changes something.
    pub(super) fn is_write(&self) -> bool {
        match self {
            Self::Next(_, origin) => origin.is_writing,
            Self::Bulk(..) => true,
            Self::Slot(..) | Self::Who => false,
        }
    }
}

/// A call of an act that was sent.
pub(super) struct Sent {
    pub(super) name: String,
    pub(super) undo: Option<UndoOf>,
    pub(super) row: Option<Checked>,
}
