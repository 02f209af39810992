ALTER TABLE cms_events ADD COLUMN rowid BIGINT NOT NULL DEFAULT txid_current();
CREATE INDEX cms_events_by_order ON cms_events (rowid, id);
