//! Statements of the inbox. The file is long because it holds everything that reads or writes
//! these rows, so that the order of locks can be seen in one place.

use serde_json::{Map, Value as Json};

use super::{InboxView, StoredFile, SubmissionFile, SubmissionMail};
use crate::{
    Change, Error, Millis, Result,
    db::{Db, Statement, args, read, record, statements},
    funnels::subject,
};

/// Number of submissions in one part of a bulk change.
const PART: i64 = 500;

record! {
    /// A submission that a change touches, with the data of its event.
    pub(super) struct Touched: touched_columns {
        pub(super) id: i64 = "id",
        pub(super) funnel: i64 = "funnel_id",
        pub(super) slug: String =
            "(select f.slug from cms_formfunnels f \
             where f.id = cms_formfunnel_submissions.funnel_id)",
        pub(super) name: String =
            "(select f.name from cms_formfunnels f \
             where f.id = cms_formfunnel_submissions.funnel_id)",
        pub(super) language: String =
            "(select f.language_short from cms_formfunnels f \
             where f.id = cms_formfunnel_submissions.funnel_id)",
        pub(super) version: i64 = "version",
        pub(super) status: String = "status",
        pub(super) reference: Option<String> = "reference",
        pub(super) inbox_status: String = "inbox_status",
        pub(super) assigned_to: Option<i64> = "assigned_to",
        pub(super) rev: i64 = "rev",
        pub(super) inbox_rev: i64 = "inbox_rev",
    }
}

record! { SubmissionFile: file_columns {
    file: "uid",
    field: "field",
    name: "file_name",
    media_type: "media_type",
    size: "size",
    attached: "attached",
    created_at: "created_at" => read::time,
} }

record! { SubmissionMail: mail_columns {
    id: "id",
    purpose: "purpose",
    to: "recipient",
    subject: "subject",
    status: "status",
    reason: "reason",
    created_at: "created_at" => read::time,
    settled_at: "settled_at" => read::optional_time,
} }

record! { StoredFile: stored_columns {
    name: "u.file_name",
    media_type: "u.media_type",
    sha256: "u.sha256",
    content: "u.content",
} }

record! { InboxView: view_columns {
    id: "id",
    name: "name",
    query: "query" => read::json,
    created_at: "created_at" => read::time,
    updated_at: "updated_at" => read::time,
} }

/// Locks the submission until this change ends. Its funnel is locked first, as in a deletion.
macro_rules! hold {
    ($share:literal) => {
        concat!(
            "with held as (select f.id from cms_formfunnels f join cms_formfunnel_submissions s \
             on s.funnel_id = f.id where s.id = $1 and f.status <> 'deleted'",
            $share,
            ") update cms_formfunnel_submissions set inbox_rev = inbox_rev where id = $1 \
             and funnel_id in (select id from held) returning ",
            touched_columns!()
        )
    };
}

/// The rows of a bulk change behind $2, up to $3.
macro_rules! of_part {
    () => {
        "(select r.submission_id from cms_formfunnel_bulk_rows r where r.bulk_id = $1 \
         and r.submission_id > $2 and r.submission_id <= $3)"
    };
}

/// The value of a submission's column before a bulk change.
macro_rules! before {
    ($column:literal) => {
        concat!(
            "(select r.",
            $column,
            " from cms_formfunnel_bulk_rows r where r.bulk_id = $1 \
             and r.submission_id = cms_formfunnel_submissions.id)"
        )
    };
}

/// As `before`, for the id of a user: null if the user was deleted since.
macro_rules! user_before {
    ($column:literal) => {
        concat!("(select u.id from cms_users u where u.id = ", before!($column), ")")
    };
}

/// Restores a column. The time of the first touch is restored too, if nothing has happened since
/// the bulk change.
macro_rules! restore {
    ($column:literal, $mark:literal, $before:ident) => {
        concat!(
            "update cms_formfunnel_submissions set ",
            $column,
            " = ",
            $before!($column),
            ", first_touched_at = case when inbox_rev = 1 + ",
            before!("inbox_rev"),
            " then ",
            before!("first_touched_at"),
            " else first_touched_at end, inbox_rev = inbox_rev + 1, ",
            $mark,
            " = null where ",
            $mark,
            " = $1 and id in ",
            of_part!(),
            " and funnel_id in (select id from cms_formfunnels where status <> 'deleted') \
             returning ",
            touched_columns!()
        )
    };
}

/// The users to whom a bulk change's submissions were assigned before.
macro_rules! users_before {
    ($locks:literal) => {
        concat!(
            "select u.id from cms_users u where u.id in (select r.assigned_to \
             from cms_formfunnel_bulk_rows r where r.bulk_id = $1) order by u.id",
            $locks
        )
    };
}

/// On PostgreSQL.
const HOLD_SHARED: Statement =
    Statement::new(concat!(module_path!(), "::HOLD_SHARED"), hold!(" for key share of f"));
/// On PostgreSQL: nobody can delete these users until the change ends.
const USERS_BEFORE_KEPT: Statement = Statement::new(
    concat!(module_path!(), "::USERS_BEFORE_KEPT"),
    users_before!(" for key share of u"),
);
/// Its end is composed at run time: the keys of all matching submissions.
pub(super) const CHOOSE: Statement = Statement::new(
    concat!(module_path!(), "::CHOOSE"),
    "insert into cms_formfunnel_bulk_rows (bulk_id, submission_id, inbox_status, assigned_to, \
     inbox_rev, first_touched_at) select cast($1 as bigint), s.id, s.inbox_status, s.assigned_to, \
     s.inbox_rev, s.first_touched_at from cms_formfunnel_submissions s where s.id in",
);

statements! {
    /// How many submissions are in each state of the inbox: of one funnel, or of all.
    COUNTS = "select c.inbox_status, cast(sum(c.n) as bigint) from cms_formfunnel_counts c \
              join cms_formfunnels f on f.id = c.funnel_id where f.status <> 'deleted' \
              and f.id = coalesce(cast($1 as bigint), f.id) group by c.inbox_status";
    /// The smallest id among the newest $1 submissions.
    NEWEST = "select coalesce(min(n.id), 0) from (select id from cms_formfunnel_submissions \
              order by id desc limit $1) n";
    /// The version of a funnel that was published last.
    NEWEST_VERSION = "select max(id) from cms_formfunnel_versions where funnel_id = $1";
    NOTES = "select inbox_notes from cms_formfunnel_submissions where id = $1";
    /// What lists do not show: the notes, and the settings of the funnel.
    NOTES_AND_SETTINGS = "select s.inbox_notes, f.settings_json from \
                          cms_formfunnel_submissions s join cms_formfunnels f \
                          on f.id = s.funnel_id where s.id = $1";
    /// How often the visit and the staff have changed a submission.
    REVS = "select rev, inbox_rev from cms_formfunnel_submissions where id = $1";
    FILES = concat!(
        "select ", file_columns!(), " from cms_formfunnel_uploads where submission_id = $1 \
         order by id"
    );
    MAILS = concat!(
        "select ", mail_columns!(), " from cms_mails where cause = $1 order by id desc limit 50"
    );
    FILE = concat!(
        "select ", stored_columns!(), " from cms_formfunnel_uploads u join \
         cms_formfunnel_submissions s on s.id = u.submission_id join cms_formfunnels f \
         on f.id = s.funnel_id where u.uid = $1 and f.status <> 'deleted'"
    );
    HOLD = hold!("");
    UPDATE = concat!(
        "update cms_formfunnel_submissions set inbox_status = coalesce($2, inbox_status), \
         inbox_notes = coalesce($3, inbox_notes), assigned_to = case when $4 \
         then cast($5 as bigint) else assigned_to end, \
         status_bulk_id = case when cast($2 as text) is null then status_bulk_id end, \
         assigned_bulk_id = case when $4 then null else assigned_bulk_id end, \
         first_touched_at = coalesce(first_touched_at, $6), inbox_rev = inbox_rev + 1 \
         where id = $1 returning ", touched_columns!()
    );
    DELETE = "delete from cms_formfunnel_submissions where id = $1";
    /// Submissions of a deleted user are assigned to nobody. An undo leaves them as they are.
    /// An assignment locks the user's row, so none comes in between.
    UNASSIGN = "update cms_formfunnel_submissions set assigned_to = null, \
                assigned_bulk_id = null, inbox_rev = inbox_rev + 1 where assigned_to = $1";
    DELETE_MAILS = "delete from cms_mails where cause = $1";
    NEW_BULK = "insert into cms_formfunnel_bulks (owner, op, changed, created_at) \
                values ($1, $2, 0, $3) returning id";
    KEEP_BULK = "update cms_formfunnel_bulks set changed = $2 where id = $1";
    FORGET_BULKS = "delete from cms_formfunnel_bulks where owner = $1 and id < $2";
    DROP_BULK = "delete from cms_formfunnel_bulks where id = $1";
    LAST_BULK = "select id, op, changed from cms_formfunnel_bulks where owner = $1 \
                 order by id desc limit 1";
    ROWS = "select count(*) from cms_formfunnel_bulk_rows where bulk_id = $1";
    /// The last submission of the next part.
    END_OF_PART = "select max(p.submission_id) from (select r.submission_id from \
                   cms_formfunnel_bulk_rows r where r.bulk_id = $1 and r.submission_id > $2 \
                   order by r.submission_id limit $3) p";
    /// Takes submissions off the list that have the value already.
    LEAVE_STATUS = "delete from cms_formfunnel_bulk_rows where bulk_id = $1 and inbox_status = $2";
    LEAVE_ASSIGNED = "delete from cms_formfunnel_bulk_rows where bulk_id = $1 \
                      and assigned_to is not distinct from cast($2 as bigint)";
    SET_STATUS = concat!(
        "update cms_formfunnel_submissions set inbox_status = $4, inbox_rev = inbox_rev + 1, \
         status_bulk_id = $1, first_touched_at = coalesce(first_touched_at, $5) where id in ",
        of_part!(), " and inbox_status = ", before!("inbox_status"), " returning ",
        touched_columns!()
    );
    ASSIGN = concat!(
        "update cms_formfunnel_submissions set assigned_to = $4, inbox_rev = inbox_rev + 1, \
         assigned_bulk_id = $1, first_touched_at = coalesce(first_touched_at, $5) where id in ",
        of_part!(), " and assigned_to is not distinct from ", before!("assigned_to"),
        " returning ", touched_columns!()
    );
    RESTORE_STATUS = restore!("inbox_status", "status_bulk_id", before);
    RESTORE_ASSIGNED = restore!("assigned_to", "assigned_bulk_id", user_before);
    USERS_BEFORE = users_before!("");
    /// Makes an undo of this bulk change leave the user out.
    FORGET_BEFORE = "update cms_formfunnel_bulk_rows set assigned_to = null where bulk_id = $1 \
                     and assigned_to = $2";
    STAGE_PART = concat!(
        "insert into cms_formfunnel_folding (submission_id) select p.submission_id from ",
        of_part!(), " p"
    );
    DELETE_PART_MAILS = concat!(
        "delete from cms_mails where cause in (select 'funnel submission ' || p.submission_id \
         from ", of_part!(), " p)"
    );
    DELETE_PART = concat!(
        "delete from cms_formfunnel_submissions where id in ", of_part!(), " returning ",
        touched_columns!()
    );
    VIEWS = concat!(
        "select ", view_columns!(), " from cms_formfunnel_views where owner = $1 \
         order by name, id limit $2"
    );
    SAVE_VIEW = concat!(
        "insert into cms_formfunnel_views (owner, user_id, name, query, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $5) on conflict (owner, name) do update set \
         query = excluded.query, updated_at = excluded.updated_at returning ", view_columns!()
    );
    /// Counts at most $2 views.
    COUNT_VIEWS = "select count(*) from (select 1 as one from cms_formfunnel_views \
                   where owner = $1 limit $2) found";
    DELETE_VIEW = "delete from cms_formfunnel_views where owner = $1 and id = $2";
    /// Deleted keys and users that still own views or bulk changes. Ids are never used again.
    GONE_OWNERS = "select o.owner from (select owner from cms_formfunnel_views \
                   union select owner from cms_formfunnel_bulks) o where (o.owner like 'key:%' \
                   and not exists (select 1 from cms_api_keys k where o.owner = 'key:' || k.id)) \
                   or (o.owner like 'user:%' \
                   and not exists (select 1 from cms_users u where o.owner = 'user:' || u.id))";
    DELETE_VIEWS = "delete from cms_formfunnel_views where owner = $1";
    DELETE_BULKS = "delete from cms_formfunnel_bulks where owner = $1";
}

/// The notes of a submission and the settings of its funnel.
pub(super) async fn notes_and_settings(
    db: &Db,
    id: i64,
) -> Result<Option<(String, Map<String, Json>)>> {
    let Some((notes, settings)) =
        db.optional::<(String, String)>(NOTES_AND_SETTINGS, args![id]).await?
    else {
        return Ok(None);
    };
    Ok(Some((notes, serde_json::from_str(&settings).map_err(Error::internal)?)))
}

pub(super) async fn notes_in(change: &mut Change, id: i64) -> Result<String> {
    let (notes,) = change.one::<(String,)>(NOTES, args![id]).await?;
    Ok(notes)
}

pub(super) async fn hold(change: &mut Change, id: i64) -> Result<Option<Touched>> {
    change.optional(change.dialect().keeping(HOLD, HOLD_SHARED), args![id]).await
}

/// Writes the given values. Status and assignment lose the mark of an earlier bulk change.
pub(super) async fn update(
    change: &mut Change,
    id: i64,
    status: Option<String>,
    notes: Option<String>,
    assigned: Option<Option<i64>>,
) -> Result<Touched> {
    let now: Millis = change.now();
    let (assigns, user) = (assigned.is_some(), assigned.flatten());
    change.one(UPDATE, args![id, status, notes, assigns, user, now]).await
}

/// Deletes a submission with the mails that it caused.
pub(super) async fn delete(change: &mut Change, id: i64) -> Result<()> {
    change.run(DELETE_MAILS, args![subject(id)]).await?;
    change.run_one(DELETE, args![id]).await
}

/// As [`delete`], but the submission may be gone already.
pub(super) async fn erase(change: &mut Change, id: i64) -> Result<()> {
    change.run(DELETE_MAILS, args![subject(id)]).await?;
    change.run(DELETE, args![id]).await.map(drop)
}

/// Keeps a bulk change for an undo, and forgets the owner's earlier ones.
pub(super) async fn keep_bulk(
    change: &mut Change,
    owner: &str,
    id: i64,
    changed: i64,
) -> Result<()> {
    change.run_one(KEEP_BULK, args![id, changed]).await?;
    change.run(FORGET_BULKS, args![owner, id]).await.map(drop)
}

pub(super) async fn drop_bulk(change: &mut Change, id: i64) -> Result<()> {
    change.run_one(DROP_BULK, args![id]).await
}

/// How many submissions are on the list of a bulk change.
pub(super) async fn rows(change: &mut Change, bulk: i64) -> Result<i64> {
    let (rows,) = change.one::<(i64,)>(ROWS, args![bulk]).await?;
    Ok(rows)
}

/// Where the next part ends; None: there is none.
pub(super) async fn part(change: &mut Change, bulk: i64, after: i64) -> Result<Option<i64>> {
    let (last,) = change.one::<(Option<i64>,)>(END_OF_PART, args![bulk, after, PART]).await?;
    Ok(last)
}

/// Keeps the users to whom submissions were assigned before a bulk change, as an assignment does.
pub(super) async fn keep_users_before(change: &mut Change, bulk: i64) -> Result<Vec<(i64,)>> {
    let statement = change.dialect().keeping(USERS_BEFORE, USERS_BEFORE_KEPT);
    change.all(statement, args![bulk]).await
}

/// Deletes the first part with the mails that it caused.
pub(super) async fn delete_part(change: &mut Change, bulk: i64, last: i64) -> Result<Vec<Touched>> {
    change.run(DELETE_PART_MAILS, args![bulk, 0_i64, last]).await?;
    change.all(DELETE_PART, args![bulk, 0_i64, last]).await
}
