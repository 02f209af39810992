//! Follows events of the site as they happen.

use std::time::Duration;

use cms_http::{
    client::{Client, ClientError},
    wire::stream::Followed,
};
use tokio::{sync::mpsc::UnboundedSender, task::JoinHandle};

use super::Incoming;
use crate::model::Msg;

/// Time before the stream is opened again.
const AGAIN: Duration = Duration::from_secs(2);

/// Follows until the user leaves. Without the right to, screens are polled.
pub(super) fn follow(client: Client, sender: UnboundedSender<Incoming>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut last = None;
        loop {
            let again = one(&client, &sender, &mut last).await;
            if sender.send(Incoming::Msg(Msg::Live(false))).is_err() || !again {
                return;
            }
            tokio::time::sleep(AGAIN).await;
        }
    })
}

/// One stream to its end. Returns whether to open another one.
async fn one(
    client: &Client,
    sender: &UnboundedSender<Incoming>,
    last: &mut Option<String>,
) -> bool {
    let mut following = match client.follow(&Followed::default(), last.as_deref()).await {
        Ok(following) => following,
        Err(ClientError::Unreachable(_)) => return true,
        Err(ClientError::Problem { status, .. }) => return status.is_server_error(),
        Err(_) => return false,
    };
    let _ = sender.send(Incoming::Msg(Msg::Live(true)));
    while let Some(Ok(happened)) = following.next().await {
        if happened.id.is_some() {
            *last = happened.id;
        }
        if sender.send(Incoming::Msg(Msg::Happened(happened.event))).is_err() {
            return false;
        }
    }
    true
}
