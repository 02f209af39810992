-- The page builder: drafts of pages as rows, columns, widgets and items; what was published of them.

-- How often the draft was edited.
ALTER TABLE cms_pages ADD COLUMN draft_rev BIGINT NOT NULL DEFAULT 0;
-- Number of the revision that visitors see while the page is published.
ALTER TABLE cms_pages ADD COLUMN revision BIGINT;
ALTER TABLE cms_pages ADD COLUMN publish_at BIGINT;
ALTER TABLE cms_pages ADD COLUMN take_off_at BIGINT;
CREATE INDEX cms_pages_publish_at ON cms_pages (publish_at) WHERE publish_at IS NOT NULL;
CREATE INDEX cms_pages_take_off_at ON cms_pages (take_off_at) WHERE take_off_at IS NOT NULL;

CREATE TABLE cms_page_rows (
    id {{id}},
    page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
    sort_order BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_page_rows_by_page ON cms_page_rows (page_id, sort_order);

CREATE TABLE cms_page_cols (
    id {{id}},
    page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
    row_id BIGINT NOT NULL REFERENCES cms_page_rows (id) ON DELETE CASCADE,
    sort_order BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_page_cols_by_page ON cms_page_cols (page_id);
CREATE INDEX cms_page_cols_by_row ON cms_page_cols (row_id, sort_order);

-- Placed widgets. The columns after `widget` are the `row` values of their menus.
CREATE TABLE cms_page_row_col_widget (
    id {{id}},
    page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
    col_id BIGINT NOT NULL REFERENCES cms_page_cols (id) ON DELETE CASCADE,
    sort_order BIGINT NOT NULL,
    widget TEXT NOT NULL,
    title TEXT,
    subtitle TEXT,
    level TEXT,
    align TEXT,
    text TEXT,
    css TEXT,
    image TEXT,
    alt TEXT,
    link TEXT,
    target TEXT,
    width TEXT,
    menu TEXT,
    network TEXT,
    page TEXT,
    height TEXT,
    mobile_height TEXT,
    line TEXT,
    color TEXT,
    style TEXT,
    size TEXT,
    icon TEXT,
    link_text TEXT,
    placement TEXT,
    overlay_color TEXT,
    mobile_image TEXT,
    image_side TEXT,
    background_color TEXT,
    per_row TEXT,
    account TEXT,
    date TEXT,
    address TEXT,
    latitude TEXT,
    longitude TEXT,
    zoom TEXT,
    email TEXT,
    location TEXT,
    employment TEXT,
    start_date TEXT,
    end_date TEXT,
    layout TEXT,
    lightbox TEXT,
    category TEXT,
    amount TEXT,
    ordering TEXT,
    show_date TEXT,
    form TEXT,
    consent TEXT,
    privacy_link TEXT,
    show_filter TEXT,
    product TEXT,
    show_price TEXT,
    show_orders TEXT,
    allow_guests TEXT,
    terms_link TEXT,
    success_link TEXT,
    period TEXT,
    channel TEXT,
    show_stock TEXT,
    show_related TEXT,
    show_vouchers TEXT,
    hint TEXT,
    search_index TEXT,
    course TEXT,
    show_progress TEXT,
    starts_at TEXT,
    ends_at TEXT,
    opens TEXT,
    closes TEXT,
    funnel TEXT
) {{strict}};
CREATE INDEX cms_page_row_col_widget_by_page ON cms_page_row_col_widget (page_id);
CREATE INDEX cms_page_row_col_widget_by_col ON cms_page_row_col_widget (col_id, sort_order);

-- Items of repeaters. Those of language versions share a base.
CREATE TABLE cms_page_widget_item (
    id {{id}},
    page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
    widget_id BIGINT NOT NULL REFERENCES cms_page_row_col_widget (id) ON DELETE CASCADE,
    sort_order BIGINT NOT NULL,
    base_id BIGINT,
    language_short TEXT NOT NULL,
    title TEXT,
    subtitle TEXT,
    level TEXT,
    align TEXT,
    text TEXT,
    css TEXT,
    image TEXT,
    alt TEXT,
    link TEXT,
    target TEXT,
    width TEXT,
    menu TEXT,
    network TEXT,
    page TEXT,
    height TEXT,
    mobile_height TEXT,
    line TEXT,
    color TEXT,
    style TEXT,
    size TEXT,
    icon TEXT,
    link_text TEXT,
    placement TEXT,
    overlay_color TEXT,
    mobile_image TEXT,
    image_side TEXT,
    background_color TEXT,
    per_row TEXT,
    account TEXT,
    date TEXT,
    address TEXT,
    latitude TEXT,
    longitude TEXT,
    zoom TEXT,
    email TEXT,
    location TEXT,
    employment TEXT,
    start_date TEXT,
    end_date TEXT,
    layout TEXT,
    lightbox TEXT,
    category TEXT,
    amount TEXT,
    ordering TEXT,
    show_date TEXT,
    form TEXT,
    consent TEXT,
    privacy_link TEXT,
    show_filter TEXT,
    product TEXT,
    show_price TEXT,
    show_orders TEXT,
    allow_guests TEXT,
    terms_link TEXT,
    success_link TEXT,
    period TEXT,
    channel TEXT,
    show_stock TEXT,
    show_related TEXT,
    show_vouchers TEXT,
    hint TEXT,
    search_index TEXT,
    course TEXT,
    show_progress TEXT,
    starts_at TEXT,
    ends_at TEXT,
    opens TEXT,
    closes TEXT,
    funnel TEXT
) {{strict}};
CREATE INDEX cms_page_widget_item_by_page ON cms_page_widget_item (page_id);
CREATE INDEX cms_page_widget_item_by_widget ON cms_page_widget_item (widget_id, sort_order);

-- Edits of a draft: who is late learns from them what changed meanwhile.
CREATE TABLE cms_page_edits (
    page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
    rev BIGINT NOT NULL,
    action TEXT NOT NULL,
    kind TEXT NOT NULL,
    node_id BIGINT NOT NULL,
    columns TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id BIGINT,
    actor_name TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (page_id, rev)
) {{strict}};

-- What was published. Revisions never change.
CREATE TABLE cms_page_revisions (
    id {{id}},
    page_id BIGINT NOT NULL REFERENCES cms_pages (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    tree TEXT NOT NULL,
    checksum TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id BIGINT,
    actor_name TEXT,
    created_at BIGINT NOT NULL,
    UNIQUE (page_id, number)
) {{strict}};
