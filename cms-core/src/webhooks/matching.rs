//! Which entries of a subscription are patterns, and the events of the service itself. Pure.

/// Whether an entry matches more than one name: `item.*` all events of items, `*` all.
#[must_use]
pub(super) fn is_pattern(entry: &str) -> bool {
    entry == "item.*" || entry == "*"
}

/// The events that the core raises, or that embedding code raises through it.
pub(super) const SYSTEM_EVENTS: [(&str, &str); 11] = [
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
