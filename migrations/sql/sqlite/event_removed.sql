CREATE TRIGGER cms_event_removed BEFORE DELETE ON cms_events BEGIN
    UPDATE cms_event_consumers SET has_gap = true WHERE event_id <> old.id AND coalesce(
        (SELECT e.rowid < old.rowid FROM cms_events e WHERE e.id = event_id), true);
    UPDATE cms_event_consumers SET event_id = coalesce((SELECT e.id FROM cms_events e
        WHERE e.rowid < old.rowid ORDER BY e.rowid DESC LIMIT 1), '') WHERE event_id = old.id;
END;
