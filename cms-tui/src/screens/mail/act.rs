//! What can be done with mails.

use cms_http::wire::{
    mail::{MailIds, Retry, Test, TestMail},
    parameters::NoQuery,
};
use serde_json::Value as Json;

use crate::{
    actions::Scene,
    screens::{acts, cells::plain_text},
    step::{Form, Step, send},
    text::count,
    widgets::{field::Field, viewer::Viewer},
};

pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    match verb {
        "show" => show(&scene.row.cloned().unwrap_or_default()),
        "retry" => retry(scene),
        "test" => test(),
        _ => Step::None,
    }
}

pub(super) fn show(row: &Json) -> Step {
    let title = format!("Mail {}", acts::id(row));
    let call = super::whole(row);
    call.map(|call| call.then(move |reply| Step::View(Viewer::json(title, &reply.data)))).into()
}

/// All or none, as the service does it.
fn retry(scene: &Scene<'_>) -> Step {
    let ids: Vec<_> = scene.rows().iter().map(|row| acts::id(row)).collect();
    let call = send::<Retry>(&NoQuery {}, &MailIds { ids });
    let call = call.map(|call| {
        call.then(|reply| {
            let queued = reply.data["queued"].as_u64().unwrap_or(0);
            let mails = count(usize::try_from(queued).unwrap_or(0), "mail");
            Step::did(format!("{mails} due now"))
        })
    });
    call.into()
}

fn test() -> Step {
    let providers = ["all in turn", "transactional", "newsletter", "smtp"];
    let fields = vec![
        Field::text("to", "To", "").hint("name@example.org").required(),
        Field::one("provider", "Through", &providers, 0).hint("Space: the next one"),
    ];
    Form::new("Send a test mail".to_owned(), fields, move |values| {
        let provider = Some(values.text("provider")).filter(|name| name != providers[0]);
        let mail = TestMail { to: values.text("to"), provider };
        let call = send::<Test>(&NoQuery {}, &mail);
        let call = call.map(|call| {
            call.then(|reply| {
                let status = plain_text(&reply.data["status"]);
                match reply.data["reason"].as_str() {
                    Some(why) => Step::Tell(format!("The test mail is {status}: {why}")),
                    None => Step::did(format!("The test mail is {status}")),
                }
            })
        });
        call.into()
    })
    .step()
}
