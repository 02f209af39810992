-- Links that show the draft of a page without a login. What opens them is kept as a digest alone.
CREATE TABLE cms_page_links (
    id {{id}},
    page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
    digest TEXT NOT NULL UNIQUE,
    note TEXT,
    actor_kind TEXT NOT NULL,
    actor_id BIGINT,
    actor_name TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_page_links_by_page ON cms_page_links (page_id, id);
CREATE INDEX cms_page_links_by_end ON cms_page_links (expires_at);
