//! The site, for handlers of plugins.

use super::{Cms, Rooms};
use crate::{
    Code, Error, Result,
    ground::SiteRef,
    items::{Read, Write},
    plugins::{Act, ContentCall, EndpointCall, EventCall, PlacedWidget, ScriptCall, TaskRun},
};

fn of(site: &SiteRef) -> Result<Cms> {
    let gone = || Error::new(Code::Unavailable, "The site was closed.");
    site.get::<Rooms>().map(Cms).ok_or_else(gone)
}

macro_rules! reaches_site {
    ($($call:ty),*) => { $(
        impl $call {
            /// The site. A change begun on it does not belong to the call: it acts on behalf of
            /// the actor that it names, and rights are not checked.
            ///
            /// # Errors
            /// `unavailable` when the last handle on the site was dropped.
            pub fn cms(&self) -> Result<Cms> {
                of(&self.site)
            }
        }
    )* };
}

macro_rules! reaches_site_in_change {
    ($($call:ident),*) => { $(
        impl $call<'_> {
            /// The site. Do not begin a change on it: one is already open, and another is refused.
            /// Pass that one, `change`, to what writes, such as
            /// [`Mails::queue`](crate::mail::Mails::queue), and read with
            /// [`Items::get_in`](crate::items::Items::get_in) and
            /// [`Items::list_in`](crate::items::Items::list_in).
            ///
            /// # Errors
            /// `unavailable` when the last handle on the site was dropped.
            pub fn cms(&self) -> Result<Cms> {
                of(self.site)
            }
        }
    )* };
}

reaches_site!(ContentCall, EndpointCall, EventCall, PlacedWidget, Read<'_>, ScriptCall, TaskRun);
reaches_site_in_change!(Act, Write);
