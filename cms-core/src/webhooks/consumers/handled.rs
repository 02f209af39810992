//! Calls the handlers of plugins for events.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{Consumer, Events, PAUSE, UNFOLLOWED, consumer::enter};
use crate::{
    Code, Result,
    db::watched,
    events::RecordedEvent,
    ground::SiteRef,
    items::Items,
    jobs::{self, FaultLog, Stop},
    plugins::{Begin, EventCall, EventHandler, Plugins},
    webhooks::{Webhooks, history::feed},
};

/// Timeout of a handler. A lease lasts longer.
const LONGEST: Duration = Duration::from_secs(20);
/// The most handlers that follow from each other: a handler that causes its own event would be
/// called without end.
const MOST_DEPTH: i64 = 64;

/// Adds the names of new handlers, so that they begin with the events from now on.
pub(crate) async fn enter_handlers(webhooks: &Webhooks, plugins: &Plugins) -> Result<()> {
    let handlers = plugins.event_handlers();
    if !handlers.is_empty() {
        webhooks.put_in_order().await?;
    }
    for (plugin, handler) in handlers {
        enter(&webhooks.0.base, &name_of(&plugin, &handler)).await?;
    }
    Ok(())
}

fn name_of(plugin: &str, handler: &EventHandler) -> String {
    format!("{plugin}.{}", handler.name)
}

/// Calls the handlers of all plugins in service concurrently, until the stop.
pub(crate) async fn call_handlers(
    webhooks: &Webhooks,
    plugins: &Plugins,
    items: &Items,
    stop: Stop,
) {
    let mut stopped = std::pin::pin!(jobs::stopped(stop, Duration::ZERO));
    let mut is_stopped = false;
    while !is_stopped {
        let index = plugins.index();
        let (ended, end) = watch::channel(false);
        let mut running = JoinSet::new();
        for (plugin, handler) in plugins.event_handlers() {
            let (events, end) = (Events::new(webhooks), end.clone());
            let reach = (items.clone(), plugins.site());
            running.spawn(watched(follow(events, plugin, handler, reach, end)));
        }
        // Runs until a plugin comes into service or leaves it.
        let mut panic = None;
        while panic.is_none() && !is_stopped && plugins.has(&index) {
            tokio::select! {
                () = &mut stopped => is_stopped = true,
                Some(Err(error)) = running.join_next() => panic = error.try_into_panic().ok(),
                () = sleep(PAUSE) => is_stopped = webhooks.0.base.db().is_closed(),
            }
        }
        ended.send_replace(true);
        while running.join_next().await.is_some() {}
        if let Some(panic) = panic {
            // The supervisor counts the panic and restarts all handlers.
            std::panic::resume_unwind(panic);
        }
    }
}

/// Calls the handlers of all plugins in service, one after the other, for the recorded events that
/// they have not handled yet. Returns the number of calls.
pub(crate) async fn step_handlers(
    webhooks: &Webhooks,
    plugins: &Plugins,
    items: &Items,
) -> Result<u64> {
    let handlers = plugins.event_handlers();
    if handlers.is_empty() {
        return Ok(0);
    }
    // With the stop already set, a result that cannot be written is an error of this step and is
    // not retried.
    let (_run, stop) = watch::channel(true);
    let (events, reach) = (Events::new(webhooks), (items.clone(), plugins.site()));
    let last = feed::settled(webhooks.0.base.db()).await?;
    let mut calls = 0;
    for (plugin, handler) in handlers {
        let name = name_of(&plugin, &handler);
        let mut consumer = events.subscribe(&handler.pattern).named(&name).await?;
        let handled = async {
            while let Some(event) = consumer.first().await?
                && event.row <= last
            {
                calls += 1;
                called(&consumer, &handler, event, &reach, &stop).await?;
            }
            Ok(())
        };
        let handled: Result<()> = handled.await;
        consumer.release().await?;
        handled?;
    }
    Ok(calls)
}

/// Calls one handler for its events, until the stop.
async fn follow(
    events: Events,
    plugin: String,
    handler: EventHandler,
    reach: (Items, SiteRef),
    stop: Stop,
) {
    let name = name_of(&plugin, &handler);
    let mut stopped = std::pin::pin!(jobs::stopped(stop.clone(), Duration::ZERO));
    let opened = async {
        let faults = FaultLog::default();
        loop {
            let opened = events.subscribe(&handler.pattern).named(&name).await;
            faults.note(&name, UNFOLLOWED, &opened);
            match opened {
                Ok(consumer) => return consumer,
                Err(_) => sleep(PAUSE).await,
            }
        }
    };
    let mut consumer = tokio::select! {
        consumer = opened => consumer,
        () = &mut stopped => return,
    };
    loop {
        tokio::select! {
            next = consumer.next() => match next {
                // A stop waits for the call. If its result cannot be written then, the next owner
                // handles the event again.
                Some(event) => drop(called(&consumer, &handler, event, &reach, &stop).await),
                None => return,
            },
            () = &mut stopped => break,
        }
    }
    // If this fails, another process takes over when the lease ends.
    let _ = consumer.release().await;
}

/// Calls the handler, unless the chain of its event is too long, and records the result.
///
/// # Errors
/// As every write, after the stop. Before the stop, a failed write is retried.
async fn called(
    consumer: &Consumer,
    handler: &EventHandler,
    event: RecordedEvent,
    reach: &(Items, SiteRef),
    stop: &Stop,
) -> Result<()> {
    let Ok(begin) = consumer.begin() else { return Ok(()) };
    let failure = if event.depth < MOST_DEPTH {
        failure_of(handler, event, begin, reach).await
    } else {
        let (event, name) = (event.id, event.event);
        tracing::error!(
            handler = handler.name,
            event,
            name,
            "{MOST_DEPTH} handlers in a row led to this event: it is skipped"
        );
        None
    };
    // Retries only the write: the handler must not run again because of it.
    loop {
        let written = match &failure {
            None => consumer.finish().await,
            Some(why) => consumer.fail(why).await,
        };
        match written {
            Err(error)
                if error.code() != Code::Conflict && !*stop.borrow() && !consumer.is_closed() =>
            {
                tracing::debug!(%error, "the end of a handler is not written down; trying again");
                sleep(PAUSE).await;
            }
            // Another process holds the name, or the event is gone.
            Err(error) if error.code() == Code::Conflict => return Ok(()),
            ended => return ended,
        }
    }
}

/// Calls the handler. Returns why it failed.
async fn failure_of(
    handler: &EventHandler,
    event: RecordedEvent,
    begin: Begin,
    (items, site): &(Items, SiteRef),
) -> Option<String> {
    let (id, of) = (event.id.clone(), begin.call());
    let call = EventCall { event, items: items.clone(), begin, site: site.clone() };
    let work = watched(of.run(async { (handler.run)(call).await }));
    let why = match timeout(LONGEST, AssertUnwindSafe(work).catch_unwind()).await {
        Ok(Ok(Ok(()))) => return None,
        Ok(Ok(Err(error))) if error.code() == Code::Internal => {
            tracing::error!(?error, handler = handler.name, event = id, "a handler failed");
            "The handler failed; the log has the cause.".to_owned()
        }
        Ok(Ok(Err(error))) => error.detail().to_owned(),
        Ok(Err(_)) => "The handler panicked; the log has the cause.".to_owned(),
        Err(_) => format!("The handler took longer than {} s.", LONGEST.as_secs()),
    };
    tracing::warn!(handler = handler.name, event = id, why, "an event was not handled");
    Some(why)
}
