-- Names that plugins declare: tables, events, endpoints, widgets, permission keys. Each belongs to
-- the plugin that was in service with it first, until that plugin is removed or gives it up. The
-- service enters the names of plugins that were in service before this step.
CREATE TABLE cms_plugin_names (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    plugin_id TEXT NOT NULL,
    claimed_at BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
) {{strict}};
INSERT INTO cms_plugin_names (kind, name, plugin_id, claimed_at)
    SELECT 'table', name, plugin_id, installed_at FROM cms_content_tables;

-- Tables that the database refused to make: the digest of their declarations, and why. Whoever
-- opens the site without changing it knows by this row that nobody can make them.
CREATE TABLE cms_plugin_refusals (
    plugin_id TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    reason TEXT NOT NULL,
    refused_at BIGINT NOT NULL
) {{strict}};

-- cms_user_groups.rights: from now on {"key": "plugin"}, or "0" for administrators. An array of
-- keys is from before this step; the service adds the plugins.
