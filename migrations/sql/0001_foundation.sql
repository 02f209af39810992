-- API keys. The value is never stored: only the SHA-256 of each value that is valid now.
CREATE TABLE cms_api_keys (
    id {{id}},
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    expires_on TEXT,
    active BOOLEAN NOT NULL,
    rights TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    requests BIGINT NOT NULL DEFAULT 0,
    denied BIGINT NOT NULL DEFAULT 0
) {{strict}};

-- More than one row for a key only while a rotation's grace lasts; valid_until is null for the current value.
CREATE TABLE cms_api_key_values (
    hash TEXT PRIMARY KEY,
    api_key_id BIGINT NOT NULL REFERENCES cms_api_keys (id) ON DELETE CASCADE,
    valid_until BIGINT
) {{strict}};
CREATE INDEX cms_api_key_values_by_key ON cms_api_key_values (api_key_id);

-- The outbox: written by the change that makes the event, read by delivery.
CREATE TABLE cms_events (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    removed TEXT,
    created_at BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_events_by_time ON cms_events (created_at);

CREATE TABLE cms_audit (
    id {{id}},
    actor_kind TEXT NOT NULL,
    actor_id BIGINT,
    actor_name TEXT,
    action TEXT NOT NULL,
    table_name TEXT NOT NULL,
    row_id TEXT NOT NULL,
    columns TEXT NOT NULL,
    created_at BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_audit_by_time ON cms_audit (created_at);

-- Counts the changes of each content table, so that caches know when they are old.
CREATE TABLE cms_table_epochs (
    name TEXT PRIMARY KEY,
    epoch BIGINT NOT NULL
) {{strict}};

-- Replies kept for repeated requests.
CREATE TABLE cms_idempotency (
    caller TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status BIGINT NOT NULL,
    body TEXT,
    etag TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (caller, idempotency_key)
) {{strict}};
CREATE INDEX cms_idempotency_by_time ON cms_idempotency (created_at);

-- Declarations of the tables that plugins brought, to tell a changed type from a new column.
CREATE TABLE cms_content_tables (
    name TEXT PRIMARY KEY,
    plugin_id TEXT NOT NULL,
    declaration TEXT NOT NULL,
    installed_at BIGINT NOT NULL
) {{strict}};
