//! Which events an entry of a subscription matches. Pure.

use crate::events::family;

/// Whether an entry matches more than one name: `item.*` all events of items, `*` all events.
#[must_use]
pub(in crate::webhooks) fn is_pattern(entry: &str) -> bool {
    entry == "item.*" || entry == "*"
}

/// Whether an entry matches an event. `events::outbox` has the same rule in SQL.
#[must_use]
pub(in crate::webhooks) fn matches(entry: &str, event: &str) -> bool {
    [event, family(event), "*"].contains(&entry)
}

#[cfg(test)]
mod tests {
    #[test]
    fn entries_match_as_the_queue_does() {
        for (entry, event, expected) in [
            ("*", "auth.login", true),
            ("*", "item.blog.created", true),
            ("item.*", "item.blog.created", true),
            ("item.*", "form.submitted", false),
            ("item.*", "items.x", false),
            ("auth.login", "auth.login", true),
            ("auth.login", "auth.logout", false),
            ("auth.*", "auth.login", false),
        ] {
            assert_eq!(super::matches(entry, event), expected, "{entry} {event}");
        }
        for (entry, expected) in [("*", true), ("item.*", true), ("auth.*", false), ("", false)] {
            assert_eq!(super::is_pattern(entry), expected, "{entry}");
        }
    }
}
