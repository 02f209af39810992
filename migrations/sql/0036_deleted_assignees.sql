-- Submissions that are assigned to a deleted user are assigned to nobody.
UPDATE cms_formfunnel_submissions
    SET assigned_to = NULL, assigned_bulk_id = NULL, inbox_rev = inbox_rev + 1
    WHERE assigned_to IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM cms_users u WHERE u.id = assigned_to);
