-- Funnels. A funnel is drawn as nodes and edges; publishing freezes the drawing as a version, and a
-- visitor keeps the version that the visit began with.
CREATE TABLE cms_formfunnels (
    id {{id}},
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    -- draft, published, archived.
    status TEXT NOT NULL DEFAULT 'draft',
    start_node_id BIGINT,
    save_abandoned BOOLEAN NOT NULL DEFAULT {{false}},
    abandon_after_min BIGINT NOT NULL DEFAULT 60,
    settings_json TEXT NOT NULL DEFAULT '{}',
    base_id BIGINT,
    language_short TEXT NOT NULL DEFAULT '',
    -- Raised by every save.
    rev BIGINT NOT NULL DEFAULT 1,
    -- The version that new visits begin with, and how they find it.
    published_version_id BIGINT,
    live_slug TEXT,
    live_language TEXT,
    live_base_id BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
) {{strict}};
CREATE UNIQUE INDEX cms_formfunnels_slug ON cms_formfunnels (slug, language_short);
CREATE UNIQUE INDEX cms_formfunnels_version ON cms_formfunnels (base_id, language_short);
CREATE UNIQUE INDEX cms_formfunnels_live ON cms_formfunnels (live_slug, live_language);
CREATE INDEX cms_formfunnels_live_versions ON cms_formfunnels (live_base_id);

CREATE TABLE cms_formfunnel_nodes (
    id {{id}},
    funnel_id BIGINT NOT NULL REFERENCES cms_formfunnels (id) ON DELETE CASCADE,
    -- step, condition, end.
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    position_x DOUBLE PRECISION NOT NULL,
    position_y DOUBLE PRECISION NOT NULL,
    config_json TEXT NOT NULL,
    sort_order BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_formfunnel_nodes_by_funnel ON cms_formfunnel_nodes (funnel_id, sort_order, id);

CREATE TABLE cms_formfunnel_edges (
    id {{id}},
    funnel_id BIGINT NOT NULL REFERENCES cms_formfunnels (id) ON DELETE CASCADE,
    from_node_id BIGINT NOT NULL REFERENCES cms_formfunnel_nodes (id) ON DELETE CASCADE,
    to_node_id BIGINT NOT NULL REFERENCES cms_formfunnel_nodes (id) ON DELETE CASCADE,
    -- default, true, false.
    branch_label TEXT NOT NULL,
    sort_order BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_formfunnel_edges_by_funnel ON cms_formfunnel_edges (funnel_id, sort_order, id);
CREATE INDEX cms_formfunnel_edges_from ON cms_formfunnel_edges (from_node_id);
CREATE INDEX cms_formfunnel_edges_to ON cms_formfunnel_edges (to_node_id);

CREATE TABLE cms_formfunnel_email_routing (
    id {{id}},
    funnel_id BIGINT NOT NULL REFERENCES cms_formfunnels (id) ON DELETE CASCADE,
    -- Null: the rule matches always.
    condition_json TEXT,
    recipients TEXT NOT NULL DEFAULT '',
    cc TEXT NOT NULL DEFAULT '',
    bcc TEXT NOT NULL DEFAULT '',
    subject TEXT NOT NULL DEFAULT '',
    body_html TEXT NOT NULL DEFAULT '',
    auto_reply_enabled BOOLEAN NOT NULL DEFAULT {{false}},
    auto_reply_subject TEXT NOT NULL DEFAULT '',
    auto_reply_body_html TEXT NOT NULL DEFAULT '',
    -- completed, abandoned.
    trigger_event TEXT NOT NULL DEFAULT 'completed',
    sort_order BIGINT NOT NULL DEFAULT 0,
    is_active BOOLEAN NOT NULL DEFAULT {{true}}
) {{strict}};
CREATE INDEX cms_formfunnel_email_routing_by_funnel
    ON cms_formfunnel_email_routing (funnel_id, sort_order, id);

-- What was published. Rows never change.
CREATE TABLE cms_formfunnel_versions (
    id {{id}},
    funnel_id BIGINT NOT NULL REFERENCES cms_formfunnels (id) ON DELETE CASCADE,
    -- Counts from 1 in each funnel.
    version BIGINT NOT NULL,
    -- JSON: the funnel with its nodes and edges.
    definition TEXT NOT NULL,
    -- SHA-256 of the definition.
    checksum TEXT NOT NULL,
    published_at BIGINT NOT NULL
) {{strict}};
CREATE UNIQUE INDEX cms_formfunnel_versions_by_funnel
    ON cms_formfunnel_versions (funnel_id, version);

-- The same nodes and edges as rows, for views.
CREATE TABLE cms_formfunnel_version_nodes (
    version_id BIGINT NOT NULL REFERENCES cms_formfunnel_versions (id) ON DELETE CASCADE,
    node_id BIGINT NOT NULL,
    type TEXT NOT NULL,
    name TEXT NOT NULL,
    end_kind TEXT,
    -- Edges on the longest way from the start; null when no way leads there.
    depth BIGINT,
    PRIMARY KEY (version_id, node_id)
) {{strict}};

CREATE TABLE cms_formfunnel_version_edges (
    version_id BIGINT NOT NULL REFERENCES cms_formfunnel_versions (id) ON DELETE CASCADE,
    edge_id BIGINT NOT NULL,
    from_node_id BIGINT NOT NULL,
    to_node_id BIGINT NOT NULL,
    branch_label TEXT NOT NULL,
    PRIMARY KEY (version_id, edge_id)
) {{strict}};

-- Visits.
CREATE TABLE cms_formfunnel_submissions (
    id {{id}},
    funnel_id BIGINT NOT NULL REFERENCES cms_formfunnels (id) ON DELETE CASCADE,
    version_id BIGINT NOT NULL REFERENCES cms_formfunnel_versions (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    -- A secret: whoever knows it goes on with the visit.
    session_uuid TEXT NOT NULL UNIQUE,
    client_hash TEXT,
    -- Raised by every step.
    rev BIGINT NOT NULL DEFAULT 0,
    -- in_progress, completed, abandoned.
    status TEXT NOT NULL DEFAULT 'in_progress',
    language_short TEXT NOT NULL DEFAULT '',
    -- JSON: ids of the nodes that were shown, in order.
    path_json TEXT NOT NULL DEFAULT '[]',
    answers_json TEXT NOT NULL DEFAULT '{}',
    current_node_id BIGINT,
    last_node_id BIGINT,
    end_node_id BIGINT,
    end_kind TEXT,
    steps_answered BIGINT NOT NULL DEFAULT 0,
    progress_pct BIGINT NOT NULL DEFAULT 0,
    -- What the visitor is told to name in letters and calls.
    reference TEXT,
    source_url TEXT,
    referer TEXT,
    -- The host that the first call was made to.
    host TEXT,
    utm_source TEXT,
    utm_medium TEXT,
    utm_campaign TEXT,
    utm_term TEXT,
    utm_content TEXT,
    -- new, qualified, contacted, converted, rejected.
    inbox_status TEXT NOT NULL DEFAULT 'new',
    inbox_notes TEXT NOT NULL DEFAULT '',
    assigned_to BIGINT,
    first_touched_at BIGINT,
    is_spam BOOLEAN NOT NULL DEFAULT {{false}},
    is_test BOOLEAN NOT NULL DEFAULT {{false}},
    -- The first answers of their kinds, for lists.
    contact_name TEXT,
    contact_email TEXT,
    contact_phone TEXT,
    company TEXT,
    summary TEXT NOT NULL DEFAULT '',
    score DOUBLE PRECISION,
    mail_rule_id BIGINT,
    mail_status TEXT,
    started_at BIGINT NOT NULL,
    last_activity_at BIGINT NOT NULL,
    completed_at BIGINT,
    -- Stays when the visitor comes back.
    abandoned_at BIGINT,
    -- The event and the mails of an abandoned visit go out once.
    abandoned_told BOOLEAN NOT NULL DEFAULT {{false}},
    expires_at BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_formfunnel_submissions_by_status
    ON cms_formfunnel_submissions (funnel_id, status, inbox_status, started_at);
CREATE INDEX cms_formfunnel_submissions_by_time
    ON cms_formfunnel_submissions (funnel_id, started_at, id);
CREATE INDEX cms_formfunnel_submissions_by_activity
    ON cms_formfunnel_submissions (status, last_activity_at, id);
CREATE INDEX cms_formfunnel_submissions_by_version ON cms_formfunnel_submissions (version_id);

CREATE TABLE cms_formfunnel_events (
    submission_id BIGINT NOT NULL REFERENCES cms_formfunnel_submissions (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    -- started, presented, answered, invalid, rewound, edge, completed, abandoned, resumed, mail.
    kind TEXT NOT NULL,
    node_id BIGINT,
    edge_id BIGINT,
    -- The field of an invalid answer.
    field TEXT,
    -- False for what the visitor went back behind.
    on_path BOOLEAN NOT NULL DEFAULT {{true}},
    at BIGINT NOT NULL,
    dwell_ms BIGINT,
    PRIMARY KEY (submission_id, seq)
) {{strict}};

-- Files that visitors sent. One that no answer names goes after a day.
CREATE TABLE cms_formfunnel_uploads (
    id {{id}},
    -- What answers hold.
    uid TEXT NOT NULL UNIQUE,
    submission_id BIGINT NOT NULL REFERENCES cms_formfunnel_submissions (id) ON DELETE CASCADE,
    field TEXT NOT NULL,
    file_name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    attached BOOLEAN NOT NULL DEFAULT {{false}},
    created_at BIGINT NOT NULL,
    content {{bytes}} NOT NULL
) {{strict}};
CREATE INDEX cms_formfunnel_uploads_by_submission ON cms_formfunnel_uploads (submission_id);
CREATE INDEX cms_formfunnel_uploads_unattached ON cms_formfunnel_uploads (attached, created_at);

-- What is left of visits that were removed: counters of a day. 0: of no node, of no edge.
CREATE TABLE cms_formfunnel_daily (
    funnel_id BIGINT NOT NULL REFERENCES cms_formfunnels (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    node_id BIGINT NOT NULL DEFAULT 0,
    edge_id BIGINT NOT NULL DEFAULT 0,
    -- YYYY-MM-DD.
    day TEXT NOT NULL,
    started BIGINT NOT NULL DEFAULT 0,
    engaged BIGINT NOT NULL DEFAULT 0,
    completed BIGINT NOT NULL DEFAULT 0,
    abandoned BIGINT NOT NULL DEFAULT 0,
    spam BIGINT NOT NULL DEFAULT 0,
    entered BIGINT NOT NULL DEFAULT 0,
    answered BIGINT NOT NULL DEFAULT 0,
    exited BIGINT NOT NULL DEFAULT 0,
    rewound BIGINT NOT NULL DEFAULT 0,
    invalid BIGINT NOT NULL DEFAULT 0,
    traversed BIGINT NOT NULL DEFAULT 0,
    dwell_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (funnel_id, version, node_id, edge_id, day)
) {{strict}};

-- One row: when the 30 days of the views begin. Statements read no clock of the database.
CREATE TABLE cms_formfunnel_window (
    since BIGINT NOT NULL
) {{strict}};
INSERT INTO cms_formfunnel_window (since) VALUES (0);

CREATE VIEW cms_v_funnel_inbox AS
SELECT s.id AS submission_id, s.funnel_id, f.name AS funnel_name, s.version, s.language_short,
    s.status, s.inbox_status, s.is_spam, s.is_test, s.assigned_to, u.username AS assigned_name,
    s.contact_name, s.contact_email, s.contact_phone, s.company, s.summary, s.score,
    s.last_node_id, n.name AS last_node_name, s.end_node_id, s.end_kind, s.steps_answered,
    s.progress_pct, s.reference, s.source_url, s.referer, s.utm_source, s.utm_medium,
    s.utm_campaign, s.utm_term, s.utm_content, s.mail_rule_id, s.mail_status, s.started_at,
    s.last_activity_at, s.completed_at, s.abandoned_at,
    (s.completed_at - s.started_at) / 1000 AS duration_s, s.first_touched_at, s.expires_at
FROM cms_formfunnel_submissions s
JOIN cms_formfunnels f ON f.id = s.funnel_id
LEFT JOIN cms_users u ON u.id = s.assigned_to
LEFT JOIN cms_formfunnel_version_nodes n
    ON n.version_id = s.version_id AND n.node_id = s.last_node_id;

-- entered = answered + exited + waiting, each a number of visits. Whoever completed a visit has
-- exited nowhere.
CREATE VIEW cms_v_funnel_dropoff_30d AS
WITH visits AS (
    SELECT s.id, s.funnel_id, s.version_id, s.status, e.node_id,
        max(CASE WHEN e.kind = 'presented' AND e.on_path THEN 1 ELSE 0 END) AS entered,
        max(CASE WHEN s.status = 'completed' OR (e.kind = 'answered' AND e.on_path) THEN 1 ELSE 0 END)
            AS answered,
        sum(CASE WHEN e.kind = 'rewound' THEN 1 ELSE 0 END) AS rewound,
        sum(CASE WHEN e.kind = 'invalid' THEN 1 ELSE 0 END) AS invalid,
        sum(CASE WHEN e.kind = 'answered' THEN e.dwell_ms END) AS dwell_ms
    FROM cms_formfunnel_submissions s
    JOIN cms_formfunnel_events e ON e.submission_id = s.id
    WHERE NOT s.is_spam AND NOT s.is_test AND e.node_id IS NOT NULL
        AND s.started_at >= (SELECT since FROM cms_formfunnel_window)
    GROUP BY s.id, s.funnel_id, s.version_id, s.status, e.node_id
), counted AS (
    SELECT funnel_id, version_id, node_id, cast(sum(entered) AS BIGINT) AS entered,
        cast(sum(entered * answered) AS BIGINT) AS answered,
        cast(sum(CASE WHEN answered = 0 AND status <> 'in_progress' THEN entered ELSE 0 END)
            AS BIGINT) AS exited,
        cast(sum(CASE WHEN answered = 0 AND status = 'in_progress' THEN entered ELSE 0 END)
            AS BIGINT) AS waiting,
        cast(sum(rewound) AS BIGINT) AS rewound,
        cast(sum(invalid) AS BIGINT) AS validation_errors,
        cast(avg(dwell_ms) / 1000 AS DOUBLE PRECISION) AS avg_dwell_s
    FROM visits GROUP BY funnel_id, version_id, node_id
), started AS (
    SELECT version_id, count(*) AS started FROM cms_formfunnel_submissions
    WHERE NOT is_spam AND NOT is_test
        AND started_at >= (SELECT since FROM cms_formfunnel_window)
    GROUP BY version_id
)
SELECT c.funnel_id, v.version, n.node_id, n.name AS node_name, n.type AS node_type, n.depth,
    c.entered, c.answered, c.exited, c.waiting, c.rewound, c.validation_errors,
    cast(100.0 * c.exited / nullif(c.entered, 0) AS DOUBLE PRECISION) AS dropoff_pct,
    cast(100.0 * c.entered / nullif(b.started, 0) AS DOUBLE PRECISION) AS reach_pct,
    c.avg_dwell_s,
    (SELECT e.field FROM cms_formfunnel_events e
        JOIN cms_formfunnel_submissions s ON s.id = e.submission_id
        WHERE s.version_id = c.version_id AND e.node_id = c.node_id AND e.kind = 'invalid'
            AND e.field IS NOT NULL AND NOT s.is_spam AND NOT s.is_test
            AND s.started_at >= (SELECT since FROM cms_formfunnel_window)
        GROUP BY e.field ORDER BY count(*) DESC, e.field LIMIT 1) AS top_error_field
FROM counted c
JOIN cms_formfunnel_versions v ON v.id = c.version_id
JOIN cms_formfunnel_version_nodes n ON n.version_id = c.version_id AND n.node_id = c.node_id
JOIN started b ON b.version_id = c.version_id;

CREATE VIEW cms_v_funnel_branches_30d AS
WITH visits AS (
    SELECT DISTINCT s.id, s.funnel_id, s.version_id, s.status, s.score, e.edge_id
    FROM cms_formfunnel_submissions s
    JOIN cms_formfunnel_events e ON e.submission_id = s.id
    WHERE NOT s.is_spam AND NOT s.is_test AND e.kind = 'edge' AND e.on_path
        AND s.started_at >= (SELECT since FROM cms_formfunnel_window)
), counted AS (
    SELECT funnel_id, version_id, edge_id, count(*) AS sessions,
        cast(sum(CASE WHEN status = 'completed' THEN 1 ELSE 0 END) AS BIGINT) AS completed,
        cast(avg(score) AS DOUBLE PRECISION) AS avg_score
    FROM visits GROUP BY funnel_id, version_id, edge_id
), leaving AS (
    SELECT c.version_id, e.from_node_id, cast(sum(c.sessions) AS BIGINT) AS sessions
    FROM counted c
    JOIN cms_formfunnel_version_edges e ON e.version_id = c.version_id AND e.edge_id = c.edge_id
    GROUP BY c.version_id, e.from_node_id
)
SELECT c.funnel_id, v.version, e.edge_id, e.from_node_id, a.name AS from_name, e.to_node_id,
    z.name AS to_name, e.branch_label, c.sessions,
    cast(100.0 * c.sessions / nullif(l.sessions, 0) AS DOUBLE PRECISION) AS share_pct, c.completed,
    cast(100.0 * c.completed / nullif(c.sessions, 0) AS DOUBLE PRECISION) AS conversion_pct,
    c.avg_score
FROM counted c
JOIN cms_formfunnel_versions v ON v.id = c.version_id
JOIN cms_formfunnel_version_edges e ON e.version_id = c.version_id AND e.edge_id = c.edge_id
JOIN cms_formfunnel_version_nodes a ON a.version_id = c.version_id AND a.node_id = e.from_node_id
JOIN cms_formfunnel_version_nodes z ON z.version_id = c.version_id AND z.node_id = e.to_node_id
JOIN leaving l ON l.version_id = c.version_id AND l.from_node_id = e.from_node_id;
