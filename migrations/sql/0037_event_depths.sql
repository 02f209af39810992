-- How many handlers led to this event, one after the other; 0 where none did. Handlers are not
-- called for an event that is too deep.
ALTER TABLE cms_events ADD COLUMN depth BIGINT NOT NULL DEFAULT 0;
