//! The handlers of a plugin of the embedding program: code for its tasks, scripts, events
//! and more.

use std::{collections::BTreeMap, fmt, future::Future, sync::Arc};

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use serde::Serialize;
use serde_json::Value as Json;

use super::{
    begin::Begin,
    endpoint::{
        Answering, ContentCall, ContentHandler, EndpointCall, EndpointHandler, EndpointReply,
    },
    guard::{BeforeAct, DeclaredGuard},
    widgets::WidgetContent,
};
use crate::{
    Change, Result,
    change::Guard,
    events::RecordedEvent,
    ground::SiteRef,
    items::{BeforeWrite, Hook, Items, OnRead},
};

/// Runs a task.
pub(crate) type TaskHandler = Arc<dyn Fn(TaskRun) -> BoxFuture<'static, Result<()>> + Send + Sync>;

/// Runs instead of a script.
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

/// The handlers of a plugin, by the names in its manifest. Two handlers of one kind with the same
/// name, and a handler that the manifest does not name, are problems of the plugin.
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
    pub(super) read_hooks: Vec<Hook<dyn OnRead>>,
    pub(super) guards: Vec<DeclaredGuard>,
    pub(super) events: Vec<EventHandler>,
    /// Names that were given twice, each with its kind of handler.
    pub(super) repeated: Vec<(&'static str, String)>,
}

impl Handlers {
    /// Adds the handler of the tasks whose `handler` is this name. An error makes the run fail,
    /// and its text is kept in the history.
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

    /// Adds a handler that runs instead of the script with this path, such as `orders/export.php`.
    /// No file is needed.
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

    /// Adds the handler of the endpoints whose `modelPath` is this name. The handler answers with
    /// JSON, which is wrapped in `data`, or with an [`EndpointReply`].
    ///
    /// `tables` are the content tables that replies to GET are made from. One reply is then
    /// cached for all visitors that request the same path and query of the same host, until one
    /// of the tables changes. A handler that uses more of a request must name no tables; then
    /// nothing is cached.
    ///
    /// A panic is a 500 for the caller, and its text is logged.
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

    /// Adds the code that makes the content of a widget: a built-in one, or one of a plugin of
    /// the program.
    #[must_use]
    pub fn widget(mut self, content: impl WidgetContent) -> Self {
        let name = content.name().to_owned();
        let former = self.widgets.insert(name.clone(), Arc::new(content));
        self.noted(former, "contents of widgets", &name)
    }

    /// Adds the icon that widgets of the manifest name as `file`, for example from
    /// `include_bytes!`: SVG, PNG, JPEG or WebP of at most 256 KiB.
    #[must_use]
    pub fn icon(mut self, file: &str, content: &'static [u8]) -> Self {
        let former = self.icons.insert(file.to_owned(), content);
        self.noted(former, "icons", file)
    }

    /// Adds a hook: `run` is called before each create, update and delete of a record of `table`,
    /// in the same transaction. `name` appears in the log.
    ///
    /// The hook may change the values, which are checked afterwards, write more records, or refuse
    /// the write with an error; then nothing is written. The hooks of a table run in the order in
    /// which their plugins load, those of one plugin in the order in which they were added. A hook
    /// that panics or takes longer than 3 s refuses the write. A hook must not block its thread.
    #[must_use]
    pub fn before(mut self, table: &str, name: &str, run: impl BeforeWrite) -> Self {
        let run: Arc<dyn BeforeWrite> = Arc::new(run);
        self.hooks.push(Hook::new(table, name, run));
        self
    }

    /// Adds a hook on reads: `run` is called before the API sends records of `table` to a caller,
    /// once for each reply, with all of its records. `name` appears in the log.
    ///
    /// The hook may add, change and remove members of the records, or refuse the reply with an
    /// error, which the caller gets. Order, panics and the limit of 3 s are as for
    /// [`Handlers::before`]. Replies that a hook has seen are not kept, and never 304. Code of the
    /// program, events, filters and sorts have the records as they are stored.
    #[must_use]
    pub fn on_read(mut self, table: &str, name: &str, run: impl OnRead) -> Self {
        let run: Arc<dyn OnRead> = Arc::new(run);
        self.read_hooks.push(Hook::new(table, name, run));
        self
    }

    /// Adds a guard: `run` is called before each act that raises an event whose name matches
    /// `pattern`, such as `auth.login`, `media.uploaded` or `form.*`, in the same transaction.
    /// `name` appears in the log.
    ///
    /// The guard may refuse the act with an error, which the caller gets; then nothing is written.
    /// It may also write through the change. Guards run in the order in which their plugins load,
    /// those of one plugin in the order in which they were added. A guard that panics or takes
    /// longer than 3 s refuses the act. A guard must not block its thread.
    ///
    /// Guards are not called for changes of [`Actor::System`](crate::Actor::System), because no
    /// caller waits for the answer. For events of records, use [`Handlers::before`].
    #[must_use]
    pub fn guard(mut self, pattern: &str, name: &str, run: impl BeforeAct) -> Self {
        self.guards.push(DeclaredGuard::new(pattern, name, run));
        self
    }

    /// Adds a handler that is called after each event whose name matches `pattern`, such as
    /// `item.orders.created` or `item.orders.*`. Events come in order and at least once: the
    /// database keeps the handler's position under `name`. A new name begins with the events after
    /// the first start with the plugin.
    ///
    /// An event is done when the handler returns, or with the commit of [`EventCall::change`];
    /// the writes of that change happen exactly once. After an error, a panic or 20 s the handler
    /// is called again, after 1, 5, 30, 60, 300, 300 ... s. Later events wait meanwhile, and
    /// `cms status` shows the reason. Of the processes that run `Work::Events`, one at a time
    /// calls the handler. It is not called for an event to which 64 such calls have led: the event
    /// counts as done, and the log has an error.
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

    /// Notes when another handler of its kind already had the name.
    fn noted<T>(mut self, former: Option<T>, kind: &'static str, name: &str) -> Self {
        if former.is_some() {
            self.repeated.push((kind, name.to_owned()));
        }
        self
    }

    /// The hooks of a plugin, with access to the site.
    pub(crate) fn hooks<'h>(
        &'h self,
        plugin: &'h str,
        site: &'h SiteRef,
    ) -> impl Iterator<Item = Hook> + 'h {
        self.hooks.iter().map(|hook| hook.of(plugin, site))
    }

    /// The hooks on reads of a plugin, with access to the site.
    pub(crate) fn read_hooks<'h>(
        &'h self,
        plugin: &'h str,
        site: &'h SiteRef,
    ) -> impl Iterator<Item = Hook<dyn OnRead>> + 'h {
        self.read_hooks.iter().map(|hook| hook.of(plugin, site))
    }

    /// The guards of a plugin, with access to the site.
    pub(crate) fn guards<'h>(
        &'h self,
        plugin: &'h str,
        site: &'h SiteRef,
    ) -> impl Iterator<Item = Guard> + 'h {
        self.guards.iter().map(|guard| guard.of(plugin, site))
    }

    /// The endpoints whose replies are cached, each with a table that it names.
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

    /// Begins a change on behalf of the system, and renews the lease of the run within the change.
    /// While the change lasts, no other process begins the task.
    ///
    /// # Errors
    /// `conflict` when the lease is lost because the process hung: another process runs the task,
    /// and this run can write no more. `internal_error` when the change would wait for another
    /// change that this call holds and that is idle. As every write.
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

    /// Begins a change on behalf of the system that marks the event as done. The writes of the
    /// change commit together with that mark, or not at all. A handler may commit one such change.
    ///
    /// # Errors
    /// `conflict` when the event is already done, or another process has taken over.
    /// `internal_error` when the change would wait for another change that this call holds and
    /// that is idle. As every write.
    #[track_caller]
    pub fn change(&self) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        self.begin.change()
    }
}

/// The input of a script.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScriptInput {
    /// The row that the button belongs to; null in a header.
    pub id: Json,
    /// The `url_rewrite` of that row.
    pub url_rewrite: Option<String>,
    /// Further data from the front end.
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
    /// The input of the script.
    #[must_use]
    pub fn input(&self) -> &ScriptInput {
        &self.input
    }

    /// Records of content tables, without limits by rights: everyone who may press the button may
    /// see what the handler shows.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Begins a change on behalf of the caller.
    ///
    /// # Errors
    /// An error when the caller's access was revoked meanwhile. `internal_error` when the change
    /// would wait for another change that this call holds and that is idle. As every write.
    #[track_caller]
    pub fn change(&self) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        self.begin.change()
    }
}

/// The reply of a script.
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
        /// The parts. Each is requested after the previous one was sent.
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
