//! Statements of the page builder. Every change of a draft begins with [`hold`], which locks the
//! row of the page before the rows of its nodes.

use super::{
    tree::{NodeKind, Spot},
    types::{Edit, Plan, Revision},
};
use crate::{
    Change, Millis, Result,
    base::Base,
    change::Reader,
    db::{Snapshot, Statement, Step, args, read, record, statements},
    items::PlacedTable,
    jobs,
};

/// Number of edits that are remembered for a page.
const REMEMBERED: i64 = 200;

record! {
    /// A page that is held.
    #[derive(Clone, Debug)]
    pub(super) struct HeldPage: held_columns {
        pub(super) id: i64 = "id",
        /// The rev after this change.
        pub(super) rev: i64 = "draft_rev",
        pub(super) base: Option<i64> = "base_id",
        pub(super) language: String = "language_short",
        pub(super) title: String = "title",
        pub(super) url: String = "url_rewrite",
        pub(super) view: Option<String> = "view",
        pub(super) published: bool = "published",
        pub(super) revision: Option<i64> = "revision",
        pub(super) publish_at: Option<Millis> = "publish_at",
        pub(super) take_off_at: Option<Millis> = "take_off_at",
    }
}

record! {
    /// The state of a page's draft, without its tree.
    #[derive(Clone, Debug)]
    pub(super) struct DraftState: state_columns {
        pub(super) rev: i64 = "p.draft_rev",
        pub(super) published: bool = "p.published",
        pub(super) revision: Option<i64> = "p.revision",
        pub(super) publish_at: Option<String> = "p.publish_at" => read::optional_time,
        pub(super) take_off_at: Option<String> = "p.take_off_at" => read::optional_time,
        /// Of the revision that was published last.
        pub(super) checksum: Option<String> =
            "(select r.checksum from cms_page_revisions r \
             where r.page_id = p.id and r.number = p.revision)",
    }
}

record! { Plan: plan_columns {
    page_id: "id",
    publish_at: "publish_at" => read::optional_time,
    take_off_at: "take_off_at" => read::optional_time,
} }

record! { Edit: edit_columns {
    action: "action",
    kind: "kind",
    node_id: "node_id",
    columns: "columns" => read::json,
    actor: "actor_kind" + "actor_id" + "actor_name" => actor,
    created_at: "created_at" => read::time,
} }

record! { Revision: revision_columns {
    number: "number",
    checksum: "checksum",
    bytes: "cast(octet_length(tree) as bigint)",
    actor: "actor_kind" + "actor_id" + "actor_name" => actor,
    created_at: "created_at" => read::time,
} }

pub(super) fn actor(
    (kind, id, name): (String, Option<i64>, Option<String>),
) -> Result<crate::AuditActor> {
    Ok(crate::AuditActor { kind, id, name })
}

/// The statements of one kind of nodes: its table, and the column of its parent.
macro_rules! nodes {
    ($module:ident, $table:literal, $parent:literal) => {
        mod $module {
            crate::db::statements! {
                HOLD = concat!(
                    "update cms_pages set draft_rev = draft_rev + 1 where id = \
    (select n.page_id from ", $table, " n where n.id = $1) returning ",
                    held_columns!()
                );
                DELETE = concat!("delete from ", $table, " where id = $1");
                /// Moves the nodes from a place on: makes room, or closes a gap.
                SHIFT = concat!(
                    "update ", $table, " set sort_order = sort_order + $1 where ", $parent,
                    " = $2 and sort_order >= $3 and id <> $4"
                );
                /// Moves one node to its place; the nodes between make room.
                WITHIN = concat!(
                    "update ", $table, " set sort_order = case when id = $1 then \
    cast($2 as bigint) else sort_order + $3 end where ", $parent,
                    " = $4 and (id = $1 or (sort_order >= $5 and sort_order <= $6))"
                );
                MOVE = concat!(
                    "update ", $table, " set ", $parent, " = $2, sort_order = $3 where id = $1"
                );
            }
        }
    };
}
nodes!(rows, "cms_page_rows", "page_id");
nodes!(cols, "cms_page_cols", "row_id");
nodes!(widgets, "cms_page_row_col_widget", "col_id");
nodes!(items, "cms_page_widget_item", "widget_id");

/// Revisions of all pages that at least $1 newer ones have replaced, except those that
/// visitors see.
macro_rules! beyond {
    () => {
        "select r.id from (select page_id, max(number) as newest from cms_page_revisions \
         group by page_id) n join cms_page_revisions r on r.page_id = n.page_id \
         and r.number <= n.newest - $1 join cms_pages p on p.id = r.page_id \
         where p.revision is null or p.revision <> r.number limit 1000"
    };
}

statements! {
    HOLD = concat!(
        "update cms_pages set draft_rev = draft_rev + 1 where id = $1 returning ", held_columns!()
    );
    RELEASE = "update cms_pages set draft_rev = draft_rev - 1 where id = $1";
    STATE = concat!("select ", state_columns!(), " from cms_pages p where p.id = $1");
    EXISTS = "select id from cms_pages where id = $1";
    EMPTY = "delete from cms_page_rows where page_id = $1";
    EDITED = "insert into cms_page_edits (page_id, rev, action, kind, node_id, columns, \
              actor_kind, actor_id, actor_name, created_at) \
              values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    FORGET = "delete from cms_page_edits where page_id = $1 and rev <= $2";
    /// The edits after $2, newest first.
    EDITS = concat!(
        "select ", edit_columns!(), " from cms_page_edits where page_id = $1 and rev > $2 \
         order by rev desc limit 20"
    );
    FREEZE = "insert into cms_page_revisions (page_id, number, tree, checksum, actor_kind, \
              actor_id, actor_name, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)";
    CUT = "delete from cms_page_revisions where page_id = $1 and number in (select number \
           from cms_page_revisions where page_id = $1 and number <= $2 order by number limit 100)";
    BEYOND = beyond!();
    EXPIRE = concat!("delete from cms_page_revisions where id in (", beyond!(), ")");
    /// Number and checksum of the newest revision.
    NEWEST = "select number, checksum from cms_page_revisions where page_id = $1 \
              order by number desc limit 1";
    SHOW = "update cms_pages set revision = $2 where id = $1";
    PLAN = "update cms_pages set publish_at = $2, take_off_at = $3 where id = $1";
    PLANNED = concat!(
        "select ", plan_columns!(), " from cms_pages where id > $1 and \
         (publish_at is not null or take_off_at is not null) order by id limit $2"
    );
    DUE = "select id from cms_pages where (publish_at <= $1 or take_off_at <= $1) and id > $2 \
           order by id limit 100";
    REVISIONS = concat!(
        "select ", revision_columns!(), " from cms_page_revisions where page_id = $1 and \
         number < $2 order by number desc limit $3"
    );
    REVISION = concat!(
        "select ", revision_columns!(), " from cms_page_revisions where page_id = $1 and \
         number = $2"
    );
    /// The pages that show a text to visitors.
    SHOWING = "select p.id from cms_pages p join cms_page_revisions r on r.page_id = p.id and \
               r.number = p.revision where p.published and r.tree like $1 order by p.id limit $2";
    TREE = "select tree from cms_page_revisions where page_id = $1 and number = $2";
}

/// All statements, for the test that prepares them.
pub(crate) fn statements() -> Vec<Statement> {
    [ALL, rows::ALL, cols::ALL, widgets::ALL, items::ALL].concat()
}

/// The tables of the nodes, from the top.
pub(in crate::pages) const TABLES: [PlacedTable; 4] = [
    PlacedTable {
        source: "cms_page_rows",
        parent: "page_id",
        name: None,
        base: None,
        has_data: false,
    },
    PlacedTable {
        source: "cms_page_cols",
        parent: "row_id",
        name: None,
        base: None,
        has_data: false,
    },
    PlacedTable {
        source: "cms_page_row_col_widget",
        parent: "col_id",
        name: Some("widget"),
        base: None,
        has_data: true,
    },
    PlacedTable {
        source: "cms_page_widget_item",
        parent: "widget_id",
        name: Some("language_short"),
        base: Some("base_id"),
        has_data: true,
    },
];

pub(super) fn table(kind: NodeKind) -> &'static PlacedTable {
    match kind {
        NodeKind::Row => &TABLES[0],
        NodeKind::Col => &TABLES[1],
        NodeKind::Widget => &TABLES[2],
        NodeKind::Item => &TABLES[3],
    }
}

macro_rules! of_kind {
    ($kind:expr, $name:ident) => {
        match $kind {
            NodeKind::Row => rows::$name,
            NodeKind::Col => cols::$name,
            NodeKind::Widget => widgets::$name,
            NodeKind::Item => items::$name,
        }
    };
}

/// Holds a page, or the page of a node, until the change ends, and counts an edit of its draft.
/// `None`: there is no such page or node.
pub(super) async fn hold(
    change: &mut Change,
    kind: Option<NodeKind>,
    id: i64,
) -> Result<Option<HeldPage>> {
    let statement = kind.map_or(HOLD, |kind| of_kind!(kind, HOLD));
    change.optional(statement, args![id]).await
}

/// Takes back the edit that [`hold`] has counted.
pub(super) async fn release(change: &mut Change, page: i64) -> Result<()> {
    change.run_one(RELEASE, args![page]).await
}

pub(super) async fn state(snapshot: &mut Snapshot, page: i64) -> Result<Option<DraftState>> {
    snapshot.optional(STATE, args![page]).await
}

pub(super) fn delete(kind: NodeKind, id: i64) -> Step {
    Step(of_kind!(kind, DELETE), args![id])
}

/// Moves the nodes from a place on, except `id`, by one place forward (1) or back (-1).
pub(super) fn shift(kind: NodeKind, by: i64, from: Spot, id: i64) -> Step {
    Step(of_kind!(kind, SHIFT), args![by, from.parent, from.at as i64, id])
}

/// Moves a node from one place to another; the nodes between make room.
pub(super) fn moved(kind: NodeKind, id: i64, from: Spot, to: Spot) -> Vec<Step> {
    let (was, is) = (from.at as i64, to.at as i64);
    if from.parent != to.parent {
        let put = Step(of_kind!(kind, MOVE), args![id, to.parent, is]);
        return vec![shift(kind, -1, from, id), shift(kind, 1, to, id), put];
    }
    let by: i64 = if was < is { -1 } else { 1 };
    let args = args![id, is, by, to.parent, was.min(is), was.max(is)];
    vec![Step(of_kind!(kind, WITHIN), args)]
}

/// Records an edit for later `stale` answers.
pub(super) fn edited(
    change: &Change,
    held: &HeldPage,
    action: &str,
    (kind, id): (&str, i64),
    columns: &[&str],
) -> [Step; 2] {
    let (actor_kind, actor_id, actor_name) = change.actor().columns();
    let columns = serde_json::json!(columns).to_string();
    let now = change.now();
    let args =
        args![held.id, held.rev, action, kind, id, columns, actor_kind, actor_id, actor_name, now];
    [Step(EDITED, args), Step(FORGET, args![held.id, held.rev - REMEMBERED])]
}

pub(super) async fn exists(from: impl Into<Reader<'_>>, page: i64) -> Result<bool> {
    let found: Option<(i64,)> = from.into().optional(EXISTS, args![page]).await?;
    Ok(found.is_some())
}

pub(super) async fn empty(change: &mut Change, page: i64) -> Result<()> {
    change.run(EMPTY, args![page]).await.map(drop)
}

pub(super) fn freeze(
    change: &Change,
    page: i64,
    number: i64,
    tree: String,
    checksum: &str,
) -> Step {
    let (kind, id, name) = change.actor().columns();
    let now = change.now();
    Step(FREEZE, args![page, number, tree, checksum, kind, id, name, now])
}

/// Removes revisions up to a number, 100 at most; the next publication removes more.
pub(super) fn cut(page: i64, last: i64) -> Step {
    Step(CUT, args![page, last])
}

/// Removes revisions of all pages that this many newer ones have replaced. Returns their number.
pub(super) async fn expire(base: &Base, kept: u64) -> Result<u64> {
    let args = args![i64::try_from(kept).unwrap_or(i64::MAX)];
    // Checked first: usually there are none, and a change would hold up others.
    let found: Option<(i64,)> = base.db().optional(BEYOND, args.clone()).await?;
    if found.is_some() { jobs::remove(base, EXPIRE, args).await } else { Ok(0) }
}

pub(super) async fn plan(
    change: &mut Change,
    page: i64,
    publish_at: Option<Millis>,
    take_off_at: Option<Millis>,
) -> Result<()> {
    change.run_one(PLAN, args![page, publish_at, take_off_at]).await
}
