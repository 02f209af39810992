//! The statements of users, groups, logins, and the functions that run them.

pub(crate) mod attempts;
pub(crate) mod groups;
pub(crate) mod logins;
pub(crate) mod sessions;
pub(crate) mod users;
