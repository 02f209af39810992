//! The operator looks as a user: a session that no login began. Only a program that has the site
//! open can call this; no endpoint does.

use super::{Accounts, HeldPermissions, Token, record, sessions::sql as sessions};
use crate::{Change, Result};

/// What a list of sessions shows as address and program.
const ADDRESS: &str = "operator";
const AGENT: &str = "cms, on the site's own machine";

impl Accounts {
    /// Opens a session as this user. It is listed and ended like any other, and it is of no use
    /// while the user is switched off. The audit log tells that it was opened; no event does,
    /// because the user has not logged in.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn act_as(&self, change: &mut Change, user: i64) -> Result<Token> {
        self.changeable(change, &HeldPermissions::Admin, user).await?;
        let token = Token::new(&self.0.base.settings().key_prefix, 's', self.0.base.random())?;
        sessions::insert(change, token.hash(), user, ADDRESS.to_owned(), Some(AGENT)).await?;
        record(change, "act_as", "users", user, &[]).await?;
        Ok(token)
    }
}
