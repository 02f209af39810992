//! The screen of a place.

use super::{
    Screen, analytics::Analytics, attempts, audit, browser::Browser, cache, content, deliveries,
    delivery::Delivery, events, forms, funnels, groups, home::Home, inbox, keys, limits,
    login::SignIn, mail, media, origins, pages, plugins, queue, records, submission::Submission,
    system, tasks, users, webhooks, widgets,
};
use crate::step::Place;

/// Makes the screen; home for a noun that there is not.
pub(crate) fn open(place: Place) -> Box<dyn Screen> {
    let spec = match place.noun {
        "webhooks" => &webhooks::SPEC,
        "deliveries" => &deliveries::SPEC,
        "queue" => &queue::SPEC,
        "keys" => &keys::SPEC,
        "content" => &content::SPEC,
        "plugins" => &plugins::SPEC,
        "records" => &records::SPEC,
        "users" => &users::SPEC,
        "groups" => &groups::SPEC,
        "origins" => &origins::SPEC,
        "cache" => &cache::SPEC,
        "limits" => &limits::SPEC,
        "attempts" => &attempts::SPEC,
        "audit" => &audit::SPEC,
        "events" => &events::KNOWN,
        "messages" => &events::HAPPENED,
        "forms" => &forms::SPEC,
        "funnels" => &funnels::SPEC,
        "submissions" => &forms::SUBMISSIONS,
        "inbox" => &inbox::SPEC,
        "mail" => &mail::SPEC,
        "media" => &media::SPEC,
        "pages" => &pages::SPEC,
        "revisions" => &pages::REVISIONS,
        "links" => &pages::LINKS,
        "widgets" => &widgets::SPEC,
        "tasks" => &tasks::TASKS,
        "runs" => &tasks::RUNS,
        "system" => &system::SPEC,
        "submission" => return Box::new(Submission::new(place.subject)),
        "funnel" => return Box::new(funnels::Graph::new(place.subject)),
        "analytics" => return Box::new(Analytics::new(place.subject)),
        "page" => return Box::new(pages::PageTree::new(place.subject)),
        "delivery" => return Box::new(Delivery::new(place.subject)),
        "login" => return Box::new(SignIn::default()),
        "rights" => return Box::new(keys::Matrix::new(place.subject)),
        _ => return Box::new(Home::default()),
    };
    Box::new(Browser::new(spec, place))
}
