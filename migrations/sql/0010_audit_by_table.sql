-- The newest entries of one table, without reading those of the others.
CREATE INDEX cms_audit_by_table ON cms_audit (table_name, id);
