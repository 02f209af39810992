-- Submissions are counted by state from an index alone: whose funnel is deleted does not count.
DROP INDEX cms_formfunnel_submissions_by_inbox;
CREATE INDEX cms_formfunnel_submissions_by_inbox
    ON cms_formfunnel_submissions (inbox_status {{binary}}, started_at, id, funnel_id);
DROP INDEX cms_formfunnel_submissions_by_assigned;
CREATE INDEX cms_formfunnel_submissions_by_assigned
    ON cms_formfunnel_submissions (assigned_to, started_at, id, inbox_status {{binary}}, funnel_id)
    WHERE assigned_to IS NOT NULL;
DROP INDEX cms_formfunnel_submissions_by_start;
CREATE INDEX cms_formfunnel_submissions_by_start
    ON cms_formfunnel_submissions (started_at, id, inbox_status {{binary}}, funnel_id);
