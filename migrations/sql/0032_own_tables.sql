-- Steps that programs on top have applied to tables of their own. The text is kept, so that a copy
-- can make the tables without the program.
CREATE TABLE cms_own_tables (
    name TEXT NOT NULL,
    -- Counts from 1 for each name.
    step BIGINT NOT NULL,
    sql TEXT NOT NULL,
    -- The tables of this name, as a JSON list.
    tables TEXT NOT NULL,
    applied_at BIGINT NOT NULL,
    PRIMARY KEY (name, step)
) {{strict}};
