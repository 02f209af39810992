-- Programs and plugins that follow events by a name: where each stands.
CREATE TABLE cms_event_consumers (
    name TEXT PRIMARY KEY,
    -- The last event that is done; empty before all.
    event_id TEXT NOT NULL,
    -- Whether events after it were removed.
    has_gap BOOLEAN NOT NULL DEFAULT {{false}},
    lease_until BIGINT NOT NULL DEFAULT 0,
    lease_token BIGINT NOT NULL DEFAULT 0,
    -- How often in a row the next event failed, why, and when it is tried again.
    failures BIGINT NOT NULL DEFAULT 0,
    error_message TEXT,
    next_try_at BIGINT NOT NULL DEFAULT 0
) {{strict}};
-- When an event is removed, names that stand at it stand at the one before, and names that have not
-- passed it have a gap.
{{event_removed}}
