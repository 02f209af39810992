//! The queries that count visits. One text serves for visits that a change folds, and for visits
//! that are not folded yet and are counted during a read. Columns have the names of the counters.

/// Visits that a change folds. The visitor of an uncompleted visit counts as gone.
macro_rules! folding {
    (gone) => {
        "1 = 1"
    };
    (last $waiting:expr) => {
        ""
    };
    // Anybody can send any source, so a day has room for only about a hundred sources.
    (source) => {
        concat!(
            "case when ",
            $crate::funnels::counters::select::folding!(known),
            " then coalesce(s.utm_source, '') else '' end as name, \
             case when coalesce(s.utm_source, '') = '' or ",
            $crate::funnels::counters::select::folding!(known),
            " then '' else 'other' end as value"
        )
    };
    (known) => {
        "(exists (select 1 from cms_formfunnel_tally t where t.funnel_id = s.funnel_id and t.day = \
         s.day and t.what = 'source' and t.node_id = 0 and t.name = s.utm_source) or (select \
         count(distinct t.name) from cms_formfunnel_tally t where t.funnel_id = s.funnel_id \
         and t.day = s.day and t.what = 'source') < 100)"
    };
    ($joined:literal) => {
        concat!(
            "from cms_formfunnel_folding f cross join cms_formfunnel_submissions s",
            $joined,
            " where s.id = f.submission_id and not s.folded and not s.is_test"
        )
    };
}

/// Visits of the funnel $1 from the day $2 to $3, of the version $4 or of all, that are not folded.
/// $5 is the time.
macro_rules! open {
    (gone) => {
        "(s.status = 'abandoned' or s.expires_at <= $5)"
    };
    (last $waiting:expr) => {
        $waiting
    };
    (source) => {
        "coalesce(s.utm_source, '') as name, '' as value"
    };
    ($joined:literal) => {
        concat!(
            "from cms_formfunnel_submissions s",
            $joined,
            " where not s.folded and s.funnel_id = $1 and s.day between $2 and $3 \
             and (cast($4 as bigint) is null or s.version = $4) and not s.is_test"
        )
    };
}

/// How many of the rows of a group fulfil a condition.
macro_rules! number {
    ($($when:expr),+) => {
        concat!("sum(case when ", $($when,)+ " then 1 else 0 end)")
    };
}

/// Visits, by day.
macro_rules! visits {
    ($of:ident) => {
        concat!(
            "select s.funnel_id, s.version, s.day, 0, 0, ",
            number!("not s.is_spam"),
            " as started, ",
            number!("not s.is_spam and s.steps_answered > 0"),
            " as engaged, ",
            number!("not s.is_spam and s.completed_at is not null"),
            " as completed, ",
            number!("not s.is_spam and s.completed_at is null and ", $of!(gone)),
            " as abandoned, ",
            number!("s.is_spam"),
            " as spam",
            $of!(last concat!(
                ", ",
                number!("not s.is_spam and s.completed_at is null and not ", $of!(gone)),
                " as in_progress"
            )),
            " ",
            $of!(""),
            " group by s.funnel_id, s.version, s.day"
        )
    };
}

/// Visits at each node and edge of their ways, as `cms_v_funnel_dropoff_30d` counts them. On a
/// counted way each node is presented once and answered at most once, and each edge is taken once.
macro_rules! ways {
    ($of:ident) => {
        concat!(
            "select s.funnel_id, s.version, s.day, case when e.kind = 'edge' then 0 else e.node_id \
             end as node_id, coalesce(e.edge_id, 0) as edge_id, ",
            number!("e.on_path and e.kind = 'presented'"),
            " as entered, ",
            number!(
                "e.on_path and e.kind = case when s.completed_at is null then 'answered' \
                 else 'presented' end"
            ),
            " as answered, ",
            left!($of!(gone)),
            " as exited, ",
            number!("e.kind = 'rewound'"),
            " as rewound, ",
            number!("e.kind = 'invalid'"),
            " as invalid, cast(coalesce(sum(case when e.kind = 'answered' then e.dwell_ms end), 0) \
             as bigint) as dwell_ms, ",
            number!("e.kind = 'answered' and e.dwell_ms is not null"),
            " as dwelt, ",
            number!("e.on_path and e.kind = 'edge'"),
            " as traversed, ",
            number!(
                "e.on_path and s.completed_at is not null and (e.kind = 'edge' \
                 or (e.kind = 'presented' and e.node_id = s.end_node_id))"
            ),
            " as completed, ",
            number!("e.on_path and e.kind = 'edge' and s.score is not null"),
            " as scored, coalesce(sum(case when e.on_path and e.kind = 'edge' then s.score end), \
             0.0) as score",
            $of!(last concat!(", ", left!("not ", $of!(gone)), " as waiting")),
            " ",
            $of!(" cross join cms_formfunnel_events e"),
            " and e.submission_id = s.id and not s.is_spam and e.node_id is not null \
             and e.kind in ('presented', 'answered', 'edge', 'rewound', 'invalid') \
             and (e.on_path or e.kind = 'answered') group by s.funnel_id, s.version, s.day, 4, 5"
        )
    };
}

/// Visits that were not completed and ended at, or are at, a node.
macro_rules! left {
    ($($who:expr),+) => {
        concat!(
            "sum(case when e.on_path and s.completed_at is null and ",
            $($who,)+
            " then case e.kind when 'presented' then 1 when 'answered' then -1 else 0 end \
             else 0 end)"
        )
    };
}

/// Milliseconds, rounded down to two digits.
macro_rules! bucket {
    ($ms:literal) => {
        concat!(
            "case when ",
            $ms,
            " < 10 then 0 else cast(substr(cast(",
            $ms,
            " as text), 1, 2) || substr('0000000000000000', 1, length(cast(",
            $ms,
            " as text)) - 2) as bigint) end"
        )
    };
}

/// Where visits came from.
macro_rules! sources {
    ($of:ident) => {
        concat!(
            "select s.funnel_id, s.version, s.day, 'source' as what, \
             cast(0 as bigint) as node_id, ",
            $of!(source),
            ", cast(0 as bigint) as bucket, count(*) as visits, ",
            number!("s.completed_at is not null"),
            " as completed ",
            $of!(""),
            " and not s.is_spam group by s.funnel_id, s.version, s.day, 6, 7"
        )
    };
}

/// How long completed visits took.
macro_rules! durations {
    ($of:ident) => {
        concat!(
            "select s.funnel_id, s.version, s.day, 'duration' as what, \
             cast(0 as bigint) as node_id, '' as name, '' as value, ",
            bucket!("(s.completed_at - s.started_at)"),
            " as bucket, count(*) as visits, cast(0 as bigint) as completed ",
            $of!(""),
            " and not s.is_spam and s.completed_at is not null \
             group by s.funnel_id, s.version, s.day, 8"
        )
    };
}

/// How long steps were seen, and which answers were refused.
macro_rules! steps {
    ($of:ident) => {
        concat!(
            "select s.funnel_id, s.version, s.day, case when e.kind = 'invalid' then 'invalid' \
             else 'dwell' end as what, e.node_id, coalesce(e.field, '') as name, '' as value, \
             case when e.kind = 'invalid' \
             then 0 else ",
            bucket!("e.dwell_ms"),
            " end as bucket, count(*) as visits, cast(0 as bigint) as completed ",
            $of!(" cross join cms_formfunnel_events e"),
            " and e.submission_id = s.id and not s.is_spam and e.node_id is not null and \
             ((e.kind = 'answered' and e.dwell_ms is not null) or (e.kind = 'invalid' \
             and e.field is not null)) group by s.funnel_id, s.version, s.day, 4, 5, 6, 8"
        )
    };
}

/// Settled mails of visits, and visits that no mail rule matched.
macro_rules! mails {
    ($of:ident) => {
        concat!(
            "select s.funnel_id, s.version, s.day, 'mail' as what, cast(0 as bigint) as node_id, \
             m.status as name, '' as value, cast(0 as bigint) as bucket, count(*) as visits, \
             cast(0 as bigint) as completed ",
            $of!(" cross join cms_mails m"),
            " and not s.is_spam and s.mail_rule_id is not null \
             and m.cause = 'funnel submission ' || s.id and m.status in ('sent', 'failed') \
             group by s.funnel_id, s.version, s.day, m.status union all \
             select s.funnel_id, s.version, s.day, 'mail', cast(0 as bigint), 'unmatched', '', \
             cast(0 as bigint), count(*), cast(0 as bigint) ",
            $of!(""),
            " and not s.is_spam and s.mail_status = 'unmatched' \
             group by s.funnel_id, s.version, s.day"
        )
    };
}

/// The answers of completed visits. Answers of more than 64 KiB are not counted.
macro_rules! answers {
    ($of:ident) => {
        concat!(
            "select s.version_id, s.funnel_id, s.version, s.day, s.path_json, \
             case when length(s.answers_json) <= 65536 then s.answers_json end, s.id ",
            $of!(""),
            " and not s.is_spam and s.completed_at is not null"
        )
    };
}

pub(in crate::funnels) use {
    answers, bucket, durations, folding, left, mails, number, open, sources, steps, visits, ways,
};
