-- Origins that browsers may call from.
CREATE TABLE cms_origins (
    id {{id}},
    origin TEXT NOT NULL UNIQUE,
    active BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL
) {{strict}};

-- Settings of the response cache that override the configured ones; at most one row, id 1.
CREATE TABLE cms_cache_settings (
    id BIGINT PRIMARY KEY,
    enabled BOOLEAN NOT NULL,
    ttl_s BIGINT NOT NULL,
    exclude TEXT NOT NULL
) {{strict}};

-- Requests to forget cached replies, for every process to follow; prefix is a path, or empty for all.
CREATE TABLE cms_cache_clears (
    id {{id}},
    prefix TEXT NOT NULL,
    created_at BIGINT NOT NULL
) {{strict}};
