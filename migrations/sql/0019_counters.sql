-- Whom an event tells of, where its payload holds answers: funnel submission 7.
ALTER TABLE cms_events ADD COLUMN subject TEXT;
CREATE INDEX cms_events_by_subject ON cms_events (subject) WHERE subject IS NOT NULL;

-- The day on which a visit began, YYYY-MM-DD, where its funnel was; empty: not known yet. It never
-- changes, so that a funnel may move to another time zone.
ALTER TABLE cms_formfunnel_submissions ADD COLUMN day TEXT NOT NULL DEFAULT '';
-- Whether the visit is in the counters of its day. Then it is over, and nobody changes it.
ALTER TABLE cms_formfunnel_submissions ADD COLUMN folded BOOLEAN NOT NULL DEFAULT {{false}};
CREATE INDEX cms_formfunnel_submissions_open
    ON cms_formfunnel_submissions (funnel_id, day, id) WHERE NOT folded;
-- What the staff has looked at; all others are new.
CREATE INDEX cms_formfunnel_submissions_touched
    ON cms_formfunnel_submissions
        (funnel_id, day, version, inbox_status, started_at, first_touched_at)
    WHERE (inbox_status <> 'new' OR first_touched_at IS NOT NULL) AND NOT is_spam AND NOT is_test;

-- Counters of visits that are over, removed or not. On the row of a node, completed counts visits
-- that ended there; on that of an edge, those that passed it.
ALTER TABLE cms_formfunnel_daily ADD COLUMN dwelt BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cms_formfunnel_daily ADD COLUMN scored BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cms_formfunnel_daily ADD COLUMN score DOUBLE PRECISION NOT NULL DEFAULT 0;
CREATE INDEX cms_formfunnel_daily_by_day ON cms_formfunnel_daily (funnel_id, day);

-- The same by what they were: from where they came, how long they took, what they answered.
CREATE TABLE cms_formfunnel_tally (
    funnel_id BIGINT NOT NULL REFERENCES cms_formfunnels (id) ON DELETE CASCADE,
    day TEXT NOT NULL,
    -- source, duration, dwell, invalid, mail, answered, blank, value, inbox, touch.
    what TEXT NOT NULL,
    node_id BIGINT NOT NULL DEFAULT 0,
    -- The source, the field, the state.
    name TEXT NOT NULL DEFAULT '',
    -- The answer.
    value TEXT NOT NULL DEFAULT '',
    -- Milliseconds, rounded down to two digits.
    bucket BIGINT NOT NULL DEFAULT 0,
    version BIGINT NOT NULL,
    visits BIGINT NOT NULL,
    completed BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (funnel_id, day, what, node_id, name, value, bucket, version)
) {{strict}};

-- Visits that a change is counting. Each change sees its own, and leaves none.
CREATE TABLE cms_formfunnel_folding (
    submission_id BIGINT PRIMARY KEY
) {{strict}};
