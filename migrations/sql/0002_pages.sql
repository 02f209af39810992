CREATE TABLE cms_pages (
    id {{id}},
    base_id BIGINT,
    language_short TEXT NOT NULL,
    parent_id BIGINT REFERENCES cms_pages (id),
    url_rewrite TEXT NOT NULL,
    title TEXT NOT NULL,
    view TEXT,
    sort_order BIGINT NOT NULL DEFAULT 0,
    published BOOLEAN NOT NULL DEFAULT {{false}},
    meta_title TEXT,
    meta_description TEXT
) {{strict}};
CREATE UNIQUE INDEX cms_pages_version ON cms_pages (base_id, language_short);
CREATE UNIQUE INDEX cms_pages_url ON cms_pages (url_rewrite);
CREATE UNIQUE INDEX cms_pages_view ON cms_pages (view, language_short);

CREATE TABLE cms_menu_items (
    id {{id}},
    menu TEXT NOT NULL,
    parent_id BIGINT REFERENCES cms_menu_items (id) ON DELETE CASCADE,
    title TEXT NOT NULL,
    url TEXT NOT NULL,
    target TEXT NOT NULL DEFAULT '_self',
    language_short TEXT NOT NULL,
    sort_order BIGINT NOT NULL DEFAULT 0
) {{strict}};
CREATE INDEX cms_menu_items_by_menu ON cms_menu_items (menu, language_short, sort_order);

CREATE TABLE cms_settings (
    name TEXT PRIMARY KEY,
    value {{json}},
    public BOOLEAN NOT NULL DEFAULT {{false}}
) {{strict}};
