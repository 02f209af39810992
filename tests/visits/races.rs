//! Two calls at once: whichever comes first, the other finds what it left. Each call runs on a
//! thread of its own, and all begin together.

mod authors;
mod ends;

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tokio::sync::Barrier;

use crate::support::{Site, Visit, leads, with};

const ROUNDS: i64 = 12;

/// A call that will be made.
#[derive(Clone)]
pub enum Shot {
    /// Of a visitor: the action and the body.
    Visitor(&'static str, Json),
    /// A page that is closed, by its session.
    Beacon(String),
    /// A file for `paper`, by its session.
    File(String),
    /// Of a user, with the key that may do everything.
    Author(String, Json),
    /// The task that marks visits.
    Round,
}

impl Shot {
    pub fn author(action: &str, body: Json) -> Self {
        Self::Author(format!("POST /api/backend/formfunnel?action={action}"), body)
    }

    /// The status of the reply; 200 for the task.
    async fn fire(self, site: &Site) -> u16 {
        let visit = |session| Visit { site, session };
        match self {
            Self::Visitor(action, body) => site.visitor(action, body).send().await.status.as_u16(),
            Self::Beacon(session) => {
                visit(session).abandon().await;
                204
            }
            Self::File(session) => {
                visit(session).upload("paper", b"%PDF-1.7 x").await.status.as_u16()
            }
            Self::Author(line, body) => site.admin(&line).json(body).send().await.status.as_u16(),
            Self::Round => {
                site.process_abandoned().await;
                200
            }
        }
    }
}

/// Makes the calls at once. Their statuses, in their order.
pub async fn race<const N: usize>(site: &Arc<Site>, shots: [Shot; N]) -> [u16; N] {
    let start = Arc::new(Barrier::new(N));
    let calls = shots.map(|shot| {
        let (site, start) = (Arc::clone(site), Arc::clone(&start));
        tokio::spawn(async move {
            start.wait().await;
            shot.fire(&site).await
        })
    });
    let mut statuses = [0; N];
    for (status, call) in statuses.iter_mut().zip(calls) {
        *status = call.await.unwrap();
    }
    statuses
}

/// A site whose calls wait for each other as those of several processes do.
pub async fn open() -> Arc<Site> {
    Arc::new(Site::open().await)
}

/// Marks those who leave, with a mail.
pub fn saving() -> Json {
    let mails = json!([
        {"recipients": "a@example.org", "subject": "Done"},
        {"recipients": "a@example.org", "subject": "Away", "trigger_event": "abandoned"},
    ]);
    with(leads(), json!({"save_abandoned": 1, "email_routings": mails}))
}

pub fn step(session: &str, answers: Json) -> Shot {
    Shot::Visitor("step", json!({"session_uuid": session, "answers": answers}))
}

pub fn complete(session: &str) -> Shot {
    Shot::Visitor("complete", json!({"session_uuid": session}))
}
