-- When the presented node was shown, and when a visit that rests counts as abandoned: null where
-- its funnel marks none, and for visits that are not in progress.
ALTER TABLE cms_formfunnel_submissions ADD COLUMN presented_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cms_formfunnel_submissions ADD COLUMN abandon_due_at BIGINT;
UPDATE cms_formfunnel_submissions SET presented_at = last_activity_at;
UPDATE cms_formfunnel_submissions SET abandon_due_at = last_activity_at + 60000 * (
    SELECT f.abandon_after_min FROM cms_formfunnels f
    WHERE f.id = cms_formfunnel_submissions.funnel_id AND f.save_abandoned)
WHERE status = 'in_progress';
CREATE INDEX cms_formfunnel_submissions_due
    ON cms_formfunnel_submissions (abandon_due_at, id) WHERE abandon_due_at IS NOT NULL;
DROP INDEX cms_formfunnel_submissions_by_activity;

-- The sizes of files that no answer names are added up for every new one.
DROP INDEX cms_formfunnel_uploads_unattached;
CREATE INDEX cms_formfunnel_uploads_unattached
    ON cms_formfunnel_uploads (attached, created_at, size);

-- One row: the salt of this day's client hashes. It is overwritten on the next day, so that nobody
-- can find an address from a hash by trying all.
CREATE TABLE cms_formfunnel_salt (
    day BIGINT NOT NULL,
    salt TEXT NOT NULL
) {{strict}};
INSERT INTO cms_formfunnel_salt (day, salt) VALUES (-1, '');
