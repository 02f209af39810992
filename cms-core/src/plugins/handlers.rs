//! What a plugin of the embedding program runs by itself: its tasks and scripts.

use std::{collections::BTreeMap, fmt, future::Future, sync::Arc};

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use serde::Serialize;
use serde_json::Value as Json;

use super::{
    begin::Begin,
    content_call::{ContentCall, ContentHandler},
    endpoint::{Answering, EndpointCall, EndpointHandler, EndpointReply},
    guard::{BeforeAct, DeclaredGuard},
    site_ref::SiteRef,
    widgets::WidgetContent,
};
use crate::{
    Change, Result,
    change::Guard,
    events::RecordedEvent,
    items::{BeforeWrite, Hook, Items},
};

/// Runs a task.
pub(crate) type TaskHandler = Arc<dyn Fn(TaskRun) -> BoxFuture<'static, Result<()>> + Send + Sync>;

/// Runs in place of a script.
pub(crate) type ScriptHandler =
    Arc<dyn Fn(ScriptCall) -> BoxFuture<'static, Result<ScriptReply>> + Send + Sync>;

/// Follows events of the site under a name.
#[derive(Clone)]
pub(crate) struct EventHandler {
    pub(crate) pattern: String,
    pub(crate) name: String,
    pub(crate) run: Arc<dyn Fn(EventCall) -> BoxFuture<'static, Result<()>> + Send + Sync>,
}

impl EventHandler {
    /// Whether it is called for this event.
    pub(crate) fn hears(&self, event: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(beginning) => event.starts_with(beginning),
            None => event == self.pattern,
        }
    }
}

/// The handlers of a plugin, by the names in its manifest. Two of one kind with the same name, and
/// one that the manifest does not name, are problems of the plugin.
///
/// ```
/// use cms_core::{items::IfMatch, plugins::Handlers};
///
/// let handlers = Handlers::default().task("purge", |run| async move {
///     let mut change = run.change().await?;
///     run.items().delete(&mut change, "orders", "7", None, &IfMatch::Nothing).await?;
///     change.commit().await
/// });
/// ```
#[derive(Clone, Default)]
pub struct Handlers {
    pub(super) tasks: BTreeMap<String, TaskHandler>,
    pub(super) scripts: BTreeMap<String, ScriptHandler>,
    pub(super) contents: BTreeMap<String, ContentHandler>,
    pub(super) endpoints: BTreeMap<String, Answering>,
    pub(super) icons: BTreeMap<String, &'static [u8]>,
    pub(super) widgets: BTreeMap<String, Arc<dyn WidgetContent>>,
    pub(super) hooks: Vec<Hook>,
    pub(super) guards: Vec<DeclaredGuard>,
    pub(super) events: Vec<EventHandler>,
    /// Names that were given twice: of what, and the name.
    pub(super) repeated: Vec<(&'static str, String)>,
}

impl Handlers {
    /// Adds the handler of the tasks whose `handler` is this name. An error makes the run fail;
    /// its text is kept in the history.
    #[must_use]
    pub fn task<F>(
        mut self,
        name: &str,
        handler: impl Fn(TaskRun) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let handler: TaskHandler = Arc::new(move |run| Box::pin(handler(run)));
        let former = self.tasks.insert(name.to_owned(), handler);
        self.noted(former, "handlers of tasks", name)
    }

    /// Adds what runs in place of the script with this path, such as `orders/export.php`: no file
    /// is needed.
    #[must_use]
    pub fn script<F>(
        mut self,
        path: &str,
        handler: impl Fn(ScriptCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ScriptReply>> + Send + 'static,
    {
        let handler: ScriptHandler = Arc::new(move |call| Box::pin(handler(call)));
        let former = self.scripts.insert(path.to_owned(), handler);
        self.noted(former, "handlers of scripts", path)
    }

    /// Adds the class that makes the content of `show_custom_content` buttons.
    #[must_use]
    pub fn content<F>(
        mut self,
        class: &str,
        handler: impl Fn(ContentCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Json>> + Send + 'static,
    {
        let handler: ContentHandler = Arc::new(move |call| Box::pin(handler(call)));
        let former = self.contents.insert(class.to_owned(), handler);
        self.noted(former, "classes of custom content", class)
    }

    /// Adds the handler of the endpoints whose `modelPath` is this name. It answers with JSON,
    /// which is wrapped in `data`, or with an [`EndpointReply`]. `tables` are the content tables
    /// that its replies to GET are made from: one reply is kept for all visitors who ask the same
    /// path and query of the same host, until one of the tables changes. A handler that looks at
    /// more of a request names no tables, and nothing is kept. A panic is a 500 for the caller, and
    /// the log has its text.
    ///
    /// ```
    /// use cms_core::plugins::{EndpointReply, Handlers};
    ///
    /// let handlers = Handlers::default().endpoint("pay", &[], |call| async move {
    ///     let Some(signature) = call.header("x-signature") else {
    ///         return Ok(EndpointReply::data(&"no signature").status(400));
    ///     };
    ///     println!("{} bytes from {:?}: {signature}", call.bytes().len(), call.client());
    ///     Ok(EndpointReply::empty())
    /// });
    /// ```
    #[must_use]
    pub fn endpoint<F, R>(
        mut self,
        name: &str,
        tables: &[&str],
        handler: impl Fn(EndpointCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<R>> + Send + 'static,
        R: Into<EndpointReply>,
    {
        let handler: EndpointHandler = Arc::new(move |call| {
            let answered = handler(call);
            Box::pin(async move { Ok(answered.await?.into()) })
        });
        let tables = tables.iter().map(|table| (*table).to_owned()).collect();
        let former = self.endpoints.insert(name.to_owned(), Answering { handler, tables });
        self.noted(former, "handlers of endpoints", name)
    }

    /// Adds what makes the content of a widget: one of a plugin of the program, or a built-in one.
    #[must_use]
    pub fn widget(mut self, content: impl WidgetContent) -> Self {
        let name = content.name().to_owned();
        let former = self.widgets.insert(name.clone(), Arc::new(content));
        self.noted(former, "contents of widgets", &name)
    }

    /// Adds the icon that the widgets of the manifest name `file`, such as `include_bytes!` reads:
    /// SVG, PNG, JPEG or WebP of at most 256 KiB.
    #[must_use]
    pub fn icon(mut self, file: &str, content: &'static [u8]) -> Self {
        let former = self.icons.insert(file.to_owned(), content);
        self.noted(former, "icons", file)
    }

    /// Adds a hook: `run` stands before each create, update and delete of a record of `table`, in
    /// the same transaction. It may change the values, which are then checked, write more records,
    /// or refuse with an error; nothing is written then. Hooks of one table run in the order in
    /// which their plugins load, those of one plugin in the order in which they are added. A hook
    /// that panics or waits longer than 3 s refuses the write; none may block its thread. `name`
    /// stands in the log.
    #[must_use]
    pub fn before(mut self, table: &str, name: &str, run: impl BeforeWrite) -> Self {
        self.hooks.push(Hook::new(table, name, run));
        self
    }

    /// Adds a guard: `run` stands before each act that raises an event whose name matches
    /// `pattern`, such as `auth.login`, `media.uploaded` or `form.*`, in the same transaction. It
    /// may refuse the act with an error, which the caller gets; nothing is written then. It may
    /// write more through the change. Guards are asked in the order in which their plugins load,
    /// those of one plugin in the order in which they are added. One that panics or waits longer
    /// than 3 s refuses the act; none may block its thread. `name` stands in the log.
    ///
    /// Changes of [`Actor::System`](crate::Actor::System) are not asked for: nobody waits for the
    /// answer. Events of records have [`Handlers::before`].
    #[must_use]
    pub fn guard(mut self, pattern: &str, name: &str, run: impl BeforeAct) -> Self {
        self.guards.push(DeclaredGuard::new(pattern, name, run));
        self
    }

    /// Adds what is called after each event whose name matches `pattern`, such as
    /// `item.orders.created` or `item.orders.*`, in their order and at least once: the database
    /// keeps under `name` where it stands. A new name begins with the events after the first
    /// start with the plugin. An event is done when the handler returns, or with the commit of
    /// [`EventCall::change`]: what that change writes is written exactly once. After an error, a
    /// panic or 20 s the handler is called again, after 1, 5, 30, 60, 300, 300 ... s; later events
    /// wait meanwhile, and `cms status` tells why. One process at a time calls it, of those that
    /// run `Work::Events`.
    ///
    /// ```
    /// use cms_core::plugins::Handlers;
    ///
    /// let handlers = Handlers::default().on("item.orders.created", "mail", |call| async move {
    ///     println!("{} {}", call.event().id, call.event().data);
    ///     Ok(())
    /// });
    /// ```
    #[must_use]
    pub fn on<F>(
        mut self,
        pattern: &str,
        name: &str,
        handler: impl Fn(EventCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let (pattern, name) = (pattern.to_owned(), name.to_owned());
        let run = Arc::new(move |call| -> BoxFuture<'static, _> { Box::pin(handler(call)) });
        self.events.push(EventHandler { pattern, name, run });
        self
    }

    /// Notes whether another one of its kind had the name.
    fn noted<T>(mut self, former: Option<T>, kind: &'static str, name: &str) -> Self {
        if former.is_some() {
            self.repeated.push((kind, name.to_owned()));
        }
        self
    }

    /// The hooks, with the name of their plugin.
    pub(crate) fn hooks<'h>(&'h self, plugin: &'h str) -> impl Iterator<Item = Hook> + 'h {
        self.hooks.iter().map(|hook| hook.of(plugin))
    }

    /// The guards of a plugin, which reach the site.
    pub(crate) fn guards<'h>(
        &'h self,
        plugin: &'h str,
        site: &'h SiteRef,
    ) -> impl Iterator<Item = Guard> + 'h {
        self.guards.iter().map(|guard| guard.of(plugin, site))
    }

    /// The endpoints whose replies are kept, each with the tables that it names.
    pub(crate) fn endpoint_tables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.endpoints.iter().flat_map(|(name, endpoint)| {
            endpoint.tables.iter().map(|table| (name.as_str(), table.as_str()))
        })
    }

    pub(crate) fn of_task(&self, name: &str) -> Option<TaskHandler> {
        self.tasks.get(name).cloned()
    }

    pub(crate) fn of_script(&self, path: &str) -> Option<ScriptHandler> {
        self.scripts.get(path).cloned()
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Handlers");
        shown.field("tasks", &self.tasks.keys()).field("scripts", &self.scripts.keys()).finish()
    }
}

/// One run of a task, as its handler sees it.
#[derive(Clone)]
pub struct TaskRun {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) items: Items,
    pub(crate) begin: Begin,
    pub(crate) site: SiteRef,
}

impl TaskRun {
    /// The id of the run in the history.
    #[must_use]
    pub fn id(&self) -> i64 {
        self.id
    }

    /// The name of the task.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records of content tables.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Begins a change on behalf of the system, and renews the lease of the run within it: as long
    /// as the change lasts, no other process begins the task.
    ///
    /// # Errors
    /// `conflict` when the lease is lost, because the process stood still: another one runs the
    /// task, and this run can change nothing more. `internal_error` when it waits for a change
    /// that this call holds and that lies idle. As every write.
    #[track_caller]
    pub fn change(&self) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        self.begin.change()
    }
}

/// One call for an event, as its handler sees it.
#[derive(Clone)]
pub struct EventCall {
    pub(crate) event: RecordedEvent,
    pub(crate) items: Items,
    pub(crate) begin: Begin,
    pub(crate) site: SiteRef,
}

impl EventCall {
    /// The event.
    #[must_use]
    pub fn event(&self) -> &RecordedEvent {
        &self.event
    }

    /// Records of content tables.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Begins a change on behalf of the system that marks the event as done. What it writes commits
    /// together with that mark, or not at all. A handler commits one at most.
    ///
    /// # Errors
    /// `conflict` when the event is done already, or another process has taken over.
    /// `internal_error` when it waits for a change that this call holds and that lies idle. As
    /// every write.
    #[track_caller]
    pub fn change(&self) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        self.begin.change()
    }
}

/// What a script is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScriptInput {
    /// The row that the button belongs to; null in a header.
    pub id: Json,
    /// Its `url_rewrite`.
    pub url_rewrite: Option<String>,
    /// What the front end adds.
    pub data: Json,
}

/// One call of a script, as its handler sees it.
#[derive(Clone)]
pub struct ScriptCall {
    pub(crate) input: ScriptInput,
    pub(crate) items: Items,
    pub(crate) begin: Begin,
    pub(crate) site: SiteRef,
}

impl ScriptCall {
    /// What the script is given.
    #[must_use]
    pub fn input(&self) -> &ScriptInput {
        &self.input
    }

    /// Records of content tables. No rights limit them: whoever may press the button may see what
    /// the handler shows.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Begins a change on behalf of the caller.
    ///
    /// # Errors
    /// The refusal of a caller who was revoked meanwhile. `internal_error` when it waits for a
    /// change that this call holds and that lies idle. As every write.
    #[track_caller]
    pub fn change(&self) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        self.begin.change()
    }
}

/// What a script answers.
pub enum ScriptReply {
    /// JSON, passed on byte for byte.
    Json(String),
    /// A table as CSV (RFC 4180), safe to open in a spreadsheet, row by row.
    Csv {
        /// The name to save it under.
        save_as: String,
        /// The names of the columns.
        names: Vec<String>,
        /// The rows, each with one cell for each column.
        rows: BoxStream<'static, Result<Vec<String>>>,
    },
    /// Anything else, part by part.
    Stream {
        /// The value of `Content-Type`.
        media_type: String,
        /// The name to save it under.
        save_as: String,
        /// The parts; each is asked for when the one before has gone out.
        parts: BoxStream<'static, Result<Bytes>>,
    },
}

impl fmt::Debug for ScriptReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json(_) => "ScriptReply::Json",
            Self::Csv { .. } => "ScriptReply::Csv",
            Self::Stream { .. } => "ScriptReply::Stream",
        })
    }
}
