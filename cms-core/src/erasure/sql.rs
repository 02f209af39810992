//! Statements that find an address and remove it.

use crate::db::statements;

/// Whether a text may contain the address: two patterns match parts of it. `needles` decides which
/// texts do.
macro_rules! may_hold {
    ($text:literal, $one:literal, $other:literal) => {
        concat!("(lower(", $text, ") like ", $one, " or lower(", $text, ") like ", $other, ")")
    };
}

/// Rows of a table after $1 whose combined columns may contain the address: key and text. Columns
/// that hold an address alone, and the answers in a summary, are put in quotes: `needles` leaves
/// longer addresses alone that stand in quotes.
macro_rules! holding {
    ($from:literal, $key:literal, $first:literal $(, $next:literal)*) => {
        concat!(
            "select h.id, h.held from (select ", $key, " as id, coalesce(", $first, ", '')",
            $(" || ' ' || coalesce(", $next, ", '')",)*
            " as held from ", $from, " where ", $key, " > $1) h where ",
            may_hold!("h.held", "$2", "$3"), " order by h.id limit 100"
        )
    };
}

statements! {
    /// Without notes, because these may be about others.
    VISITS = holding!(
        "cms_formfunnel_submissions s", "s.id", r#"'"' || s.contact_email || '"'"#,
        "s.answers_json", r#"'"' || replace(s.summary, ' · ', '" "') || '"'"#, "s.source_url",
        "s.referer", "s.utm_source", "s.utm_medium", "s.utm_campaign", "s.utm_term",
        "s.utm_content", "(select string_agg(u.file_name, ' ') \
        from cms_formfunnel_uploads u where u.submission_id = s.id)"
    );
    FORMS = holding!(
        "cms_form_submissions", "id", r#"'"' || replace(summary, ' · ', '" "') || '"'"#, "answers"
    );
    NOTES = holding!("cms_formfunnel_submissions", "id", "inbox_notes");
    MAILS = holding!(
        "cms_mails", "id", r#"'"' || recipient || '"'"#, r#"'"' || reply_to || '"'"#, "subject",
        "body_text", "body_html", "reason"
    );
    DELIVERIES = holding!("cms_webhook_deliveries", "id", "error_message", "response");
    JOBS = holding!("cms_webhook_queue", "id", "error_message");
    VIEWS = holding!("cms_formfunnel_views", "id", "name", "query");
    AUDIT = holding!("cms_audit", "id", "row_id", "columns");
    ATTEMPTS = holding!("cms_mail_attempts", "id", "reason");
    EVENTS = concat!(
        "select id, name, body from cms_events where id > $1 and ",
        may_hold!("body", "$2", "$3"), " order by id limit 200"
    );
    /// The events of all submissions.
    ANSWERS = "select id, name, body from cms_events where id > $1 and (name like 'formfunnel.%' \
               or name = 'form.submitted') order by id limit 200";
    VISIT = "select id from cms_formfunnel_submissions where id = $1";
    FORM = "select id from cms_form_submissions where id = $1";
    /// Requests under way (status 0) still need their row.
    REPLIES = concat!(
        "select caller, idempotency_key, idempotency_key || ' ' || coalesce(body, '') \
         from cms_idempotency where (caller, idempotency_key) > ($1, $2) and status <> 0 and ",
        may_hold!("idempotency_key || ' ' || coalesce(body, '')", "$3", "$4"),
        " order by caller, idempotency_key limit 100"
    );
    /// The source of a visit may contain the address.
    SOURCES = concat!(
        "select distinct name from cms_formfunnel_tally where what = 'source' and ",
        may_hold!("name", "$1", "$2")
    );
    PROVIDERS = "select name, reason from cms_mail_providers where reason is not null";
    DELETE_EVENT = "delete from cms_events where id = $1";
    DELETE_EVENT_JOBS = "delete from cms_webhook_queue where event_id = $1";
    DELETE_EVENT_DELIVERIES = "delete from cms_webhook_deliveries where event_id = $1";
    EMPTY_DELIVERY = "update cms_webhook_deliveries set error_message = null, response = null \
                      where id = $1";
    EMPTY_JOB = "update cms_webhook_queue set error_message = null where id = $1";
    DELETE_MAIL = "delete from cms_mails where id = $1";
    DELETE_MAILS_OF = "delete from cms_mails where cause = $1";
    DELETE_FORM = "delete from cms_form_submissions where id = $1";
    DELETE_VIEW = "delete from cms_formfunnel_views where id = $1";
    EMPTY_AUDIT = "update cms_audit set row_id = $2, columns = '[]' where id = $1";
    DELETE_RATIONS = "delete from cms_mail_rations where recipient in ($1, $2)";
    COUNT_RATIONS = "select count(*) from cms_mail_rations where recipient in ($1, $2)";
    DELETE_REPLY = "delete from cms_idempotency where caller = $1 and idempotency_key = $2 \
                    and status <> 0";
    MERGE_SOURCE = "insert into cms_formfunnel_tally (funnel_id, day, what, node_id, name, value, \
                    bucket, version, visits, completed) select funnel_id, day, what, node_id, \
                    '[erased]', value, bucket, version, cast(sum(visits) as bigint), \
                    cast(sum(completed) as bigint) from cms_formfunnel_tally \
                    where what = 'source' and name = $1 \
                    group by funnel_id, day, what, node_id, value, bucket, version \
                    on conflict (funnel_id, day, what, node_id, name, value, bucket, version) \
                    do update set visits = cms_formfunnel_tally.visits + excluded.visits, \
                    completed = cms_formfunnel_tally.completed + excluded.completed";
    DELETE_SOURCE = "delete from cms_formfunnel_tally where what = 'source' and name = $1";
    EMPTY_ATTEMPT = "update cms_mail_attempts set reason = null where id = $1";
    EMPTY_PROVIDER = "update cms_mail_providers set reason = null where name = $1";
}
