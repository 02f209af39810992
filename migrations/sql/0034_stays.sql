-- Whoever sees a step again stays there again: each stay divides the time. A visit that has expired
-- and is in the counters has left the node where it was, although its status says in_progress.
DROP VIEW cms_v_funnel_dropoff_30d;

-- entered = answered + exited + waiting, each a number of visits. Whoever completed a visit has
-- exited nowhere; whoever was counted as gone (folded) waits nowhere.
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
        count(DISTINCT CASE WHEN e.kind = 'presented' AND e.on_path AND s.status <> 'completed'
            AND (s.folded OR s.status = 'abandoned') THEN s.id END)
        - count(DISTINCT CASE WHEN e.kind = 'answered' AND e.on_path AND s.status <> 'completed'
            AND (s.folded OR s.status = 'abandoned') THEN s.id END) AS exited,
        count(DISTINCT CASE WHEN e.kind = 'presented' AND e.on_path AND s.status = 'in_progress'
            AND NOT s.folded THEN s.id END)
        - count(DISTINCT CASE WHEN e.kind = 'answered' AND e.on_path AND s.status = 'in_progress'
            AND NOT s.folded THEN s.id END) AS waiting,
        sum(CASE WHEN e.kind = 'rewound' THEN 1 ELSE 0 END) AS rewound,
        sum(CASE WHEN e.kind = 'invalid' THEN 1 ELSE 0 END) AS validation_errors,
        cast(sum(CASE WHEN e.kind = 'answered' THEN e.dwell_ms END) AS DOUBLE PRECISION)
            AS dwell_ms,
        sum(CASE WHEN e.kind = 'answered' AND e.dwell_ms IS NOT NULL THEN 1 ELSE 0 END) AS dwelt
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
