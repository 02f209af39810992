//! Sessions: who shows a token, and what he may do at this moment.

pub(crate) mod sql;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Accounts, Rights, Token, record};
use crate::{Actor, Change, Code, Error, Page, Paging, Result, ground::ListName};

/// A session's last use is written when it is this old, so that not every request writes.
const SEEN_EVERY: i64 = 60_000;

/// An open session as it is shown. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Its id.
    pub id: i64,
    /// Where the login came from.
    pub address: String,
    /// What the client called itself.
    pub user_agent: Option<String>,
    /// When the login was complete.
    pub created_at: String,
    /// Last request, up to a minute old.
    pub last_seen_at: String,
}

/// A caller who showed a good token.
#[derive(Clone, Debug)]
pub struct SessionUser {
    /// The session.
    pub session: i64,
    /// The user.
    pub id: i64,
    /// His name.
    pub username: String,
    /// What his groups allow now.
    pub rights: Rights,
    /// When the session ends in any case, in milliseconds.
    pub expires_at: i64,
}

impl SessionUser {
    /// On whose behalf his changes are made.
    #[must_use]
    pub fn actor(&self) -> Actor {
        Actor::User { id: self.id, name: self.username.clone() }
    }
}

impl Accounts {
    /// Who shows this token? One query. None: the session has ended, the user is switched off, or
    /// there never was one.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn identify(&self, token: &str) -> Result<Option<SessionUser>> {
        let (seen, begun) = self.session_horizons();
        let rows = sql::find(self.0.base.db(), Token::sent(token).hash(), seen, begun).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let now = self.0.base.clock().now();
        if first.last_seen_at < now - SEEN_EVERY {
            self.note_seen(first.session).await;
        }
        let absolute = self.session_length();
        let (session, id, username, expires_at) =
            (first.session, first.user, first.username.clone(), first.created_at + absolute);
        let rights = rows.into_iter().fold(Rights::default(), |all, row| all.and(row.rights));
        Ok(Some(SessionUser { session, id, username, rights, expires_at }))
    }

    /// A session that cannot be prolonged is good all the same.
    async fn note_seen(&self, session: i64) {
        let noted = async {
            let mut change = self.0.base.change(Actor::System).await?;
            sql::seen(&mut change, session).await?;
            change.commit().await
        };
        if let Err(error) = noted.await {
            tracing::warn!(%error, "the last use of a session was not written");
        }
    }

    /// The open sessions of a user, a page at a time.
    ///
    /// # Errors
    /// `bad_query` for a cursor that is not from here.
    pub async fn sessions(&self, user: i64, paging: &Paging) -> Result<Page<Session>> {
        let (seen, begun) = self.session_horizons();
        let read = async |after, limit| {
            sql::list(self.0.base.db(), user, after, limit, (seen, begun)).await
        };
        Page::by_id(ListName::Sessions, paging, read, |session| session.id).await
    }

    /// Ends sessions of a user: one, or all.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for a user who may do more than `held`.
    pub async fn revoke_sessions(
        &self,
        change: &mut Change,
        held: &Rights,
        user: i64,
        session: Option<i64>,
    ) -> Result<()> {
        self.changeable(change, held, user).await?;
        match session {
            None => sql::end_all(change, user).await?,
            Some(session) if sql::end(change, user, session).await? => {}
            Some(session) => {
                return Err(Error::new(
                    Code::NotFound,
                    format!("This user has no session with id {session}."),
                ));
            }
        }
        record(change, "revoke", "sessions", user, &[]).await
    }

    /// Ends the caller's own session, with the event `auth.logout`.
    ///
    /// # Errors
    /// As every write.
    pub async fn logout(&self, change: &mut Change, user: &SessionUser) -> Result<()> {
        if sql::end(change, user.id, user.session).await? {
            change
                .emit(
                    "auth.logout",
                    serde_json::json!({"user": {"id": user.id, "username": user.username}}),
                )
                .await?;
            record(change, "logout", "users", user.id, &[]).await?;
        }
        Ok(())
    }

    /// A session must have been used after the first of these moments and begun after the second.
    pub(in crate::accounts) fn session_horizons(&self) -> (i64, i64) {
        let (now, idle) =
            (self.0.base.clock().now(), self.0.base.settings().session.idle_s as i64 * 1000);
        (now - idle, now - self.session_length())
    }

    pub(in crate::accounts) fn session_length(&self) -> i64 {
        self.0.base.settings().session.absolute_s as i64 * 1000
    }
}
