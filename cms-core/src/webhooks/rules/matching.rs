//! Which events an entry of a subscription matches, and the service's own events. Pure.

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

/// Events that the core raises, or that an embedding program raises through it.
pub(in crate::webhooks) const SYSTEM_EVENTS: [(&str, &str); 11] = [
    ("page.published", "A page was published."),
    ("page.draft_discarded", "The draft of a page was discarded."),
    ("media.uploaded", "A file was uploaded."),
    ("media.deleted", "A file was deleted."),
    ("auth.login", "A backend user logged in."),
    ("auth.logout", "A backend user logged out."),
    ("order.created", "An order was placed in the shop."),
    ("form.submitted", "A form was submitted."),
    ("user.registered", "A visitor registered."),
    ("emailmarketing.subscribed", "Somebody subscribed to the newsletter."),
    ("deployment.completed", "A deployment has ended."),
];

/// Events of visits. They are registered as those of the plugin `formfunnel`.
pub(in crate::webhooks) const FUNNEL_EVENTS: [(&str, &str); 6] = [
    ("formfunnel.started", "A visit of a funnel began."),
    ("formfunnel.step_completed", "A step of a funnel was answered."),
    ("formfunnel.completed", "A visit of a funnel was completed."),
    ("formfunnel.abandoned", "A visitor left a funnel."),
    ("formfunnel.submission_updated", "A submission was sorted, noted or assigned in the inbox."),
    ("formfunnel.submission_deleted", "A submission was deleted in the inbox."),
];

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
