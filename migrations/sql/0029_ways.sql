-- What the caller of a kept reply could do: a repetition after that has changed is shown no more than
-- ids. Of replies kept before nobody knows.
ALTER TABLE cms_idempotency ADD COLUMN rights TEXT;

-- An address is unique among the pages of a language.
DROP INDEX cms_pages_url;
CREATE UNIQUE INDEX cms_pages_url ON cms_pages (url_rewrite, language_short);
