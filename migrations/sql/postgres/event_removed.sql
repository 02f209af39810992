CREATE FUNCTION cms_event_removed() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $body$
BEGIN
    UPDATE cms_event_consumers SET has_gap = true
        WHERE event_id <> OLD.id AND coalesce(
            (SELECT (e.rowid, e.id) < (OLD.rowid, OLD.id) FROM cms_events e WHERE e.id = event_id),
            true);
    -- Not an event that another change removes now.
    UPDATE cms_event_consumers SET event_id = coalesce((SELECT e.id FROM cms_events e
        WHERE (e.rowid, e.id) < (OLD.rowid, OLD.id) ORDER BY e.rowid DESC, e.id DESC LIMIT 1
        FOR KEY SHARE SKIP LOCKED), '') WHERE event_id = OLD.id;
    RETURN OLD;
END $body$;
CREATE TRIGGER cms_event_removed BEFORE DELETE ON cms_events
    FOR EACH ROW EXECUTE FUNCTION cms_event_removed();
