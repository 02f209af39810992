//! Statements of sessions. The file is long because it holds everything that reads or writes these
//! rows, so that the order of locks can be seen in one place.

use serde_json::{Map, Value as Json};

use super::session::{REWOUND, Session, Status, Trail, TrailEntry};
use crate::{
    Change, Error, Millis, Result,
    db::{Db, Statement, Step, Value, args, read, record, statements},
    fields::Upload,
};

record! { Session: session_columns {
    id: "id",
    funnel: "funnel_id",
    version: "version_id",
    uuid: "session_uuid",
    rev: "rev",
    status: "status" => |name: String| Ok(Status::named(&name)),
    language: "language_short",
    path: "path_json" => read::json::<Vec<i64>>,
    answers: "answers_json" => read::json::<Map<String, Json>>,
    current: "current_node_id",
    end: "end_node_id",
    end_kind: "end_kind",
    reference: "reference",
    source_url: "source_url",
    referer: "referer",
    utm: "utm_source" + "utm_medium" + "utm_campaign" + "utm_term" + "utm_content"
        => |(a, b, c, d, e): Utm| Ok([a, b, c, d, e]),
    host: "host",
    is_spam: "is_spam",
    is_test: "is_test",
    started_at: "started_at",
    last_activity_at: "last_activity_at",
    presented_at: "presented_at",
    completed_at: "completed_at",
    abandoned_at: "abandoned_at",
    abandoned_told: "abandoned_told",
    expires_at: "expires_at",
    folded: "folded",
    mail_rule: "mail_rule_id",
    mail_status: "mail_status",
} }

record! {
    /// A session with what the staff noted.
    pub(super) struct SessionWithNotes: noted_columns {
        pub(super) notes: String = "inbox_notes",
        pub(super) session: Session = (session_columns),
    }
}

/// Number of sessions that one statement reads. Missing ids are filled up with an id
/// that no row has.
pub(super) const BATCH_SIZE: usize = 8;

/// Maximum number of rows of a change, so that each change of a session has numbers of its own.
const ROWS: i64 = 1000;

type Utm = (Option<String>, Option<String>, Option<String>, Option<String>, Option<String>);

record! {
    /// A file of a session, without its bytes.
    #[derive(Clone, Debug)]
    pub(super) struct SentFile: sent_columns {
        pub(super) uid: String = "uid",
        pub(super) field: String = "field",
        pub(super) media_type: String = "media_type",
        pub(super) size: i64 = "size",
    }
}

impl SentFile {
    pub(super) fn upload(&self) -> Upload {
        let bytes = u64::try_from(self.size).unwrap_or_default();
        Upload { media_type: self.media_type.clone(), bytes }
    }
}

/// Locks the session until this change ends. The funnel is locked first, instead of later by
/// checks of references, because a deletion also locks the funnel before its sessions.
macro_rules! lock {
    ($key:literal, $share:literal) => {
        concat!(
            "with held as (select f.id from cms_formfunnels f join cms_formfunnel_submissions s \
             on s.funnel_id = f.id where s.",
            $key,
            " = $1 and f.status <> 'deleted'",
            $share,
            ") update cms_formfunnel_submissions set rev = rev where ",
            $key,
            " = $1 and funnel_id in (select id from held) returning ",
            session_columns!()
        )
    };
}

/// Files that no answer holds.
macro_rules! sweep {
    ($locked:literal) => {
        concat!(
            "delete from cms_formfunnel_uploads where id in (select id from \
             cms_formfunnel_uploads where attached = $2 and created_at <= $1 limit 100",
            $locked,
            ") and attached = $2"
        )
    };
}

/// On PostgreSQL. Skips files that a visitor is about to use, until the next sweep: two changes
/// that wait for the same files in different orders would deadlock.
const SWEEP_FREE: Statement =
    Statement::new(concat!(module_path!(), "::SWEEP_FREE"), sweep!(" for update skip locked"));
const LOCK_SHARED: Statement = Statement::new(
    concat!(module_path!(), "::LOCK_SHARED"),
    lock!("session_uuid", " for key share of f"),
);
const LOCK_ID_SHARED: Statement =
    Statement::new(concat!(module_path!(), "::LOCK_ID_SHARED"), lock!("id", " for key share of f"));

statements! {
    /// Finds no session of a deleted funnel.
    VERSION_OF = "select s.version_id from cms_formfunnel_submissions s join cms_formfunnels f \
                  on f.id = s.funnel_id where s.session_uuid = $1 and f.status <> 'deleted'";
    BY_UUID = concat!(
        "select ", session_columns!(), " from cms_formfunnel_submissions where session_uuid = $1"
    );
    BY_ID = concat!(
        "select ", session_columns!(), " from cms_formfunnel_submissions where id = $1"
    );
    BY_IDS = concat!(
        "select ", noted_columns!(), " from cms_formfunnel_submissions \
         where id in ($1, $2, $3, $4, $5, $6, $7, $8)"
    );
    LOCK = lock!("session_uuid", "");
    LOCK_ID = lock!("id", "");
    START = "insert into cms_formfunnel_submissions (funnel_id, version_id, version, session_uuid, \
             client_hash, rev, status, language_short, path_json, answers_json, current_node_id, \
             last_node_id, source_url, referer, utm_source, utm_medium, utm_campaign, utm_term, \
             utm_content, host, inbox_status, inbox_notes, is_spam, is_test, summary, \
             steps_answered, progress_pct, started_at, last_activity_at, presented_at, \
             abandoned_told, expires_at, day) values ($1, $2, $3, $4, $5, 0, 'in_progress', $6, \
             $7, $8, $9, $9, $10, $11, $12, $13, $14, $15, $16, $17, 'new', '', $18, $19, '', \
             0, 0, $20, $20, $20, $21, $22, $23) returning id";
    SAVE = "update cms_formfunnel_submissions set rev = rev + 1, status = $3, path_json = $4, \
            answers_json = $5, current_node_id = $6, last_node_id = $7, end_node_id = $8, \
            end_kind = $9, reference = $10, is_spam = $11, contact_name = $12, \
            contact_email = $13, contact_phone = $14, company = $15, summary = $16, score = $17, \
            steps_answered = $18, progress_pct = $19, last_activity_at = $20, completed_at = $21, \
            abandoned_at = $22, abandoned_told = $23, expires_at = $24, mail_rule_id = $25, \
            mail_status = $26, presented_at = $27, abandon_due_at = $28 \
            where id = $1 and rev = $2";
    EVENT = "insert into cms_formfunnel_events (submission_id, seq, kind, node_id, edge_id, field, \
             at, dwell_ms, on_path) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    /// Takes entries off the path that came after the step that the visitor went back to.
    CUT = "update cms_formfunnel_events set on_path = $3 where submission_id = $1 and on_path = $4 \
           and kind in ('presented', 'answered', 'edge') and seq > (select max(p.seq) from \
           cms_formfunnel_events p where p.submission_id = $1 and p.kind = 'presented' \
           and p.node_id = $2 and p.on_path = $4)";
    /// Counts completed visits of people: folded and removed ones by the counters of each version,
    /// the others by their rows. Names no `status`: SQLite would read all completed visits by its
    /// index, instead of the few that are not folded.
    COMPLETED = "select cast(coalesce((select sum(d.completed) from cms_formfunnel_versions v \
                 cross join cms_formfunnel_daily d where v.funnel_id = $1 \
                 and d.funnel_id = v.funnel_id and d.version = v.version and d.node_id = 0 \
                 and d.edge_id = 0), 0) + (select count(*) from cms_formfunnel_submissions s \
                 where s.funnel_id = $1 and s.completed_at is not null and not s.folded \
                 and not s.is_spam and not s.is_test) as bigint)";
    SENT = concat!(
        "select ", sent_columns!(), " from cms_formfunnel_uploads where submission_id = $1 \
         order by id"
    );
    /// The number of a session's files, and their bytes.
    SENT_SIZE = "select count(*), cast(coalesce(sum(size), 0) as bigint) \
                 from cms_formfunnel_uploads where submission_id = $1";
    ADD_FILE = "insert into cms_formfunnel_uploads (uid, submission_id, field, file_name, \
                media_type, size, sha256, attached, created_at, content) values ($1, $2, $3, $4, \
                $5, $6, $7, $8, $9, $10)";
    ATTACH = "update cms_formfunnel_uploads set attached = $3 \
              where submission_id = $1 and uid = $2";
    DETACH = "update cms_formfunnel_uploads set attached = $3 \
              where submission_id = $1 and field = $2 and attached = $4";
    DETACH_ALL = "update cms_formfunnel_uploads set attached = $2 \
                  where submission_id = $1 and attached = $3";
    /// The number and the bytes of files that no answer holds (`$1` is false), of all sessions.
    /// Reads at most $2 rows.
    WAITING = "select count(*), cast(coalesce(sum(size), 0) as bigint) from (select size from \
               cms_formfunnel_uploads where attached = $1 limit $2) found";
    /// As `WAITING`, of sessions that began at the address of this one: their client hashes share
    /// the first $4 characters. Zero for a session whose address is not known.
    WAITING_NEAR = "select count(*), cast(coalesce(sum(size), 0) as bigint) from (select u.size \
                    from cms_formfunnel_submissions own, cms_formfunnel_uploads u \
                    join cms_formfunnel_submissions s on s.id = u.submission_id \
                    where own.session_uuid = $3 and u.attached = $1 \
                    and substr(s.client_hash, 1, cast($4 as integer)) = \
                    substr(own.client_hash, 1, cast($4 as integer)) \
                    limit $2) found";
    /// As `WAITING_NEAR`, of files that were sent since $5 and that answers hold (`$1` is true).
    /// The salt of the day is part of client hashes, so sessions of the day before are not counted.
    HELD_NEAR = "select count(*), cast(coalesce(sum(size), 0) as bigint) from (select u.size \
                 from cms_formfunnel_submissions own, cms_formfunnel_uploads u \
                 join cms_formfunnel_submissions s on s.id = u.submission_id \
                 where own.session_uuid = $3 and u.attached = $1 and u.created_at > $5 \
                 and substr(s.client_hash, 1, cast($4 as integer)) = \
                 substr(own.client_hash, 1, cast($4 as integer)) \
                 limit $2) found";
    TOUCH = "update cms_formfunnel_submissions set last_activity_at = $2, expires_at = $3, \
             status = $4, abandon_due_at = $5, is_spam = $6, abandoned_at = $7 where id = $1";
    SWEEP = sweep!("");
    /// Sessions that rest for longer than their funnels allow, the longest first, after the place
    /// $2 and $3 of that list.
    RESTING = "select s.id, s.version_id, s.abandon_due_at from cms_formfunnel_submissions s \
               join cms_formfunnels f on f.id = s.funnel_id and f.status <> 'deleted' \
               where s.abandon_due_at <= $1 and (s.abandon_due_at, s.id) > ($2, $3) \
               order by s.abandon_due_at, s.id limit $4";
    /// Sets when a session is due to be checked for abandonment; null: never.
    WATCH = "update cms_formfunnel_submissions set abandon_due_at = $2 where id = $1";
    SALT = "select day, salt from cms_formfunnel_salt";
    /// Overwrites the salt of an earlier day.
    NEW_SALT = "update cms_formfunnel_salt set day = $1, salt = $2 where day < $1";
    /// Sets the state of a submission in the inbox.
    TRIAGED = "update cms_formfunnel_submissions set inbox_status = $2, first_touched_at = $3 \
               where id = $1";
    WINDOW = "update cms_formfunnel_window set since = $1";
}

/// Sessions with their notes, in any order. Only the first [`BATCH_SIZE`] ids are read.
pub(super) async fn by_ids(db: &Db, ids: &[i64]) -> Result<Vec<SessionWithNotes>> {
    let filled = ids.iter().copied().chain(std::iter::repeat(-1)).take(BATCH_SIZE);
    db.all(BY_IDS, filled.map(Value::from).collect()).await
}

pub(super) async fn lock(change: &mut Change, uuid: &str) -> Result<Option<Session>> {
    change.optional(change.dialect().keeping(LOCK, LOCK_SHARED), args![uuid]).await
}

pub(super) async fn lock_id(change: &mut Change, id: i64) -> Result<Option<Session>> {
    change.optional(change.dialect().keeping(LOCK_ID, LOCK_ID_SHARED), args![id]).await
}

/// Stores a new session. Returns its id; None: the funnel is gone.
pub(super) async fn start(
    change: &mut Change,
    session: &Session,
    number: i64,
    client: Option<String>,
    day: String,
) -> Result<Option<i64>> {
    let [source, medium, campaign, term, content] = session.utm.clone();
    let args = args![
        session.funnel,
        session.version,
        number,
        &session.uuid,
        client,
        &session.language,
        text(&session.path)?,
        text(&session.answers)?,
        session.current,
        session.source_url.clone(),
        session.referer.clone(),
        source,
        medium,
        campaign,
        term,
        content,
        session.host.clone(),
        session.is_spam,
        session.is_test,
        session.started_at,
        session.abandoned_told,
        session.expires_at,
        day,
    ];
    match change.one::<(i64,)>(START, args).await {
        Ok((id,)) => Ok(Some(id)),
        Err(error) if error.is_broken_reference() => Ok(None),
        Err(error) => Err(error),
    }
}

/// What lists show of a session.
#[derive(Clone, Debug, Default)]
pub(super) struct SubmissionSummary {
    pub(super) name: Option<String>,
    pub(super) email: Option<String>,
    pub(super) phone: Option<String>,
    pub(super) company: Option<String>,
    pub(super) summary: String,
    pub(super) score: Option<f64>,
    pub(super) answered: i64,
    pub(super) percent: i64,
}

/// Stores a session that this change has locked, with its trail.
pub(super) async fn save(
    change: &mut Change,
    session: &mut Session,
    told: SubmissionSummary,
    abandon_due: Option<Millis>,
    trail: Trail,
) -> Result<()> {
    let mut steps = events(session, trail, change.now());
    let (path, answers) = (text(&session.path)?, text(&session.answers)?);
    let args = args![
        session.id,
        session.rev,
        session.status.as_str(),
        path,
        answers,
        session.current,
        session.path.last().copied(),
        session.end,
        session.end_kind.clone(),
        session.reference.clone(),
        session.is_spam,
        told.name,
        told.email,
        told.phone,
        told.company,
        told.summary,
        told.score,
        told.answered,
        told.percent,
        session.last_activity_at,
        session.completed_at,
        session.abandoned_at,
        session.abandoned_told,
        session.expires_at,
        session.mail_rule,
        session.mail_status.clone(),
        session.presented_at,
        abandon_due,
    ];
    steps.push(Step(SAVE, args));
    if change.steps(steps).await? == 0 {
        return Err(Error::internal("a locked session has changed"));
    }
    session.rev += 1;
    Ok(())
}

/// The steps that write the trail. Where the visitor went back, a step first cuts the path.
fn events(session: &Session, trail: Trail, now: Millis) -> Vec<Step> {
    let mut steps = Vec::with_capacity(trail.0.len() + 2);
    let (id, rev) = (session.id, session.rev);
    for (place, one) in (0..ROWS).zip(trail.0) {
        let TrailEntry { kind, node, edge, field, dwell, at } = one;
        let at = at.unwrap_or(now);
        if kind == REWOUND {
            steps.push(Step(CUT, args![id, node, false, true]));
        }
        let seq = rev * ROWS + place;
        steps.push(Step(EVENT, args![id, seq, kind, node, edge, field, at, dwell, true]));
    }
    steps
}

fn text(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(Error::internal)
}

/// Whether the funnel has `most` completed visits already.
pub(super) async fn is_full(db: &Db, funnel: i64, most: i64) -> Result<bool> {
    let (count,) = db.one::<(i64,)>(COMPLETED, args![funnel]).await?;
    Ok(count >= most)
}

pub(super) async fn sent(change: &mut Change, session: i64) -> Result<Vec<SentFile>> {
    change.all(SENT, args![session]).await
}

/// Marks a file as held by an answer. False: the file is gone. On PostgreSQL a file may be swept
/// after this change has read it.
pub(super) async fn attach(change: &mut Change, session: i64, uid: &str) -> Result<bool> {
    Ok(change.run(ATTACH, args![session, uid, true]).await? > 0)
}

/// Marks the files of this field as held by no answer.
pub(super) async fn detach(change: &mut Change, session: i64, field: &str) -> Result<()> {
    change.run(DETACH, args![session, field, false, true]).await.map(drop)
}

/// Stores when the visitor was here, whether the visit is abandoned and whether a program makes
/// it. Writes no other row.
pub(super) async fn touch(
    change: &mut Change,
    session: &Session,
    abandon_due: Option<Millis>,
) -> Result<()> {
    let args = args![
        session.id,
        session.last_activity_at,
        session.expires_at,
        session.status.as_str(),
        abandon_due,
        session.is_spam,
        session.abandoned_at,
    ];
    change.run_one(TOUCH, args).await
}

/// The day of the salt that is kept, and the salt.
pub(super) async fn salt(db: &Db) -> Result<(i64, String)> {
    db.one(SALT, args![]).await
}

/// Removes a batch of files that no answer holds and that came before a time. Returns how many.
pub(super) async fn sweep(change: &mut Change, before: Millis) -> Result<u64> {
    change.run(change.dialect().keeping(SWEEP, SWEEP_FREE), args![before, false]).await
}

/// A file as it is stored.
pub(super) struct NewFile<'a> {
    pub(super) uid: &'a str,
    pub(super) field: &'a str,
    pub(super) name: &'a str,
    pub(super) media_type: &'a str,
    pub(super) sha256: String,
    pub(super) content: Vec<u8>,
}

pub(super) async fn add_file(change: &mut Change, session: i64, file: NewFile<'_>) -> Result<()> {
    let NewFile { uid, field, name, media_type, sha256, content } = file;
    let size = i64::try_from(content.len()).unwrap_or(i64::MAX);
    let now = change.now();
    let args = args![uid, session, field, name, media_type, size, sha256, false, now, content];
    change.run(ADD_FILE, args).await.map(drop)
}
