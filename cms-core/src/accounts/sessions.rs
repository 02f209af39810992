//! Sessions: the user behind a token, and that user's present rights.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Accounts, HeldPermissions, LOCK, Token};
use crate::{
    Actor, Change, Code, Error, Page, Paging, Result,
    db::{Cached, Source, Statement, args, epoch_of, read, record, statements},
    events::{AUTH_LOGOUT, LoginData},
    ground::ListName,
    jobs,
};

/// How old the stored last use must be before a request writes it again; so not every request
/// writes. A session may stay idle this much longer than the setting, never less.
const SEEN_EVERY: i64 = 60_000;

/// An open session as the API shows it. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Session {
    /// Its id.
    pub id: i64,
    /// Address that the login came from.
    pub address: String,
    /// The client's user agent.
    pub user_agent: Option<String>,
    /// When the login was completed.
    pub created_at: String,
    /// Time of the last request, up to a minute old.
    pub last_seen_at: String,
}

/// A caller with a valid session token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionUser {
    /// The session.
    pub session: i64,
    /// The user.
    pub id: i64,
    /// The user's name.
    pub username: String,
    /// Present rights of the user's groups.
    pub rights: HeldPermissions,
    /// When the session ends at the latest, in milliseconds.
    pub expires_at: i64,
    seen: Cached<Arc<OpenSession>>,
}

/// A session as read from the database.
pub(super) struct OpenSession {
    hash: String,
    session: i64,
    user: i64,
    username: String,
    rights: HeldPermissions,
    created_at: i64,
    last_seen_at: i64,
}

impl SessionUser {
    /// The actor of the caller's changes.
    #[must_use]
    pub fn actor(&self) -> Actor {
        Actor::User { id: self.id, name: self.username.clone() }
    }
}

impl OpenSession {
    /// Builds one session from its rows; there is one row for each group of the user.
    fn from_rows(rows: Vec<SessionRow>) -> Option<Self> {
        let first = rows.first()?;
        let open = Self {
            hash: first.hash.clone(),
            session: first.session,
            user: first.user,
            username: first.username.clone(),
            rights: HeldPermissions::default(),
            created_at: first.created_at,
            last_seen_at: first.last_seen_at,
        };
        let rights =
            rows.into_iter().fold(HeldPermissions::default(), |all, row| all.and(row.rights));
        Some(Self { rights, ..open })
    }

    /// Whether the session was used after the first of these moments and begun after the second.
    fn is_within(&self, (seen, begun): (i64, i64)) -> bool {
        self.last_seen_at > seen && self.created_at > begun
    }
}

fn session_ended() -> Error {
    Error::new(
        Code::LoginRequired,
        "Your session has ended, or you were switched off: log in again. Nothing was changed.",
    )
}

impl Accounts {
    /// Finds the session of a token. Takes at most one query; on SQLite none while nothing is
    /// committed. None: the session has ended, its user is switched off, or it never existed.
    pub async fn identify(&self, token: &str) -> Result<Option<SessionUser>> {
        Ok(self.identify_reader(token, None).await?.map(|(user, _)| user))
    }

    /// As [`Accounts::identify`], and also returns the epoch of the table that the user is about to
    /// read, like [`Keys::identify_reader`](crate::keys::Keys::identify_reader).
    pub async fn identify_reader(
        &self,
        token: &str,
        source: Option<Source<'_>>,
    ) -> Result<Option<(SessionUser, Option<i64>)>> {
        let found = self.find(&Token::from_text(token).hash(), source).await?;
        let Some((open, count)) = found else { return Ok(None) };
        if open.record.last_seen_at < self.0.base.clock().now() - SEEN_EVERY {
            self.note_seen(open.record.session).await;
        }
        Ok(Some((self.user_of(open), count)))
    }

    /// Judges the caller again: session, user and groups as they are now. Use it for acts without
    /// a change, and for callers that go on reading, such as a stream. It does not count as a use
    /// of the session, which can still end as idle.
    ///
    /// # Errors
    /// `login_required` when the session has ended or the user is switched off.
    pub async fn identify_again(&self, user: &SessionUser) -> Result<SessionUser> {
        let found = self.find(&user.seen.record.hash, None).await?;
        Ok(self.user_of(found.ok_or_else(session_ended)?.0))
    }

    /// Begins a change on behalf of a caller and judges the caller again under it. Returns the
    /// caller with the user's present rights, which stay as they are until the change ends.
    pub async fn change(&self, user: &SessionUser) -> Result<(Change, SessionUser)> {
        let change = self.0.base.change(user.actor()).await?;
        self.judge(change, user).await
    }

    /// As [`Accounts::change`], for a change of users or groups. Such changes run one at a time.
    /// Each waits for its turn before its caller is judged; two users who change each other would
    /// deadlock otherwise.
    pub async fn change_of_users(&self, user: &SessionUser) -> Result<(Change, SessionUser)> {
        let mut change = self.0.base.change(user.actor()).await?;
        self.take_turn(&mut change).await?;
        self.judge(change, user).await
    }

    /// Waits until no other change of users or groups runs. Comes before the caller is judged.
    pub async fn take_turn(&self, change: &mut Change) -> Result<()> {
        change.lock(LOCK).await
    }

    /// As [`Accounts::change`], for a change of the caller that has begun.
    pub async fn judge(
        &self,
        mut change: Change,
        user: &SessionUser,
    ) -> Result<(Change, SessionUser)> {
        let (seen, begun) = self.session_horizons();
        let open = match change.cached_if_current(&user.seen) {
            Some(open) => Some(open).filter(|open| open.is_within((seen, begun))),
            None => {
                // Session, user and groups stay as they are until the change ends.
                let statement = change.dialect().keeping(FIND, FIND_LOCKED);
                let args = args![&user.seen.record.hash, seen, begun, ""];
                OpenSession::from_rows(change.all(statement, args).await?).map(Arc::new)
            }
        };
        let user = self.user_of(Cached::in_change(open.ok_or_else(session_ended)?));
        change.judged();
        Ok((change, user))
    }

    async fn find(
        &self,
        hash: &str,
        source: Option<Source<'_>>,
    ) -> Result<Option<(Cached<Arc<OpenSession>>, Option<i64>)>> {
        let db = self.0.base.db();
        let (now, (seen, begun)) = (self.0.base.clock().now(), self.session_horizons());
        // A last use older than this is due to be written, unless another request wrote it
        // meanwhile.
        let is_fresh =
            |open: &Arc<OpenSession>| open.is_within((seen.max(now - SEEN_EVERY), begun));
        let read = async |table: &str| {
            let rows: Vec<SessionRow> = db.all(FIND, args![hash, seen, begun, table]).await?;
            let epoch = rows.first().map_or(0, |row| row.epoch);
            Ok(OpenSession::from_rows(rows).map(|open| (epoch, Arc::new(open))))
        };
        self.0.session_cache.find(db, hash, source, is_fresh, read).await
    }

    fn user_of(&self, seen: Cached<Arc<OpenSession>>) -> SessionUser {
        let open = &seen.record;
        SessionUser {
            session: open.session,
            id: open.user,
            username: open.username.clone(),
            rights: open.rights.clone(),
            expires_at: open.created_at + self.session_length(),
            seen,
        }
    }

    /// Writes the last use. The session stays valid when this fails.
    async fn note_seen(&self, session: i64) {
        let noted = async {
            let mut change = self.0.base.change_in_time().await?;
            change.run(SEEN, args![session, change.now()]).await?;
            change.commit().await
        };
        if let Err(error) = noted.await {
            tracing::warn!(?error, "the last use of a session was not written");
        }
    }

    /// The open sessions of a user, one page at a time.
    pub async fn sessions(&self, user: i64, paging: &Paging) -> Result<Page<Session>> {
        let (base, (seen, begun)) = (&self.0.base, self.session_horizons());
        let read =
            async |after, limit| base.db().all(LIST, args![user, after, limit, seen, begun]).await;
        let list = base.list(ListName::Sessions).of(user);
        let page = Page::by_id(list, paging, read, |session: &Session| session.id).await?;
        page.counted(paging, async || {
            base.db().count_rows(LIST, args![user, i64::MIN, i64::MAX, seen, begun]).await
        })
        .await
    }

    /// Ends one session or all sessions of a user.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for a user with rights beyond `held`.
    pub async fn revoke_sessions(
        &self,
        change: &mut Change,
        held: &HeldPermissions,
        user: i64,
        session: Option<i64>,
    ) -> Result<()> {
        self.changeable(change, held, user).await?;
        match session {
            None => end_all(change, user).await?,
            Some(session) if end(change, user, session).await? => {}
            Some(session) => {
                return Err(Error::new(
                    Code::NotFound,
                    format!("This user has no session with id {session}."),
                ));
            }
        }
        change.audit_row("revoke", "sessions", user, &[]).await
    }

    /// Ends the caller's own session, with the event `auth.logout`.
    pub async fn logout(&self, change: &mut Change, user: &SessionUser) -> Result<()> {
        if end(change, user.id, user.session).await? {
            change.raise_own(AUTH_LOGOUT, &LoginData::of(user.id, &user.username)).await?;
            change.audit_row("logout", "users", user.id, &[]).await?;
        }
        Ok(())
    }

    /// An open session was last used after the first of these moments and begun after the second.
    pub(super) fn session_horizons(&self) -> (i64, i64) {
        let (now, idle_s) = (self.0.base.clock().now(), self.0.base.settings().session.idle_s);
        (jobs::seconds_before(now - SEEN_EVERY, idle_s), now - self.session_length())
    }

    pub(super) fn session_length(&self) -> i64 {
        self.0.base.settings().session.absolute_s as i64 * 1000
    }
}

record! {
    /// A session joined with one group of its user.
    struct SessionRow: found_columns {
        hash: String = "s.hash",
        session: i64 = "s.id",
        created_at: i64 = "s.created_at",
        last_seen_at: i64 = "s.last_seen_at",
        user: i64 = "u.id",
        username: String = "u.username",
        rights: HeldPermissions =
            "g.rights" => HeldPermissions::from_stored,
        /// Epoch of the table that is about to be read.
        epoch: i64 = [epoch_of!("$4")],
    }
}

macro_rules! find {
    () => {
        concat!(
            "select ",
            found_columns!(),
            " from cms_sessions s \
             join cms_users u on u.id = s.user_id \
             join cms_user_group_members m on m.user_id = u.id \
             join cms_user_groups g on g.id = m.user_group_id \
             where s.hash = $1 and s.last_seen_at > $2 and s.created_at > $3 and u.active"
        )
    };
}

record! { Session: session_columns {
    id: "id",
    address: "address",
    user_agent: "user_agent",
    created_at: "created_at" => read::time,
    last_seen_at: "last_seen_at" => read::time,
} }

/// As `FIND`, with shared locks: a change that takes rights from the user waits for a change that
/// the user makes, and the other way round.
pub(crate) const FIND_LOCKED: Statement =
    Statement::new(concat!(module_path!(), "::FIND_LOCKED"), concat!(find!(), " for share"));

statements! {
    EXPIRE = "delete from cms_sessions where id in \
              (select id from cms_sessions where last_seen_at <= $1 limit 1000) \
              and last_seen_at <= $1";
    FIND = find!();
    SEEN = "update cms_sessions set last_seen_at = $2 where id = $1 and last_seen_at < $2";
    INSERT = "insert into cms_sessions \
              (hash, user_id, address, user_agent, created_at, last_seen_at) \
              values ($1, $2, $3, $4, $5, $5)";
    LIST = concat!(
        "select ", session_columns!(), " from cms_sessions where user_id = $1 and id > $2 \
         and last_seen_at > $4 and created_at > $5 order by id limit $3"
    );
    END = "delete from cms_sessions where user_id = $1 and id = $2";
    END_ALL = "delete from cms_sessions where user_id = $1";
    END_OTHERS = "delete from cms_sessions where user_id = $1 and id <> $2";
}

pub(super) async fn insert(
    change: &mut Change,
    hash: String,
    user: i64,
    address: String,
    user_agent: Option<&str>,
) -> Result<()> {
    let user_agent = user_agent.map(|text| text.chars().take(200).collect::<String>());
    change.run(INSERT, args![hash, user, address, user_agent, change.now()]).await.map(drop)
}

/// False when the session does not exist.
pub(super) async fn end(change: &mut Change, user: i64, session: i64) -> Result<bool> {
    Ok(change.run(END, args![user, session]).await? > 0)
}

pub(super) async fn end_all(change: &mut Change, user: i64) -> Result<()> {
    change.run(END_ALL, args![user]).await.map(drop)
}

/// Ends all sessions but one.
pub(super) async fn end_others(change: &mut Change, user: i64, session: i64) -> Result<()> {
    change.run(END_OTHERS, args![user, session]).await.map(drop)
}
