//! Users with their rights, for rooms that name users.

use super::HeldPermissions;

/// A user with all rights of the groups.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) id: i64,
    pub(crate) username: String,
    pub(crate) active: bool,
    pub(crate) rights: HeldPermissions,
}
