-- Tasks that plugins declare, one row each, made by the first run.
CREATE TABLE cms_tasks (
    id {{id}},
    plugin_id TEXT NOT NULL,
    name TEXT NOT NULL,
    next_due_at BIGINT NOT NULL,
    -- Until then the task belongs to whoever holds its lease_token; 0 when nobody runs it.
    lease_until BIGINT NOT NULL DEFAULT 0,
    lease_token BIGINT NOT NULL DEFAULT 0,
    UNIQUE (plugin_id, name)
) {{strict}};

-- Every run.
CREATE TABLE cms_task_runs (
    id {{id}},
    task_id BIGINT NOT NULL REFERENCES cms_tasks (id) ON DELETE CASCADE,
    -- Who caused it: system for the schedule.
    actor_kind TEXT NOT NULL,
    actor_id BIGINT,
    actor_name TEXT,
    -- Machine and process that ran it.
    process TEXT NOT NULL,
    lease_token BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    -- running, done, failed, stopped, lost.
    outcome TEXT NOT NULL,
    error_message TEXT
) {{strict}};
CREATE INDEX cms_task_runs_by_task ON cms_task_runs (task_id, id);
CREATE INDEX cms_task_runs_open ON cms_task_runs (task_id) WHERE outcome = 'running';
CREATE INDEX cms_task_runs_by_time ON cms_task_runs (started_at);
