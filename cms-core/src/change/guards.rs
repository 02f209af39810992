//! Guards: code that runs in the change of an act, before its event is recorded, and may refuse
//! the act.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::Value as Json;

use super::Change;
use crate::{Code, Error, Result, db};

/// How long a hook or a guard may run: a guard or a hook before writes holds a transaction, on
/// SQLite the one writer.
const HOOK_TIMEOUT: Duration = Duration::from_secs(3);

/// Gets the change, the name of the event and its data.
pub(crate) type Judge =
    dyn for<'c> Fn(&'c mut Change, &'c str, &'c Json) -> BoxFuture<'c, Result<()>> + Send + Sync;

/// Runs before acts whose events match `pattern`; errors and the log show `name`.
#[derive(Clone)]
pub(crate) struct Guard {
    /// The name of an event, or a prefix followed by `*`.
    pub(crate) pattern: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) judge: Arc<Judge>,
}

/// The guards of a site, in the order in which they are asked. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Guards(Arc<ArcSwap<Vec<Guard>>>);

impl Guards {
    pub(crate) fn set(&self, all: Vec<Guard>) {
        self.0.store(Arc::new(all));
    }

    pub(crate) fn all(&self) -> Arc<Vec<Guard>> {
        self.0.load_full()
    }

    fn before(&self, event: &str) -> Vec<Guard> {
        self.0.load().iter().filter(|guard| guard.stands_before(event)).cloned().collect()
    }
}

impl Guard {
    pub(crate) fn stands_before(&self, event: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(beginning) => event.starts_with(beginning),
            None => event == &*self.pattern,
        }
    }
}

impl Change {
    /// The guards that are asked before acts that raise this event.
    pub(super) fn guards_before(&self, event: &str) -> Vec<Guard> {
        self.guards.as_ref().map(|guards| guards.before(event)).unwrap_or_default()
    }

    /// Asks the guards whether the act is allowed. After a refusal the change cannot be
    /// committed, because a guard may have written.
    pub(super) async fn ask_guards(&mut self, event: &str, data: &Json) -> Result<()> {
        for guard in self.guards_before(event) {
            let asked = match self.begin_hook(&guard.name) {
                Ok(()) => {
                    let who = format!("guard {}", guard.name);
                    bounded(&who, (guard.judge)(self, event, data)).await
                }
                Err(error) => Err(error),
            };
            self.end_hook();
            if let Err(error) = asked {
                self.fail();
                tracing::debug!(guard = &*guard.name, event, %error, "a guard refused an act");
                return Err(error);
            }
        }
        Ok(())
    }
}

/// As [`limited`], for a hook or a guard of a change: it may not begin a change of its own.
pub(crate) async fn bounded(who: &str, run: impl Future<Output = Result<()>>) -> Result<()> {
    db::under_change(limited(who, " Nothing was changed.", run)).await
}

/// Runs a hook or a guard, which `who` names. A panic is an error, and so is running longer than
/// 3 s; `more` follows in the text of that error.
pub(crate) async fn limited(
    who: &str,
    more: &str,
    run: impl Future<Output = Result<()>>,
) -> Result<()> {
    // Not polled again after a panic.
    let run = tokio::time::timeout(HOOK_TIMEOUT, AssertUnwindSafe(run).catch_unwind());
    match run.await {
        Ok(Ok(done)) => done,
        Ok(Err(panic)) => Err(Error::of_panic(&format!("the {who}"), &*panic)),
        Err(_) => {
            let longest = HOOK_TIMEOUT.as_secs();
            tracing::warn!(who, "a hook or a guard did not end within {longest} s");
            let why = format!("The {who} did not end within {longest} s.{more}");
            Err(Error::new(Code::Unavailable, why).retry_after(1))
        }
    }
}

/// Implements the trait of a hook for async functions. `$named` is a trait that names the lifetime
/// for which such a function borrows its argument.
macro_rules! async_hook {
    ($life:lifetime, $hook:ident::$call:ident($arg:ident), $named:ident) => {
        /// An async function that takes its argument with any lifetime.
        #[doc(hidden)]
        pub trait $named<$life>: Fn($arg<$life>) -> Self::Future {
            type Future: Future<Output = $crate::Result<()>> + Send + $life;
        }

        impl<$life, F, Run> $named<$life> for F
        where
            F: Fn($arg<$life>) -> Run,
            Run: Future<Output = $crate::Result<()>> + Send + $life,
        {
            type Future = Run;
        }

        impl<F> $hook for F
        where
            F: for<$life> $named<$life> + Send + Sync + 'static,
        {
            fn $call<$life>(&$life self, arg: $arg<$life>) -> BoxFuture<$life, $crate::Result<()>> {
                Box::pin(self(arg))
            }
        }
    };
}
pub(crate) use async_hook;
