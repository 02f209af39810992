-- Rows of visits that have answered nothing hold no text.
CREATE VIRTUAL TABLE cms_formfunnel_search
    USING fts5 (text, tokenize = 'trigram', detail = 'none', columnsize = 0);
CREATE TABLE cms_formfunnel_search_late (submission_id INTEGER PRIMARY KEY) STRICT;
INSERT INTO cms_formfunnel_search_late SELECT id FROM cms_formfunnel_submissions;
CREATE TRIGGER cms_formfunnel_search_insert AFTER INSERT ON cms_formfunnel_submissions
    WHEN new.summary <> '' OR coalesce(new.contact_name, new.contact_email, new.contact_phone,
        new.company, new.reference) IS NOT NULL BEGIN
    INSERT OR IGNORE INTO cms_formfunnel_search_late VALUES (new.id);
END;
CREATE TRIGGER cms_formfunnel_search_delete AFTER DELETE ON cms_formfunnel_submissions BEGIN
    INSERT OR IGNORE INTO cms_formfunnel_search_late VALUES (old.id);
END;
CREATE TRIGGER cms_formfunnel_search_update
    AFTER UPDATE OF contact_name, contact_email, contact_phone, company, summary, reference
    ON cms_formfunnel_submissions
    WHEN new.summary <> old.summary OR new.contact_name IS NOT old.contact_name
        OR new.contact_email IS NOT old.contact_email
        OR new.contact_phone IS NOT old.contact_phone OR new.company IS NOT old.company
        OR new.reference IS NOT old.reference BEGIN
    INSERT OR IGNORE INTO cms_formfunnel_search_late VALUES (new.id);
END;
