//! The endpoints that rights can name, with their methods. `cms-http` serves exactly these to keys
//! (a test compares).

/// Path and methods of every endpoint under `/api` that keys can reach.
pub const ENDPOINTS: &[(&str, &[&str])] = &[
    ("/api/pages", &["GET"]),
    ("/api/menu", &["GET"]),
    ("/api/settings", &["GET"]),
    ("/api/backend/item", &["GET", "POST", "PATCH", "DELETE"]),
    ("/api/backend/actions/checklist", &["POST"]),
    ("/api/backend/keys", &["GET", "POST", "PATCH", "DELETE"]),
    ("/api/backend/keys/rotate", &["POST"]),
    ("/api/backend/keys/check", &["GET"]),
    ("/api/backend/origins", &["GET", "POST", "PATCH", "DELETE"]),
    ("/api/backend/audit", &["GET"]),
    ("/api/backend/cache", &["GET", "PATCH", "DELETE"]),
    ("/api/backend/limits", &["GET", "DELETE"]),
    ("/api/backend/users", &["GET", "POST", "PATCH", "DELETE"]),
    ("/api/backend/users/sessions", &["GET", "DELETE"]),
    ("/api/backend/user_groups", &["GET", "POST", "PATCH", "DELETE"]),
    ("/api/backend/loginattempts", &["GET", "DELETE"]),
    ("/api/backend/webhooks", &["GET", "POST", "PATCH", "DELETE"]),
    ("/api/backend/webhooks/rotate-secret", &["POST"]),
    ("/api/backend/webhooks/activate", &["POST"]),
    ("/api/backend/webhooks/ping", &["POST"]),
    ("/api/backend/webhooks/events", &["GET"]),
    ("/api/backend/webhooks/explain", &["POST"]),
    ("/api/backend/webhooks/emit", &["POST"]),
    ("/api/backend/webhooks/messages", &["GET"]),
    ("/api/backend/webhooks/queue", &["GET", "DELETE"]),
    ("/api/backend/webhooks/queue/stats", &["GET"]),
    ("/api/backend/webhooks/queue/retry", &["POST"]),
    ("/api/backend/webhooks/queue/cancel", &["POST"]),
    ("/api/backend/webhooks/deliveries", &["GET"]),
    ("/api/backend/webhooks/redeliver", &["POST"]),
];

/// The methods of an endpoint; None when there is no such path.
#[must_use]
pub fn methods_of(path: &str) -> Option<&'static [&'static str]> {
    ENDPOINTS.iter().find(|(known, _)| *known == path).map(|(_, methods)| *methods)
}
