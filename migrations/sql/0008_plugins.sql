-- The declaration with which each plugin of the folder was last taken into service. It stays in
-- service when a newer one is refused.
CREATE TABLE cms_plugins (
    id TEXT PRIMARY KEY,
    manifest TEXT NOT NULL,
    removed BOOLEAN NOT NULL,
    applied_at BIGINT NOT NULL
) {{strict}};
