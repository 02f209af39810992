-- Events that can be subscribed to, by the plugin that raises them.
CREATE TABLE cms_webhook_events (
    id {{id}},
    plugin_id TEXT NOT NULL,
    event_name TEXT NOT NULL,
    event_type TEXT NOT NULL,
    content_table TEXT,
    description TEXT NOT NULL,
    UNIQUE (plugin_id, event_name)
) {{strict}};

-- secret and the values of custom_headers are sealed.
CREATE TABLE cms_webhook_subscriptions (
    id {{id}},
    name TEXT NOT NULL,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    secret TEXT NOT NULL,
    -- The secret before a rotation, while its grace lasts.
    old_secret TEXT,
    old_secret_until BIGINT,
    custom_headers TEXT NOT NULL,
    max_retries BIGINT NOT NULL,
    -- Failed attempts in a row.
    failure_count BIGINT NOT NULL DEFAULT 0,
    active BOOLEAN NOT NULL,
    disabled_reason TEXT,
    created_at BIGINT NOT NULL,
    -- Lanes are served in the order of this.
    served_at BIGINT NOT NULL DEFAULT 0,
    -- After a failure: the earliest moment of the next attempt.
    not_before BIGINT NOT NULL DEFAULT 0
) {{strict}};
CREATE INDEX cms_webhook_subscriptions_by_turn ON cms_webhook_subscriptions (served_at) WHERE active;

-- What a subscription listens to, an entry each: a name, item.* or *.
CREATE TABLE cms_webhook_interests (
    subscription_id BIGINT NOT NULL REFERENCES cms_webhook_subscriptions (id) ON DELETE CASCADE,
    event TEXT NOT NULL,
    PRIMARY KEY (event, subscription_id)
) {{strict}};
CREATE INDEX cms_webhook_interests_by_subscription ON cms_webhook_interests (subscription_id);

-- pending, sending, retry, delivered, failed, held, cancelled.
CREATE TABLE cms_webhook_queue (
    id {{id}},
    -- No reference: retention keeps events that have jobs, and a check of each row is a third of the time of an event for 10,000 listeners.
    event_id TEXT NOT NULL,
    -- No reference: an event that is written while its subscription is deleted must not fail. What is left over is never claimed and goes.
    subscription_id BIGINT NOT NULL,
    status TEXT NOT NULL,
    next_retry_at BIGINT NOT NULL,
    retry_count BIGINT NOT NULL DEFAULT 0,
    -- sending: until then the row belongs to whoever holds its lease_token.
    lease_until BIGINT,
    lease_token BIGINT NOT NULL DEFAULT 0,
    error_message TEXT,
    created_at BIGINT NOT NULL,
    -- When it reached delivered, failed or cancelled.
    settled_at BIGINT,
    -- The row that this one sends once more.
    resend_of BIGINT
) {{strict}};
-- Not unique: an event is queued by one statement, in the change that makes it, and to check each row is a fifth of the time for 10,000.
CREATE INDEX cms_webhook_queue_by_event ON cms_webhook_queue (event_id);
-- Also for what is asked of all lanes, with the status so that counts need no rows: another index for that would be a seventh of the time of
-- an event for 10,000 listeners.
CREATE INDEX cms_webhook_queue_due ON cms_webhook_queue (subscription_id, next_retry_at, id, status) WHERE status IN ('pending', 'retry');
CREATE INDEX cms_webhook_queue_leases ON cms_webhook_queue (subscription_id, lease_until) WHERE status = 'sending';
CREATE INDEX cms_webhook_queue_held ON cms_webhook_queue (subscription_id, id) WHERE status = 'held';
CREATE INDEX cms_webhook_queue_settled ON cms_webhook_queue (settled_at) WHERE settled_at IS NOT NULL;

-- Every attempt.
CREATE TABLE cms_webhook_deliveries (
    id {{id}},
    queue_id BIGINT NOT NULL,
    event_id TEXT NOT NULL,
    event_name TEXT NOT NULL,
    -- No reference: the log outlives the subscription.
    subscription_id BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    -- delivered, or what went wrong: timeout, dns, refused_address, connect, tls, status, ...
    outcome TEXT NOT NULL,
    error_message TEXT,
    status_code BIGINT,
    response TEXT,
    duration_ms BIGINT NOT NULL,
    created_at BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_webhook_deliveries_by_subscription ON cms_webhook_deliveries (subscription_id, id);
CREATE INDEX cms_webhook_deliveries_by_job ON cms_webhook_deliveries (queue_id, id);
CREATE INDEX cms_webhook_deliveries_by_event ON cms_webhook_deliveries (event_id);
CREATE INDEX cms_webhook_deliveries_by_time ON cms_webhook_deliveries (created_at);
