-- The inbox among a million submissions. Orders that staff asks for; each column is written once or
-- twice in a visit.
CREATE INDEX cms_formfunnel_submissions_by_score ON cms_formfunnel_submissions (score, id);
CREATE INDEX cms_formfunnel_submissions_by_inbox_score
    ON cms_formfunnel_submissions (inbox_status {{binary}}, score, id);
CREATE INDEX cms_formfunnel_submissions_by_completion
    ON cms_formfunnel_submissions (completed_at, id);
CREATE INDEX cms_formfunnel_submissions_by_name
    ON cms_formfunnel_submissions (contact_name {{binary}}, id);
CREATE INDEX cms_formfunnel_submissions_by_address
    ON cms_formfunnel_submissions (contact_email {{binary}}, id);

-- How many submissions of a funnel are in a state of the inbox: the sum of n. Triggers keep it, so
-- that it is right whoever writes.
CREATE TABLE cms_formfunnel_counts (
    funnel_id BIGINT NOT NULL,
    inbox_status TEXT NOT NULL,
    n BIGINT NOT NULL
) {{strict}};
INSERT INTO cms_formfunnel_counts (funnel_id, inbox_status, n)
    SELECT funnel_id, inbox_status, count(*) FROM cms_formfunnel_submissions
    GROUP BY funnel_id, inbox_status;
{{inbox_counts}}

-- Where searches look.
{{inbox_search}}
