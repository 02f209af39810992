CREATE UNIQUE INDEX cms_formfunnel_counts_by_state
    ON cms_formfunnel_counts (funnel_id, inbox_status);
CREATE TRIGGER cms_formfunnel_counts_insert AFTER INSERT ON cms_formfunnel_submissions BEGIN
    INSERT INTO cms_formfunnel_counts VALUES (new.funnel_id, new.inbox_status, 1)
        ON CONFLICT (funnel_id, inbox_status) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER cms_formfunnel_counts_delete AFTER DELETE ON cms_formfunnel_submissions BEGIN
    INSERT INTO cms_formfunnel_counts VALUES (old.funnel_id, old.inbox_status, -1)
        ON CONFLICT (funnel_id, inbox_status) DO UPDATE SET n = n - 1;
END;
CREATE TRIGGER cms_formfunnel_counts_update
    AFTER UPDATE OF inbox_status ON cms_formfunnel_submissions
    WHEN old.inbox_status <> new.inbox_status BEGIN
    INSERT INTO cms_formfunnel_counts VALUES (old.funnel_id, old.inbox_status, -1)
        ON CONFLICT (funnel_id, inbox_status) DO UPDATE SET n = n - 1;
    INSERT INTO cms_formfunnel_counts VALUES (new.funnel_id, new.inbox_status, 1)
        ON CONFLICT (funnel_id, inbox_status) DO UPDATE SET n = n + 1;
END;
