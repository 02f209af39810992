-- Views of one funnel read its own visits: each part is grouped once and joined by its funnel, so
-- that both engines find the visits by index.
DROP VIEW cms_v_funnel_dropoff_30d;
DROP VIEW cms_v_funnel_branches_30d;

-- entered = answered + exited + waiting, each a number of visits. Whoever completed a visit has
-- exited nowhere.
CREATE VIEW cms_v_funnel_dropoff_30d AS
SELECT c.funnel_id, v.version, n.node_id, n.name AS node_name, n.type AS node_type, n.depth,
    c.entered, c.entered - c.exited - c.waiting AS answered, c.exited, c.waiting, c.rewound,
    c.validation_errors,
    cast(100.0 * c.exited / nullif(c.entered, 0) AS DOUBLE PRECISION) AS dropoff_pct,
    cast(100.0 * c.entered / nullif(b.started, 0) AS DOUBLE PRECISION) AS reach_pct,
    cast(c.dwell_ms / nullif(c.dwelt, 0) / 1000 AS DOUBLE PRECISION) AS avg_dwell_s,
    (SELECT e.field FROM cms_formfunnel_events e
        JOIN cms_formfunnel_submissions s ON s.id = e.submission_id
        WHERE s.version_id = c.version_id AND e.node_id = c.node_id AND e.kind = 'invalid'
            AND e.field IS NOT NULL AND NOT s.is_spam AND NOT s.is_test
            AND s.started_at >= (SELECT since FROM cms_formfunnel_window)
        GROUP BY e.field ORDER BY count(*) DESC, e.field LIMIT 1) AS top_error_field
FROM (
    SELECT s.funnel_id, s.version_id, e.node_id,
        count(DISTINCT CASE WHEN e.kind = 'presented' AND e.on_path THEN s.id END) AS entered,
        -- An answer that counts is one to a step that counts.
        count(DISTINCT CASE WHEN e.kind = 'presented' AND e.on_path AND s.status = 'abandoned'
            THEN s.id END)
        - count(DISTINCT CASE WHEN e.kind = 'answered' AND e.on_path AND s.status = 'abandoned'
            THEN s.id END) AS exited,
        count(DISTINCT CASE WHEN e.kind = 'presented' AND e.on_path AND s.status = 'in_progress'
            THEN s.id END)
        - count(DISTINCT CASE WHEN e.kind = 'answered' AND e.on_path AND s.status = 'in_progress'
            THEN s.id END) AS waiting,
        sum(CASE WHEN e.kind = 'rewound' THEN 1 ELSE 0 END) AS rewound,
        sum(CASE WHEN e.kind = 'invalid' THEN 1 ELSE 0 END) AS validation_errors,
        cast(sum(CASE WHEN e.kind = 'answered' THEN e.dwell_ms END) AS DOUBLE PRECISION)
            AS dwell_ms,
        count(DISTINCT CASE WHEN e.kind = 'answered' AND e.dwell_ms IS NOT NULL THEN s.id END)
            AS dwelt
    FROM cms_formfunnel_submissions s
    JOIN cms_formfunnel_events e ON e.submission_id = s.id
    WHERE NOT s.is_spam AND NOT s.is_test AND e.node_id IS NOT NULL
        AND s.started_at >= (SELECT since FROM cms_formfunnel_window)
    GROUP BY s.funnel_id, s.version_id, e.node_id
) c
JOIN (
    SELECT funnel_id, version_id, count(*) AS started FROM cms_formfunnel_submissions
    WHERE NOT is_spam AND NOT is_test
        AND started_at >= (SELECT since FROM cms_formfunnel_window)
    GROUP BY funnel_id, version_id
) b ON b.funnel_id = c.funnel_id AND b.version_id = c.version_id
JOIN cms_formfunnel_versions v ON v.id = c.version_id
JOIN cms_formfunnel_version_nodes n ON n.version_id = c.version_id AND n.node_id = c.node_id;

-- On the way of a visit that counts each edge lies once.
CREATE VIEW cms_v_funnel_branches_30d AS
SELECT c.funnel_id, v.version, e.edge_id, e.from_node_id, a.name AS from_name, e.to_node_id,
    z.name AS to_name, e.branch_label, c.sessions,
    cast(100.0 * c.sessions / nullif(l.sessions, 0) AS DOUBLE PRECISION) AS share_pct, c.completed,
    cast(100.0 * c.completed / nullif(c.sessions, 0) AS DOUBLE PRECISION) AS conversion_pct,
    c.avg_score
FROM (
    SELECT s.funnel_id, s.version_id, e.edge_id, count(*) AS sessions,
        sum(CASE WHEN s.status = 'completed' THEN 1 ELSE 0 END) AS completed,
        cast(avg(s.score) AS DOUBLE PRECISION) AS avg_score
    FROM cms_formfunnel_submissions s
    JOIN cms_formfunnel_events e ON e.submission_id = s.id
    WHERE NOT s.is_spam AND NOT s.is_test AND e.kind = 'edge' AND e.on_path
        AND s.started_at >= (SELECT since FROM cms_formfunnel_window)
    GROUP BY s.funnel_id, s.version_id, e.edge_id
) c
JOIN (
    SELECT s.funnel_id, s.version_id, e.node_id, count(*) AS sessions
    FROM cms_formfunnel_submissions s
    JOIN cms_formfunnel_events e ON e.submission_id = s.id
    WHERE NOT s.is_spam AND NOT s.is_test AND e.kind = 'edge' AND e.on_path
        AND s.started_at >= (SELECT since FROM cms_formfunnel_window)
    GROUP BY s.funnel_id, s.version_id, e.node_id
) l ON l.funnel_id = c.funnel_id AND l.version_id = c.version_id
JOIN cms_formfunnel_versions v ON v.id = c.version_id
JOIN cms_formfunnel_version_edges e ON e.version_id = c.version_id AND e.edge_id = c.edge_id
    AND e.from_node_id = l.node_id
JOIN cms_formfunnel_version_nodes a ON a.version_id = c.version_id AND a.node_id = e.from_node_id
JOIN cms_formfunnel_version_nodes z ON z.version_id = c.version_id AND z.node_id = e.to_node_id;

-- Refused answers are few; the views count those of a node by field.
CREATE INDEX cms_formfunnel_events_invalid
    ON cms_formfunnel_events (node_id, field) WHERE kind = 'invalid';
