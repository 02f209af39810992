//! `/api/backend/origins`

use cms_core::traffic::origins::{NewOrigin, Origin, OriginPatch};

use super::{
    Body, Data, Done, NoBody, OneOrPage, operations,
    parameters::{ById, NoQuery, OneOrList},
};

operations! {
    /// One origin, or a page of them.
    Read: OneOrList, NoBody => OneOrPage<Origin>, of "origins";
    /// Registers an origin.
    Create: NoQuery, NewOrigin => Data<Origin>;
    /// Changes an origin.
    Update: ById, OriginPatch => Data<Origin>;
    /// Removes an origin.
    Delete: ById, NoBody => Done;
}

impl Body for NewOrigin {}
impl Body for OriginPatch {}
