-- Counts the changes of each table for each connection of PostgreSQL that makes them, so that no
-- change waits for the count of another. The count of a table is the sum of its rows. backend 0:
-- what connections have counted that are gone by now, and everything on SQLite.
CREATE TABLE cms_epochs (
    name TEXT NOT NULL,
    backend BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    PRIMARY KEY (name, backend)
) {{strict}}{{half_full}};
INSERT INTO cms_epochs (name, backend, epoch) SELECT name, 0, epoch FROM cms_table_epochs;
DROP TABLE cms_table_epochs;
ALTER TABLE cms_epochs RENAME TO cms_table_epochs;
