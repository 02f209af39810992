-- The last call that a key was refused for lack of a right, as the right that would allow it.
ALTER TABLE cms_api_keys ADD COLUMN last_denied TEXT;
