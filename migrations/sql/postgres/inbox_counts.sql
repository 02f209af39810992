CREATE FUNCTION cms_formfunnel_counted() RETURNS trigger LANGUAGE plpgsql
    SET search_path FROM CURRENT AS $body$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO cms_formfunnel_counts VALUES (OLD.funnel_id, OLD.inbox_status, -1);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO cms_formfunnel_counts VALUES (NEW.funnel_id, NEW.inbox_status, 1);
    END IF;
    RETURN NULL;
END $body$;
CREATE TRIGGER cms_formfunnel_counts_rows AFTER INSERT OR DELETE ON cms_formfunnel_submissions
    FOR EACH ROW EXECUTE FUNCTION cms_formfunnel_counted();
CREATE TRIGGER cms_formfunnel_counts_update
    AFTER UPDATE OF inbox_status ON cms_formfunnel_submissions
    FOR EACH ROW WHEN (OLD.inbox_status <> NEW.inbox_status)
    EXECUTE FUNCTION cms_formfunnel_counted();
