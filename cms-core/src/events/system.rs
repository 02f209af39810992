//! The service's own events, each with the type of its data.

use super::{
    EventData,
    event::{CatalogueEntry, Event},
    payloads::{
        DeliveryFailed, DeploymentCompleted, EmailmarketingSubscribed, FormData, LoginData,
        MailFailed, MediaData, OrderCreated, PageData, PageTakenOff, SubmissionDeleted,
        SubmissionUpdated, UserRegistered, VisitData,
    },
};

macro_rules! events {
    ($($list:ident: $count:literal {
        $($event:ident: $data:ty = $name:expr, $when:literal;)+
    })+) => {
        $($(pub(crate) const $event: Event<$data> = Event::new($name, $when);)+)+
        $(pub(crate) static $list: [CatalogueEntry; $count] = [$($event.entry()),+];)+
    };
}

events! {
    SYSTEM: 12 {
        PAGE_PUBLISHED: PageData = "page.published", "A page was published.";
        PAGE_DRAFT_DISCARDED: PageData =
            "page.draft_discarded", "The draft of a page was discarded.";
        PAGE_TAKEN_OFF: PageTakenOff = "page.taken_off",
            "A page was taken off, or deleted while it was published.";
        MEDIA_UPLOADED: MediaData = "media.uploaded", "A file was uploaded.";
        MEDIA_DELETED: MediaData = "media.deleted", "A file was deleted.";
        AUTH_LOGIN: LoginData = "auth.login", "A backend user logged in.";
        AUTH_LOGOUT: LoginData = "auth.logout", "A backend user logged out.";
        ORDER_CREATED: OrderCreated = OrderCreated::NAME, "An order was placed in the shop.";
        FORM_SUBMITTED: FormData = "form.submitted", "A form was submitted.";
        USER_REGISTERED: UserRegistered = UserRegistered::NAME, "A visitor registered.";
        EMAILMARKETING_SUBSCRIBED: EmailmarketingSubscribed = EmailmarketingSubscribed::NAME,
            "Somebody subscribed to the newsletter.";
        DEPLOYMENT_COMPLETED: DeploymentCompleted = DeploymentCompleted::NAME,
            "A deployment has ended.";
    }
    FUNNELS: 6 {
        FUNNEL_STARTED: VisitData = "formfunnel.started", "A visit of a funnel began.";
        FUNNEL_STEP_COMPLETED: VisitData =
            "formfunnel.step_completed", "A step of a funnel was answered.";
        FUNNEL_COMPLETED: VisitData = "formfunnel.completed", "A visit of a funnel was completed.";
        FUNNEL_ABANDONED: VisitData = "formfunnel.abandoned", "A visitor left a funnel.";
        SUBMISSION_UPDATED: SubmissionUpdated = "formfunnel.submission_updated",
            "A submission was sorted, noted or assigned in the inbox.";
        SUBMISSION_DELETED: SubmissionDeleted = "formfunnel.submission_deleted",
            "A submission was deleted in the inbox.";
    }
    // No webhook gets these, so a receiver that fails cannot cause more deliveries by itself.
    INSIDE: 2 {
        WEBHOOK_FAILED: DeliveryFailed = "webhook.failed", "A delivery was given up.";
        MAIL_FAILED: MailFailed = "mail.failed", "A mail was given up.";
    }
}

/// Prefixes of the names of events that only the service itself raises.
pub(crate) const OWN: [&str; 3] = ["item.", "auth.", "formfunnel."];

/// Events of the service that other programs raise, because only they know of them.
pub(crate) const FROM_OUTSIDE: [&str; 4] = [
    ORDER_CREATED.name, USER_REGISTERED.name, EMAILMARKETING_SUBSCRIBED.name,
    DEPLOYMENT_COMPLETED.name,
];

/// The service's event of this name, without the events of items.
pub(crate) fn find_entry(name: &str) -> Option<&'static CatalogueEntry> {
    SYSTEM.iter().chain(&FUNNELS).chain(&INSIDE).find(|known| known.name == name)
}

/// Whether only the service itself raises an event.
pub(crate) fn is_reserved(name: &str) -> bool {
    let is_own = OWN.iter().any(|own| name.starts_with(own)) || find_entry(name).is_some();
    is_own && !FROM_OUTSIDE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_service_raises_what_it_observes() {
        for (name, reserved) in [
            ("page.published", true),
            ("page.taken_off", true),
            ("auth.login", true),
            ("auth.x", true),
            ("webhook.failed", true),
            ("item.blog.created", true),
            ("formfunnel.x", true),
            ("order.created", false),
            ("shop.paid", false),
            ("page.shown", false),
        ] {
            assert_eq!(is_reserved(name), reserved, "{name}");
        }
    }
}
