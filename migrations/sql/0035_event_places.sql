-- A change may get its number, then wait for a record until another change with a higher number has
-- committed. On PostgreSQL its events stand behind that change's all the same: `place` counts the
-- events of one number. It stays 0 on SQLite, and for events from before.
ALTER TABLE cms_events ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
{{event_places}}
