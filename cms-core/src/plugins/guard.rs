//! Guards of plugins: code that runs before an act of the service that raises an event.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::Problem;
use crate::{
    Actor, Change, Error, Result,
    change::{Guard, Judge, async_hook},
    ground::SiteRef,
};

/// An act that raises an event, before it is committed: a login, an upload, a submission.
///
/// ```
/// use cms_core::{Result, plugins::{Act, Handlers}};
///
/// async fn small(act: Act<'_>) -> Result<()> {
///     match act.data()["media"]["size"].as_i64() {
///         Some(size) if size > 1_000_000 => Err(act.refuse("file", "at most 1 MB")),
///         _ => Ok(()),
///     }
/// }
/// let handlers = Handlers::default().guard("media.uploaded", "small", small);
/// ```
pub struct Act<'a> {
    /// The change of the act. Your writes through it commit or roll back with the act.
    pub change: &'a mut Change,
    pub(super) event: &'a str,
    pub(super) data: &'a Json,
    pub(crate) site: &'a SiteRef,
}

impl Act<'_> {
    /// The actor. At `auth.login`, the user who logs in.
    #[must_use]
    pub fn actor(&self) -> &Actor {
        self.change.actor()
    }

    /// Whether the act raises no event: a submission that looks automatic, or a visit by which an
    /// author tries a funnel. Such an act does not count elsewhere either.
    #[must_use]
    pub fn is_unheard(&self) -> bool {
        self.change.is_unheard()
    }

    /// The name of the event that the act raises.
    #[must_use]
    pub fn event(&self) -> &str {
        self.event
    }

    /// The data of that event.
    #[must_use]
    pub fn data(&self) -> &Json {
        self.data
    }

    /// The data as a value of your own type. Members that the type lacks are ignored.
    ///
    /// # Errors
    /// `internal_error` when the data does not fit the type.
    pub fn data_as<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(self.data).map_err(Error::internal)
    }

    /// The error `validation_failed` at a field. A guard that returns it refuses the act.
    #[must_use]
    pub fn refuse(&self, field: &str, why: impl Into<String>) -> Error {
        Error::invalid_field(field, "refused", why)
    }
}

/// Code that runs before an act. Every named `async fn(Act<'_>) -> Result<()>` implements it;
/// implement it yourself for a guard with state.
pub trait BeforeAct: Send + Sync + 'static {
    /// Inspects the act. An error refuses it.
    fn before<'a>(&'a self, act: Act<'a>) -> BoxFuture<'a, Result<()>>;
}

async_hook!('a, BeforeAct::before(Act), ActFn);

/// A guard as its plugin declares it.
#[derive(Clone)]
pub(super) struct DeclaredGuard {
    pattern: String,
    name: String,
    run: Arc<dyn BeforeAct>,
}

impl DeclaredGuard {
    pub(super) fn new(pattern: &str, name: &str, run: impl BeforeAct) -> Self {
        Self { pattern: pattern.to_owned(), name: name.to_owned(), run: Arc::new(run) }
    }

    /// The guard of this plugin, with access to the site.
    pub(super) fn of(&self, plugin: &str, site: &SiteRef) -> Guard {
        let (run, site) = (self.run.clone(), site.clone());
        Guard {
            pattern: self.pattern.as_str().into(),
            name: format!("{plugin}.{}", self.name).into(),
            judge: judge(move |change, event, data| {
                let (run, site) = (run.clone(), site.clone());
                Box::pin(async move { run.before(Act { change, event, data, site: &site }).await })
            }),
        }
    }

    /// Problems of guards: duplicate names and invalid patterns.
    pub(super) fn faults(all: &[Self]) -> Vec<Problem> {
        let (mut seen, mut problems) = (BTreeSet::new(), Vec::new());
        for Self { pattern, name, .. } in all {
            if !seen.insert(name) {
                problems.push(Problem::whole(format!("two guards are named {name}")));
            }
            let beginning = pattern.strip_suffix('*').unwrap_or(pattern);
            let is_of_items = match pattern.ends_with('*') {
                true => "item.".starts_with(beginning) || beginning.starts_with("item."),
                false => pattern.starts_with("item."),
            };
            if is_of_items || beginning.contains('*') || beginning.is_empty() {
                let what = "the events of a guard are a name, or the beginning of names and *; \
                            those of records have Handlers::before";
                problems.push(Problem::whole(format!("{what}: {pattern:?} is neither")));
            }
        }
        problems
    }
}

/// Tells the compiler that the closure accepts references with any lifetime.
fn judge(
    run: impl for<'c> Fn(&'c mut Change, &'c str, &'c Json) -> BoxFuture<'c, Result<()>>
    + Send
    + Sync
    + 'static,
) -> Arc<Judge> {
    Arc::new(run)
}
