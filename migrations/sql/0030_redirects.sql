-- Old addresses of the site and where they lead, served as the content table `redirects`.
CREATE TABLE cms_redirects (
    id {{id}},
    -- A path; with /* at its end every path below it.
    "from" TEXT NOT NULL,
    -- A path or an address; null where nothing takes its place (410). * stands for what * of "from"
    -- matched.
    "to" TEXT,
    status BIGINT NOT NULL DEFAULT 301,
    -- Null: for every language.
    language_short TEXT,
    active BOOLEAN NOT NULL DEFAULT {{true}},
    hits BIGINT NOT NULL DEFAULT 0,
    last_hit_at TEXT
) {{strict}};
CREATE UNIQUE INDEX cms_redirects_from ON cms_redirects ("from", coalesce(language_short, ''));
CREATE INDEX cms_redirects_to ON cms_redirects ("to");
