-- The audit log is read newest first: as a whole, of a table, of a row, of whoever acted. Each index
-- ends with time and id, so that a page and a period are a range of it. An entry is in one of the
-- last two: nulls would be no range.
DROP INDEX cms_audit_by_time;
CREATE INDEX cms_audit_by_time ON cms_audit (created_at, id);
DROP INDEX cms_audit_by_table;
CREATE INDEX cms_audit_by_table ON cms_audit (table_name, created_at, id);
CREATE INDEX cms_audit_by_row ON cms_audit (row_id, table_name, created_at, id);
CREATE INDEX cms_audit_by_caller
    ON cms_audit (actor_kind, actor_id, created_at, id) WHERE actor_id IS NOT NULL;
CREATE INDEX cms_audit_by_others
    ON cms_audit (actor_kind, created_at, id) WHERE actor_id IS NULL;
