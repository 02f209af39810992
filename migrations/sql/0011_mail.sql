-- Mails: what is to be sent, and what was. A row is a mail to one address.
CREATE TABLE cms_mails (
    id {{id}},
    -- What it is for, such as form.notice, and what it is about, such as submission 17.
    purpose TEXT NOT NULL,
    cause TEXT,
    -- No two mails have the same key.
    once_key TEXT UNIQUE,
    -- The same in every attempt.
    message_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    reply_to TEXT,
    subject TEXT NOT NULL,
    body_text TEXT NOT NULL,
    body_html TEXT,
    auto_reply BOOLEAN NOT NULL,
    -- The only provider that may send it; null: all of the chain.
    provider TEXT,
    -- queued, sending, sent, failed, dropped.
    status TEXT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    -- Rounds through the chain that failed.
    tries BIGINT NOT NULL DEFAULT 0,
    -- sending: until then the row belongs to whoever holds its lease_token.
    lease_until BIGINT,
    lease_token BIGINT NOT NULL DEFAULT 0,
    -- Why it was not sent yet, or not at all.
    reason TEXT,
    created_at BIGINT NOT NULL,
    -- When it reached sent, failed or dropped.
    settled_at BIGINT
) {{strict}};
CREATE INDEX cms_mails_due ON cms_mails (next_attempt_at, id) WHERE status = 'queued';
CREATE INDEX cms_mails_leases ON cms_mails (lease_until) WHERE status = 'sending';
CREATE INDEX cms_mails_settled ON cms_mails (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX cms_mails_by_recipient ON cms_mails (recipient, id);
CREATE INDEX cms_mails_by_time ON cms_mails (created_at);
-- For the log. The expression keeps the worker's statements away from it.
CREATE INDEX cms_mails_by_status ON cms_mails (lower(status), id);
CREATE INDEX cms_mails_by_purpose ON cms_mails (purpose, id);

-- Every attempt of a provider.
CREATE TABLE cms_mail_attempts (
    id {{id}},
    mail_id BIGINT NOT NULL REFERENCES cms_mails (id) ON DELETE CASCADE,
    provider TEXT NOT NULL,
    -- sent, recipient, refused, deferred, fault, local.
    outcome TEXT NOT NULL,
    reason TEXT,
    -- What the provider calls the mail.
    provider_id TEXT,
    duration_ms BIGINT NOT NULL,
    created_at BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_mail_attempts_by_mail ON cms_mail_attempts (mail_id, id);

-- Automatic replies to an address on a day, counted from 1970.
CREATE TABLE cms_mail_rations (
    recipient TEXT NOT NULL,
    day BIGINT NOT NULL,
    replies BIGINT NOT NULL,
    PRIMARY KEY (recipient, day)
) {{strict}};
CREATE INDEX cms_mail_rations_by_day ON cms_mail_rations (day);

-- Providers that failed lately.
CREATE TABLE cms_mail_providers (
    name TEXT PRIMARY KEY,
    -- Faults in a row.
    faults BIGINT NOT NULL,
    -- Until then nothing is sent through it.
    rests_until BIGINT NOT NULL,
    -- The last fault.
    reason TEXT
) {{strict}};
