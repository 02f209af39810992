-- Forms, served as the content table `forms`.
CREATE TABLE cms_forms (
    id {{id}},
    name TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    -- Declarations of fields.
    fields {{json}} NOT NULL,
    -- Addresses of mail.
    recipients {{json}} NOT NULL DEFAULT '[]',
    thanks TEXT,
    redirect_url TEXT,
    -- A submission sent sooner is marked as spam; 0 switches this off.
    min_seconds BIGINT NOT NULL DEFAULT 0,
    -- Null: submissions are kept.
    retention_days BIGINT,
    active BOOLEAN NOT NULL DEFAULT {{true}}
) {{strict}};
CREATE UNIQUE INDEX cms_forms_name ON cms_forms (name);

CREATE TABLE cms_form_submissions (
    id {{id}},
    form_id BIGINT NOT NULL REFERENCES cms_forms (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    spam BOOLEAN NOT NULL,
    -- The first answers, for lists.
    summary TEXT NOT NULL,
    -- JSON: the answers, each with what was asked.
    answers TEXT NOT NULL
) {{strict}};
CREATE INDEX cms_form_submissions_by_form ON cms_form_submissions (form_id, created_at, id);
CREATE INDEX cms_form_submissions_by_form_and_spam
    ON cms_form_submissions (form_id, spam, created_at, id);
CREATE INDEX cms_form_submissions_by_time ON cms_form_submissions (created_at, id);
CREATE INDEX cms_form_submissions_by_spam ON cms_form_submissions (spam, created_at, id);
