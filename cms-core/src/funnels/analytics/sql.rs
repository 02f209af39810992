//! Statements that read the numbers of a funnel: counters of folded visits, and the same numbers
//! of other visits. All take the funnel, the first day, the last day, and a version or null.

use crate::{
    Millis, Result,
    db::{Snapshot, Statement, Value, args, record, statements},
    funnels::counters::{
        select::{
            answers, bucket, durations, left, mails, number, open, sources, steps, visits, ways,
        },
        sql::Answered,
    },
};

record! {
    /// Visits of a version that began on a day.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Visits: visit_columns {
        pub(super) version: i64 = "c.version",
        pub(super) day: String = "c.day",
        pub(super) started: i64 = "c.started",
        pub(super) engaged: i64 = "c.engaged",
        pub(super) completed: i64 = "c.completed",
        pub(super) abandoned: i64 = "c.abandoned",
        pub(super) spam: i64 = "c.spam",
        pub(super) in_progress: i64 = "c.in_progress",
    }
}

record! {
    /// Visits at a node, or at an edge.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Way: way_columns {
        pub(super) node: i64 = "c.node_id",
        pub(super) edge: i64 = "c.edge_id",
        pub(super) entered: i64 = "c.entered",
        pub(super) answered: i64 = "c.answered",
        pub(super) exited: i64 = "c.exited",
        pub(super) rewound: i64 = "c.rewound",
        pub(super) invalid: i64 = "c.invalid",
        pub(super) dwell_ms: i64 = "c.dwell_ms",
        pub(super) dwelt: i64 = "c.dwelt",
        pub(super) traversed: i64 = "c.traversed",
        pub(super) completed: i64 = "c.completed",
        pub(super) scored: i64 = "c.scored",
        pub(super) score: f64 = "c.score",
        pub(super) waiting: i64 = "c.waiting",
    }
}

record! {
    /// Visits by one of their properties, such as source or duration.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Tally: tally_columns {
        pub(super) what: String = "c.what",
        pub(super) node: i64 = "c.node_id",
        pub(super) name: String = "c.name",
        pub(super) value: String = "c.value",
        pub(super) bucket: i64 = "c.bucket",
        pub(super) visits: i64 = "c.visits",
        pub(super) completed: i64 = "c.completed",
    }
}

/// The counters that are read.
macro_rules! counted {
    ($table:literal) => {
        concat!(
            "from ",
            $table,
            " c where c.funnel_id = $1 and c.day between $2 and $3 \
             and (cast($4 as bigint) is null or c.version = $4)"
        )
    };
}

/// Counters of several days, added up.
macro_rules! sums {
    ($($counter:literal),+) => {
        concat!($("cast(sum(c.", $counter, ") as bigint) as ", $counter, ", "),+)
    };
}

/// The columns of a record, of rows whose columns have the names of counters.
macro_rules! from {
    ($columns:ident, $rows:expr) => {
        concat!("select ", $columns!(), " from (", $rows, ") c")
    };
}

macro_rules! tallied {
    ($where:literal) => {
        from!(
            tally_columns,
            concat!(
                "select c.what, c.node_id, c.name, c.value, c.bucket, cast(sum(c.visits) as \
                 bigint) as visits, cast(sum(c.completed) as bigint) as completed ",
                counted!("cms_formfunnel_tally"),
                $where,
                " group by c.funnel_id, c.what, c.node_id, c.name, c.value, c.bucket"
            )
        )
    };
}

/// As `open`, from after the visit of the day $2 with the id $5.
macro_rules! onward {
    ($joined:literal) => {
        concat!(
            "from cms_formfunnel_submissions s",
            $joined,
            " where not s.folded and s.funnel_id = $1 and (s.day, s.id) > ($2, $5) \
             and s.day <= $3 and (cast($4 as bigint) is null or s.version = $4) and not s.is_test"
        )
    };
}

statements! {
    VISITS = from!(
        visit_columns,
        concat!(
            "select c.version, c.day, c.started, c.engaged, c.completed, c.abandoned, c.spam, \
             cast(0 as bigint) as in_progress ", counted!("cms_formfunnel_daily"),
            " and c.node_id = 0 and c.edge_id = 0"
        )
    );
    OPEN_VISITS = from!(visit_columns, visits!(open));
    WAYS = from!(
        way_columns,
        concat!(
            "select c.node_id, c.edge_id, ",
            sums!("entered", "answered", "exited", "rewound", "invalid", "dwell_ms", "dwelt",
                  "traversed", "completed", "scored"),
            "sum(c.score) as score, cast(0 as bigint) as waiting ",
            counted!("cms_formfunnel_daily"),
            " and (c.node_id <> 0 or c.edge_id <> 0) group by c.funnel_id, c.node_id, c.edge_id"
        )
    );
    OPEN_WAYS = from!(way_columns, ways!(open));
    TALLY = tallied!("");
    TALLIED_DURATIONS = tallied!(" and c.what = 'duration'");
    OPEN_SOURCES = from!(tally_columns, sources!(open));
    OPEN_DURATIONS = from!(tally_columns, durations!(open));
    OPEN_STEPS = from!(tally_columns, steps!(open));
    OPEN_MAILS = from!(tally_columns, mails!(open));
    OPEN_ANSWERS = concat!(answers!(onward), " order by s.day, s.id limit 200");
    /// Stored submissions that the staff has touched.
    TOUCHED = concat!(
        "select s.inbox_status, case when s.first_touched_at is not null then ",
        bucket!("(s.first_touched_at - s.started_at)"),
        " end, count(*) from cms_formfunnel_submissions s where s.funnel_id = $1 \
         and s.day between $2 and $3 and (cast($4 as bigint) is null or s.version = $4) \
         and (s.inbox_status <> 'new' or s.first_touched_at is not null) and not s.is_spam \
         and not s.is_test group by 1, 2"
    );
    /// Each node as the newest version has it.
    NODES = "select n.node_id, n.type, n.name, n.end_kind, n.depth, n.version_id from \
             (select x.node_id, max(x.version_id) as version_id from \
             cms_formfunnel_version_nodes x join cms_formfunnel_versions v on v.id = x.version_id \
             where v.funnel_id = $1 and (cast($2 as bigint) is null or v.version = $2) \
             group by x.node_id) newest join cms_formfunnel_version_nodes n \
             on n.version_id = newest.version_id and n.node_id = newest.node_id";
    EDGES = "select n.edge_id, n.from_node_id, n.to_node_id, n.branch_label, n.version_id from \
             (select x.edge_id, max(x.version_id) as version_id from \
             cms_formfunnel_version_edges x join cms_formfunnel_versions v on v.id = x.version_id \
             where v.funnel_id = $1 and (cast($2 as bigint) is null or v.version = $2) \
             group by x.edge_id) newest join cms_formfunnel_version_edges n \
             on n.version_id = newest.version_id and n.edge_id = newest.edge_id";
    VERSIONS = "select id, version, published_at from cms_formfunnel_versions where funnel_id = $1 \
                and (cast($2 as bigint) is null or version = $2) order by version desc";
    /// The latest day on which a visit began; blank: there was none. Two searches for the end of
    /// an index.
    LATEST = "select coalesce(max(d.day), '') from (select max(day) as day from \
              cms_formfunnel_daily where funnel_id = $1 union all select max(day) as day from \
              cms_formfunnel_submissions where not folded and funnel_id = $1) d";
    OLDEST = "select day, started_at from cms_formfunnel_submissions where funnel_id = $1 \
              order by started_at, id limit 1";
}

/// The statements that read submissions.
#[cfg(feature = "testing")]
pub(super) const READS: [Statement; 8] = [
    OPEN_VISITS, OPEN_WAYS, OPEN_SOURCES, OPEN_DURATIONS, OPEN_STEPS, OPEN_MAILS, OPEN_ANSWERS,
    TOUCHED,
];

/// A node: its id, type, name, kind of end, depth, and the version that it is read from.
pub(super) type Node = (i64, String, String, Option<String>, Option<i64>, i64);

/// An edge: its id, where it begins and leads, its branch, and the version that it is read from.
pub(super) type Edge = (i64, i64, i64, String, i64);

/// A state of the inbox, how long it took until the first touch, and how many.
pub(super) type Touched = (String, Option<i64>, i64);

/// Which visits are read.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) funnel: i64,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) version: Option<i64>,
    pub(super) now: Millis,
}

impl Scope {
    fn args(&self) -> Vec<Value> {
        args![self.funnel, &self.from, &self.to, self.version]
    }

    fn timed(&self) -> Vec<Value> {
        args![self.funnel, &self.from, &self.to, self.version, self.now]
    }
}

pub(super) async fn visits(at: &mut Snapshot, scope: &Scope) -> Result<Vec<Visits>> {
    let mut all = at.all(VISITS, scope.args()).await?;
    all.extend(at.all(OPEN_VISITS, scope.timed()).await?);
    Ok(all)
}

pub(super) async fn ways(at: &mut Snapshot, scope: &Scope) -> Result<Vec<Way>> {
    let mut all = at.all(WAYS, scope.args()).await?;
    all.extend(at.all(OPEN_WAYS, scope.timed()).await?);
    Ok(all)
}

/// How long completed visits took.
pub(super) async fn durations(at: &mut Snapshot, scope: &Scope) -> Result<Vec<Tally>> {
    together(at, scope, &[TALLIED_DURATIONS, OPEN_DURATIONS]).await
}

pub(super) async fn tally(at: &mut Snapshot, scope: &Scope) -> Result<Vec<Tally>> {
    let all = [TALLY, OPEN_SOURCES, OPEN_DURATIONS, OPEN_STEPS, OPEN_MAILS];
    together(at, scope, &all).await
}

async fn together(
    at: &mut Snapshot,
    scope: &Scope,
    statements: &[Statement],
) -> Result<Vec<Tally>> {
    let mut all = Vec::new();
    for statement in statements {
        all.extend(at.all::<Tally>(*statement, scope.args()).await?);
    }
    Ok(all)
}

/// A page of answers that are in no counter yet, after the last visit of the page before.
pub(super) async fn answers(
    at: &mut Snapshot,
    scope: &Scope,
    after: Option<Answered>,
) -> Result<Vec<Answered>> {
    let (day, id) = after.map_or((scope.from.clone(), 0), |last| (last.3, last.6));
    at.all(OPEN_ANSWERS, args![scope.funnel, day, &scope.to, scope.version, id]).await
}

pub(super) async fn touched(at: &mut Snapshot, scope: &Scope) -> Result<Vec<Touched>> {
    at.all(TOUCHED, scope.args()).await
}

pub(super) async fn nodes(at: &mut Snapshot, scope: &Scope) -> Result<Vec<Node>> {
    at.all(NODES, args![scope.funnel, scope.version]).await
}

pub(super) async fn edges(at: &mut Snapshot, scope: &Scope) -> Result<Vec<Edge>> {
    at.all(EDGES, args![scope.funnel, scope.version]).await
}

/// Id, number and time of each version, the newest first.
pub(super) async fn versions(at: &mut Snapshot, scope: &Scope) -> Result<Vec<(i64, i64, Millis)>> {
    at.all(VERSIONS, args![scope.funnel, scope.version]).await
}

/// The day of the oldest submission, and when it began.
pub(super) async fn oldest(at: &mut Snapshot, scope: &Scope) -> Result<Option<(String, Millis)>> {
    at.optional(OLDEST, args![scope.funnel]).await
}
