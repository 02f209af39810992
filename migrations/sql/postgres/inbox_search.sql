-- The extension may be refused, or lie in any schema; one that lay in this one would go with it.
DO $body$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm') THEN
        CREATE EXTENSION pg_trgm WITH SCHEMA public;
    END IF;
    EXECUTE (SELECT format($index$CREATE INDEX cms_formfunnel_submissions_search ON cms_formfunnel_submissions USING gin (lower((coalesce(contact_name, '') || E'\n' || coalesce(contact_email, '') || E'\n' || coalesce(contact_phone, '') || E'\n' || coalesce(company, '') || E'\n' || coalesce(summary, '') || E'\n' || coalesce(reference, '')) collate "C") %I.gin_trgm_ops)$index$, n.nspname)
        FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'pg_trgm');
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'searches of the inbox have no index: %', SQLERRM;
END $body$;
