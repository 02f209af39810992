//! Statements that find an address and remove it.

use crate::db::statements;

/// Rows of a table after $1 whose combined columns match one of three patterns: key and text.
macro_rules! holding {
    ($from:literal, $key:literal, $first:literal $(, $next:literal)*) => {
        concat!(
            "select h.id, h.held from (select ", $key, " as id, coalesce(", $first, ", '')",
            $(" || ' ' || coalesce(", $next, ", '')",)*
            " as held from ", $from, " where ", $key, " > $1) h \
             where lower(h.held) like $2 escape '\\' or lower(h.held) like $3 escape '\\' \
             or lower(h.held) like $4 escape '\\' order by h.id limit 100"
        )
    };
}

/// Matches a column with one of three patterns.
macro_rules! matching {
    ($column:literal) => {
        concat!(
            "(lower(",
            $column,
            ") like $1 escape '\\' or lower(",
            $column,
            ") like $2 escape '\\' or lower(",
            $column,
            ") like $3 escape '\\')"
        )
    };
}

statements! {
    /// Without notes, because these may be about others.
    VISITS = holding!(
        "cms_formfunnel_submissions s", "s.id", "s.contact_email", "s.answers_json", "s.summary",
        "s.source_url", "s.referer", "s.utm_source", "s.utm_medium", "s.utm_campaign",
        "s.utm_term", "s.utm_content",
        "(select string_agg(u.file_name, ' ') from cms_formfunnel_uploads u \
        where u.submission_id = s.id)"
    );
    FORMS = holding!("cms_form_submissions", "id", "summary", "answers");
    NOTES = holding!("cms_formfunnel_submissions", "id", "inbox_notes");
    MAILS = holding!(
        "cms_mails", "id", "recipient", "reply_to", "subject", "body_text", "body_html", "reason"
    );
    DELIVERIES = holding!("cms_webhook_deliveries", "id", "error_message", "response");
    JOBS = holding!("cms_webhook_queue", "id", "error_message");
    VIEWS = holding!("cms_formfunnel_views", "id", "name", "query");
    AUDIT = holding!("cms_audit", "id", "row_id", "columns");
    /// Also selects all events of submissions; the person's are recognised by their ids.
    EVENTS = "select id, name, body from cms_events where id > $1 and (lower(body) like $2 \
              escape '\\' or lower(body) like $3 escape '\\' or lower(body) like $4 escape '\\' \
              or name like 'formfunnel.%' or name = 'form.submitted') order by id limit 200";
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
    DELETE_REPLIES = concat!("delete from cms_idempotency where ", matching!("body"));
    COUNT_REPLIES = concat!("select count(*) from cms_idempotency where ", matching!("body"));
    /// The source of a visit may contain the address.
    MERGE_SOURCES = concat!(
        "insert into cms_formfunnel_tally (funnel_id, day, what, node_id, name, value, bucket, \
         version, visits, completed) select funnel_id, day, what, node_id, '[erased]', value, \
         bucket, version, cast(sum(visits) as bigint), cast(sum(completed) as bigint) \
         from cms_formfunnel_tally where what = 'source' and ", matching!("name"),
        " group by funnel_id, day, what, node_id, value, bucket, version \
         on conflict (funnel_id, day, what, node_id, name, value, bucket, version) do update set \
         visits = cms_formfunnel_tally.visits + excluded.visits, \
         completed = cms_formfunnel_tally.completed + excluded.completed"
    );
    DELETE_SOURCES = concat!(
        "delete from cms_formfunnel_tally where what = 'source' and ", matching!("name")
    );
    EMPTY_ATTEMPTS = concat!(
        "update cms_mail_attempts set reason = null where ", matching!("reason")
    );
    EMPTY_PROVIDERS = concat!(
        "update cms_mail_providers set reason = null where ", matching!("reason")
    );
}
