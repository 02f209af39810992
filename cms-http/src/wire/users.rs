//! `/api/backend/users` and what hangs below it

use cms_core::accounts::{NewUser, Session, User, UserPatch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Body, Data, Done, NoBody, OneOrPage, Page, operations,
    parameters::{ById, Limit, ListQuery, NoQuery, OneOrList},
};

operations! {
    /// One user, or a page of them.
    Read: WhichUsers, NoBody => OneOrPage<User>, of "users";
    /// Makes a user.
    Create: NoQuery, NewUser => Data<User>;
    /// Changes a user.
    Update: ById, UserPatch => Data<User>;
    /// Removes a user.
    Delete: ById, NoBody => Done;
    /// The open sessions of a user.
    Sessions: OfUser, NoBody => Page<Session>;
    /// Ends the sessions of a user, or one of them.
    Revoke: WhichSessions, NoBody => Done;
    /// Lets a user set up a new authenticator at the next login.
    ResetSecondFactor: ById, NoBody => Done;
    /// Makes new recovery codes for a user and shows them, once.
    NewRecoveryCodes: ById, NoBody => Data<RecoveryCodes>;
}

impl Body for NewUser {}
impl Body for UserPatch {}

/// One user by id or name, else a page of the list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WhichUsers {
    /// The one to show.
    pub id: Option<i64>,
    /// The one to show, by name.
    pub username: Option<String>,
    /// Which page of the list.
    #[serde(flatten)]
    pub list: ListQuery,
}

impl From<OneOrList> for WhichUsers {
    fn from(OneOrList { id, list }: OneOrList) -> Self {
        Self { id, username: None, list }
    }
}

/// A page of what belongs to a user.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfUser {
    /// The user.
    #[schemars(example = 1)]
    pub id: i64,
    /// Rows of a page.
    #[serde(default)]
    pub limit: Limit,
    /// Where the page starts: `meta.next` of the page before.
    pub cursor: Option<String>,
    /// Whether to count all matching rows.
    pub count: Option<bool>,
}

/// Which sessions of a user.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichSessions {
    /// The user.
    #[schemars(example = 1)]
    pub id: i64,
    /// One session; all without it.
    pub session: Option<i64>,
}

/// Recovery codes, which are shown once.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct RecoveryCodes {
    /// Each is good for one login.
    pub recovery_codes: Vec<String>,
}
