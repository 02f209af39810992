-- The inbox of funnels. inbox_rev is raised by every change of inbox_status, inbox_notes and
-- assigned_to. The others name the bulk change that wrote a value; null once anybody else has.
ALTER TABLE cms_formfunnel_submissions ADD COLUMN inbox_rev BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cms_formfunnel_submissions ADD COLUMN status_bulk_id BIGINT;
ALTER TABLE cms_formfunnel_submissions ADD COLUMN assigned_bulk_id BIGINT;
CREATE INDEX cms_formfunnel_submissions_by_start
    ON cms_formfunnel_submissions (started_at, id);
CREATE INDEX cms_formfunnel_submissions_by_inbox
    ON cms_formfunnel_submissions (inbox_status {{binary}}, started_at, id);
CREATE INDEX cms_formfunnel_submissions_by_funnel_inbox
    ON cms_formfunnel_submissions (funnel_id, inbox_status {{binary}}, started_at, id);
CREATE INDEX cms_formfunnel_submissions_by_assigned
    ON cms_formfunnel_submissions (assigned_to, started_at, id) WHERE assigned_to IS NOT NULL;
CREATE INDEX cms_formfunnel_submissions_by_email
    ON cms_formfunnel_submissions (lower(contact_email)) WHERE contact_email IS NOT NULL;

-- A submission is deleted with the mails that it caused.
CREATE INDEX cms_mails_by_cause ON cms_mails (cause) WHERE cause IS NOT NULL;

-- The last bulk change of each caller, to be undone.
CREATE TABLE cms_formfunnel_bulks (
    id {{id}},
    -- user:3, key:5, operator.
    owner TEXT NOT NULL,
    -- set_status, assign, delete.
    op TEXT NOT NULL,
    -- Submissions that it changed.
    changed BIGINT NOT NULL,
    created_at BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_formfunnel_bulks_by_owner ON cms_formfunnel_bulks (owner, id);

-- What it has changed: the submissions as they were before.
CREATE TABLE cms_formfunnel_bulk_rows (
    bulk_id BIGINT NOT NULL REFERENCES cms_formfunnel_bulks (id) ON DELETE CASCADE,
    submission_id BIGINT NOT NULL REFERENCES cms_formfunnel_submissions (id) ON DELETE CASCADE,
    inbox_status TEXT NOT NULL,
    assigned_to BIGINT,
    inbox_rev BIGINT NOT NULL,
    first_touched_at BIGINT,
    PRIMARY KEY (bulk_id, submission_id)
) {{strict}};
CREATE INDEX cms_formfunnel_bulk_rows_by_submission ON cms_formfunnel_bulk_rows (submission_id);

-- Saved views of the inbox.
CREATE TABLE cms_formfunnel_views (
    id {{id}},
    -- user:3, key:5, operator.
    owner TEXT NOT NULL,
    user_id BIGINT REFERENCES cms_users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    -- JSON: filter, search, sort.
    query TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
) {{strict}};
CREATE UNIQUE INDEX cms_formfunnel_views_by_owner ON cms_formfunnel_views (owner, name);
CREATE INDEX cms_formfunnel_views_by_user ON cms_formfunnel_views (user_id);

-- Without what deleted funnels have left. The joins stand in the order in which lists are read.
DROP VIEW cms_v_funnel_inbox;
CREATE VIEW cms_v_funnel_inbox AS
SELECT s.id AS submission_id, s.funnel_id, f.name AS funnel_name, s.version, s.language_short,
    s.status, s.inbox_status, s.is_spam, s.is_test, s.assigned_to, u.username AS assigned_name,
    s.contact_name, s.contact_email, s.contact_phone, s.company, s.summary, s.score,
    s.last_node_id, n.name AS last_node_name, s.end_node_id, s.end_kind, s.steps_answered,
    s.progress_pct, s.reference, s.source_url, s.referer, s.utm_source, s.utm_medium,
    s.utm_campaign, s.utm_term, s.utm_content, s.mail_rule_id, s.mail_status, s.started_at,
    s.last_activity_at, s.completed_at, s.abandoned_at,
    (s.completed_at - s.started_at) / 1000 AS duration_s, s.first_touched_at, s.expires_at,
    s.inbox_rev
FROM cms_formfunnel_submissions s
CROSS JOIN cms_formfunnels f
LEFT JOIN cms_users u ON u.id = s.assigned_to
LEFT JOIN cms_formfunnel_version_nodes n
    ON n.version_id = s.version_id AND n.node_id = s.last_node_id
WHERE f.id = s.funnel_id AND f.status <> 'deleted';
