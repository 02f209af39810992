//! The site, for handlers of plugins.

use std::borrow::Borrow as _;

use super::{Cms, Rooms};
use crate::{
    Code, Error, Result,
    plugins::{Act, ContentCall, EndpointCall, EventCall, ScriptCall, SiteRef, TaskRun},
};

fn of(site: &SiteRef) -> Result<Cms> {
    let gone = || Error::new(Code::Unavailable, "The site was closed.");
    site.get::<Rooms>().map(Cms).ok_or_else(gone)
}

macro_rules! reaches_site {
    ($($call:ty),*) => { $(
        impl $call {
            /// The site. A change that begins there is not the call's: it is on behalf of whoever
            /// it names, and nobody judges it.
            ///
            /// # Errors
            /// `unavailable` when the last handle on the site was dropped meanwhile.
            pub fn cms(&self) -> Result<Cms> {
                of(self.site.borrow())
            }
        }
    )* };
}

reaches_site!(Act<'_>, ContentCall, EndpointCall, EventCall, ScriptCall, TaskRun);
