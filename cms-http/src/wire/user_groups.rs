//! `/api/backend/user_groups`

use cms_core::accounts::{Group, GroupPatch, NewGroup};

use super::{
    Body, Data, Done, NoBody, OneOrPage, operations,
    parameters::{ById, NoQuery, OneOrList},
};

operations! {
    /// One group, or a page of them.
    Read: OneOrList, NoBody => OneOrPage<Group>, of "user_groups";
    /// Makes a group.
    Create: NoQuery, NewGroup => Data<Group>;
    /// Changes a group.
    Update: ById, GroupPatch => Data<Group>;
    /// Removes a group that has no members.
    Delete: ById, NoBody => Done;
}

impl Body for NewGroup {}
impl Body for GroupPatch {}
