-- Backend users. name_key is the name in lower case: no two users differ by case only.
CREATE TABLE cms_users (
    id {{id}},
    username TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,
    -- Argon2id, as a PHC string.
    password TEXT NOT NULL,
    -- Names the password_salt the password was hashed with, without telling it.
    salt_id TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    -- Sealed; null until the first login is complete.
    totp_secret TEXT,
    -- The last time step whose code was used: none is used twice.
    totp_step BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    last_login_at BIGINT
) {{strict}};

-- rights: a JSON array of permission keys, or the JSON string "0" for administrators.
CREATE TABLE cms_user_groups (
    id {{id}},
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,
    rights TEXT NOT NULL,
    created_at BIGINT NOT NULL
) {{strict}};

CREATE TABLE cms_user_group_members (
    user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
    user_group_id BIGINT NOT NULL REFERENCES cms_user_groups (id),
    PRIMARY KEY (user_id, user_group_id)
) {{strict}};
CREATE INDEX cms_user_group_members_by_group ON cms_user_group_members (user_group_id);

-- Logins that are complete. hash: SHA-256 of the token.
CREATE TABLE cms_sessions (
    id {{id}},
    hash TEXT NOT NULL UNIQUE,
    user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    user_agent TEXT,
    created_at BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_sessions_by_user ON cms_sessions (user_id);
CREATE INDEX cms_sessions_by_time ON cms_sessions (last_seen_at);

-- Logins whose password was right and whose code is awaited.
CREATE TABLE cms_pending_logins (
    hash TEXT PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
    -- Sealed; the secret that a first login sets up.
    setup_secret TEXT,
    wrong_codes BIGINT NOT NULL,
    created_at BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_pending_logins_by_time ON cms_pending_logins (created_at);
CREATE INDEX cms_pending_logins_by_user ON cms_pending_logins (user_id);

-- A used code stays until a new set replaces it, so that the user can be told how many are left.
CREATE TABLE cms_recovery_codes (
    user_id BIGINT NOT NULL REFERENCES cms_users (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    used_at BIGINT,
    PRIMARY KEY (user_id, hash)
) {{strict}};

-- Wrong passwords and codes of the last hour, by network: an IPv4 address or an IPv6 /64.
CREATE TABLE cms_login_attempts (
    id {{id}},
    network TEXT NOT NULL,
    created_at BIGINT NOT NULL
) {{strict}};
CREATE INDEX cms_login_attempts_by_network ON cms_login_attempts (network, created_at);
CREATE INDEX cms_login_attempts_by_time ON cms_login_attempts (created_at);

-- One row for a network that tries, so that two attempts at the same moment count one after the other.
CREATE TABLE cms_login_networks (
    id {{id}},
    network TEXT NOT NULL UNIQUE,
    last_attempt_at BIGINT NOT NULL
) {{strict}};
