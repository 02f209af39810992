//! Every endpoint, one line each: address and access, then for each operation its method, types,
//! handler and status of a success. `+ "/{id}"` is another spelling of `?id=`; the last one is
//! the path of a single thing in the OpenAPI document. `+ if_match`: the handler judges the tags
//! of `If-Match`; for every other PATCH and DELETE the gate refuses them. Types are in
//! `wire/<resource>.rs`, handlers in `handlers/<resource>.rs`. The list is long because it is
//! read as a whole: only what it names is served.

use std::sync::LazyLock;

use cms_core::{
    Result,
    access::{Access, Endpoint},
};
use futures_util::future::BoxFuture;
use tracing::Instrument;

use crate::{
    call::{Call, DeclaredBy},
    describe::{Described, Types},
    handlers,
    reply::Reply,
    request::{Canonical, bad},
    success::{Answers, Success},
    wire::{self, Body as _, Content, Operation, ReplyKind, Shape},
};

pub(crate) type Handler = for<'a> fn(&'a Call<'a>, Content) -> Handled<'a>;

/// One path, or one `action` at a path, with its methods.
pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) action: Option<&'static str>,
    /// Other spellings, as endings after the path and the action: `/{id}` stands for `?id=`.
    tails: &'static [&'static str],
    pub(crate) access: Access,
    /// The tables that its replies are made from; if empty, replies are not cached.
    pub(crate) tables: &'static [&'static str],
    /// The content table whose records a plugin's endpoint reads.
    pub(crate) records: Option<&'static str>,
    /// The declaration of a plugin's endpoint.
    pub(crate) endpoint: Option<DeclaredBy>,
    resource: &'static str,
    methods: &'static [Method],
}

/// One method of a route.
pub(crate) struct Method {
    name: &'static str,
    /// Whether the handler judges the tags of `If-Match`.
    judges_tags: bool,
    pub(crate) answers: Answers,
    pub(crate) handler: Handler,
    pub(crate) types: Types,
}

/// How a method calls its handler: methods with a body pass the body on.
macro_rules! handler {
    (GET $op:ty, $handler:path) => {
        |call, _| {
            let reply = async move {
                finish::<$op>(call, $handler(call, query::<$op>(call)?).await?)
            };
            handled(stringify!($handler), Box::pin(reply))
        }
    };
    (DELETE $op:ty, $handler:path) => { handler!(GET $op, $handler) };
    (PATCH $op:ty, $handler:path) => { handler!(POST $op, $handler) };
    (POST $op:ty, $handler:path) => {
        |call, content| {
            let reply = async move {
                let query = query::<$op>(call)?;
                let body = <$op as Shape>::Body::receive(content).await?;
                finish::<$op>(call, $handler(call, query, body).await?)
            };
            handled(stringify!($handler), Box::pin(reply))
        }
    };
}

/// The form of a success: JSON unless the line says otherwise.
macro_rules! kind {
    ([204]) => {
        ReplyKind::Empty
    };
    ([$status:literal]) => {
        ReplyKind::Json
    };
    ([$status:literal $type:literal]) => {
        ReplyKind::Text($type)
    };
    ([$status:literal $kind:ident]) => {
        ReplyKind::$kind
    };
}

macro_rules! maybe {
    ([]) => {
        None
    };
    ([$value:literal]) => {
        Some($value)
    };
}

macro_rules! access {
    ([$access:ident $($area:literal)?]) => {
        Access::$access $(($area))?
    };
}

macro_rules! judges_tags {
    ([]) => {
        false
    };
    ([if_match]) => {
        true
    };
}

macro_rules! routes {
    ($($path:literal $(? action = $action:literal)? $(+ $tail:literal)*
       $access:ident $(($area:literal))? $([$($table:literal),+])? $resource:ident
       { $($method:ident $op:ident $handler:ident $status:tt
           $(as $type:tt)? $(+ $tags:ident)?),+ };)*) => {
        pub(super) static ROUTES: &[Route] = &[$(Route {
            path: $path,
            action: maybe!([$($action)?]),
            tails: &[$($tail),*],
            access: access!([$access $($area)?]),
            tables: &[$($($table),+)?],
            records: None,
            endpoint: None,
            resource: stringify!($resource),
            methods: &[$(Method {
                name: stringify!($method),
                judges_tags: judges_tags!([$($tags)?]),
                answers: Answers { status: $status, kind: kind!([$status $($type)?]) },
                handler: handler!(
                    $method wire::$resource::$op, handlers::$resource::$handler
                ),
                types: Types::of::<wire::$resource::$op>(),
            }),+],
        }),*];

        $(operations! {
            $path [$($action)?] [$access $($area)?] $resource
            $($method $op [$status $($type)?])+
        })*
    };
}

macro_rules! operations {
    ($path:literal $action:tt $access:tt $resource:ident
     $($method:ident $op:ident $kind:tt)+) => {
        $(impl Operation for wire::$resource::$op {
            const METHOD: &'static str = stringify!($method);
            const PATH: &'static str = $path;
            const ACTION: Option<&'static str> = maybe!($action);
            const ACCESS: Access = access!($access);
            const REPLY: ReplyKind = kind!($kind);

            fn write(
                query: &Self::Query,
                body: &Self::Body,
            ) -> serde_json::Result<$crate::wire::Written> {
                Ok(($crate::wire::query::write(query), serde_json::to_string(body)?))
            }

            fn read(reply: &str) -> serde_json::Result<Self::Reply> {
                serde_json::from_str(reply)
            }
        })+
    };
}

routes! {
    "/healthz" Open health { GET Healthz alive 200 };
    "/readyz" Open health { GET Readyz ready 200 };
    "/metrics" Open health { GET Metrics metrics 200 as "text/plain; version=0.0.4" };
    "/media/{folder}/{file}" Open media { GET Serve serve 200 as File };
    "/sitemap.xml" Open ["pages"] pages { GET Sitemap sitemap 200 as "application/xml" };
    "/api/openapi.json" Public openapi { GET Read read 200 };
    "/api/docs" Public docs { GET Page page 200 as "text/html; charset=utf-8" };
    "/api/docs/{file}" Public docs { GET File file 200 as Any };
    "/api/pages" + "/one" Public ["pages"] pages { GET Read read 200 };
    "/api/pages/draft" Public pages { GET Draft draft 200 };
    "/api/menu" Public ["menu_items"] pages { GET Menu menu 200 };
    "/api/settings" Public ["settings"] pages { GET Settings settings 200 };
    "/api/form/submit" Public forms { POST Submit submit 201 };
    "/api/formfunnel/start" Public formfunnel { POST Start start 201 };
    "/api/formfunnel/step" Public formfunnel { POST Step step 200 };
    "/api/formfunnel/complete" Public formfunnel { POST Complete complete 200 };
    "/api/formfunnel/abandon" Public formfunnel { POST Abandon abandon 204 };
    "/api/formfunnel/resume" Public formfunnel { POST Resume resume 200 };
    "/api/formfunnel/upload" Public formfunnel { POST Upload upload 201 };
    "/api/backend/forms/submissions" + "/{id}" Area("forms_forms") forms {
        GET Read read 200, DELETE Delete delete 204
    };
    "/api/backend/forms/submissions/export" Area("forms_forms") forms {
        GET Export export 200 as Csv
    };
    "/api/backend/formfunnel" ? action = "explain" Area("formfunnel_funnels") funnel_logic {
        POST Explain explain 200
    };
    "/api/backend/formfunnel" ? action = "test" Read("formfunnel_funnels") funnel_logic {
        POST Test test 200
    };
    "/api/backend/formfunnel" ? action = "routing_test" Read("formfunnel_funnels") funnel_logic {
        POST RoutingTest routing_test 200
    };
    "/api/backend/formfunnel" ? action = "list" Area("formfunnel_funnels") funnels {
        GET List list 200
    };
    "/api/backend/formfunnel" ? action = "get" + "/{id}" Area("formfunnel_funnels") funnels {
        GET Get get 200
    };
    "/api/backend/formfunnel" ? action = "field_types" Area("formfunnel_funnels") funnels {
        GET FieldTypes field_types 200
    };
    "/api/backend/formfunnel" ? action = "email_routings" Area("formfunnel_funnels") funnels {
        GET EmailRoutings email_routings 200
    };
    "/api/backend/formfunnel" ? action = "create" Area("formfunnel_funnels") funnels {
        POST Create create 201
    };
    "/api/backend/formfunnel" ? action = "save" Area("formfunnel_funnels") funnels {
        POST Save save 200
    };
    "/api/backend/formfunnel" ? action = "email_routing_save" Area("formfunnel_funnels") funnels {
        POST SaveEmailRoutings save_email_routings 200
    };
    "/api/backend/formfunnel" ? action = "publish" Area("formfunnel_funnels") funnels {
        POST Publish publish 200
    };
    "/api/backend/formfunnel" ? action = "duplicate" Area("formfunnel_funnels") funnels {
        POST Duplicate duplicate 201
    };
    "/api/backend/formfunnel" ? action = "preview" Read("formfunnel_funnels") funnels {
        POST LookAt preview 200
    };
    "/api/backend/formfunnel" ? action = "start_test" Area("formfunnel_funnels") funnels {
        POST StartTest start_test 201
    };
    "/api/backend/formfunnel" ? action = "delete" Area("formfunnel_funnels") funnels {
        POST Delete delete 200
    };
    "/api/backend/formfunnel" ? action = "submissions" Area("formfunnel_inbox") inbox {
        GET Submissions submissions 200
    };
    "/api/backend/formfunnel" ? action = "submission_get" + "/{id}" Area("formfunnel_inbox") inbox {
        GET Submission submission 200
    };
    "/api/backend/formfunnel" ? action = "submission_update" Area("formfunnel_inbox") inbox {
        POST UpdateSubmission update 200 + if_match
    };
    "/api/backend/formfunnel" ? action = "submission_delete" Area("formfunnel_inbox") inbox {
        POST DeleteSubmission delete 200 + if_match
    };
    "/api/backend/formfunnel" ? action = "submissions_bulk" Area("formfunnel_inbox") inbox {
        POST ChangeSubmissions bulk 200
    };
    "/api/backend/formfunnel" ? action = "undo" Area("formfunnel_inbox") inbox {
        POST Undo undo 200
    };
    "/api/backend/formfunnel" ? action = "erase" Area("formfunnel_inbox") inbox {
        POST Erase erase 200
    };
    "/api/backend/formfunnel" ? action = "views" + "/{id}" Area("formfunnel_inbox") inbox {
        GET Views views 200, POST SaveView save_view 200, DELETE DeleteView delete_view 204
    };
    "/api/backend/formfunnel" ? action = "assignable_users" Area("formfunnel_inbox") inbox {
        GET AssignableUsers assignable_users 200
    };
    "/api/backend/formfunnel" ? action = "analytics" Area("formfunnel_inbox") inbox {
        GET Numbers analytics 200
    };
    "/api/backend/formfunnel" ? action = "export" Area("formfunnel_inbox") inbox {
        GET Export export 200 as Any
    };
    "/api/backend/formfunnel" ? action = "file" Area("formfunnel_inbox") inbox {
        GET StoredFile file 200 as File
    };
    "/api/backend/item" + "/{table}" + "/{table}/{id}" Table item {
        GET Read read 200, POST Create create 201, PATCH Update update 200 + if_match,
        DELETE Delete delete 204 + if_match
    };
    "/api/backend/tables" + "/{name}" User tables { GET Read read 200 };
    "/api/backend/theme" Area("settings_settings") theme { GET Read read 200 };
    "/api/backend/theme/key" Area("keys_keys") theme { POST RotateKey rotate_key 200 };
    "/api/backend/plugins" + "/{id}" Buttons plugins { GET Read read 200 };
    "/api/backend/plugins/buttons" Buttons plugins { GET Buttons buttons 200 };
    "/api/backend/plugins/content" Buttons plugins { GET Content content 200 };
    "/api/backend/plugins/diff" Admin plugin_changes { GET Diff diff 200 };
    "/api/backend/plugins/apply" Admin plugin_changes { POST Apply apply 200 };
    "/api/backend/plugins/remove" Admin plugin_changes { POST Remove remove 204 };
    "/api/backend/plugins/release" Admin plugin_changes { POST Release release 200 };
    "/api/backend/actions/checklist" Checklist checklist { POST Apply apply 200 + if_match };
    "/api/backend/actions/script" Button script { POST Run run 200 as Any };
    "/api/backend/keys" + "/{id}" Area("keys_keys") keys {
        GET Read read 200, POST Create create 201, PATCH Update update 200, DELETE Delete delete 204
    };
    "/api/backend/keys/rotate" Area("keys_keys") keys { POST Rotate rotate 200 };
    "/api/backend/keys/endpoints" Area("keys_keys") keys { GET Endpoints endpoints 200 };
    "/api/backend/keys/check" + "/{id}" Area("keys_keys") keys { GET Check check 200 };
    "/api/backend/keys/denied" + "/{id}" Area("keys_keys") keys { GET LastDenied last_denied 200 };
    "/api/backend/origins" + "/{id}" Admin origins {
        GET Read read 200, POST Create create 201, PATCH Update update 200, DELETE Delete delete 204
    };
    "/api/backend/status" Admin health { GET Status status 200 };
    "/api/backend/tasks" Admin tasks { GET Read read 200 };
    "/api/backend/tasks/history" + "/{id}" Admin tasks { GET History history 200 };
    "/api/backend/tasks/run" Admin tasks { POST Start start 200 };
    "/api/backend/mail/providers" Admin mail { GET Providers providers 200 };
    "/api/backend/mail/log" + "/{id}" Admin mail { GET Log log 200 };
    "/api/backend/mail/test" Admin mail { POST Test test 200 };
    "/api/backend/mail/retry" Admin mail { POST Retry retry 200 };
    "/api/backend/pagebuilder" + "/{id}" Area("pages_pages") pagebuilder {
        GET Read read 200, POST Add add 201 + if_match, PATCH Set set 200 + if_match,
        DELETE Remove remove 204 + if_match
    };
    "/api/backend/pagebuilder" ? action = "move" Area("pages_pages") pagebuilder {
        POST MoveNode move_node 200 + if_match
    };
    "/api/backend/pagebuilder" ? action = "publish" Area("pages_pages") pagebuilder {
        POST Publish publish 200 + if_match
    };
    "/api/backend/pagebuilder" ? action = "take_off" Area("pages_pages") pagebuilder {
        POST TakeOff take_off 200 + if_match
    };
    "/api/backend/pagebuilder" ? action = "discard" Area("pages_pages") pagebuilder {
        POST Discard discard 200 + if_match
    };
    "/api/backend/pagebuilder" ? action = "restore" Area("pages_pages") pagebuilder {
        POST Restore restore 200 + if_match
    };
    "/api/backend/pagebuilder" ? action = "copy" Area("pages_pages") pagebuilder {
        POST CopyTree copy 200 + if_match
    };
    "/api/backend/pagebuilder" ? action = "schedule" Area("pages_pages") pagebuilder {
        GET Plans plans 200, POST SetSchedule schedule 200 + if_match
    };
    "/api/backend/pagebuilder" ? action = "link" + "/{id}" Area("pages_pages") pagebuilder {
        GET Links links 200, POST MakeLink link 200, DELETE Unlink unlink 204
    };
    "/api/backend/pagebuilder" ? action = "revisions" Area("pages_pages") pagebuilder {
        GET Revisions revisions 200
    };
    "/api/backend/pagebuilder" ? action = "revision" Area("pages_pages") pagebuilder {
        GET OneRevision revision 200
    };
    "/api/backend/pagebuilder" ? action = "diff" Area("pages_pages") pagebuilder {
        GET Diff diff 200
    };
    "/api/backend/media" + "/{id}" Area("media_media") media {
        GET Read read 200, POST Upload upload 201, PATCH Update update 200 + if_match,
        DELETE Delete delete 204 + if_match
    };
    "/api/backend/media/uses" + "/{id}" Area("media_media") media { GET Uses uses 200 };
    "/api/backend/media/check" Area("media_media") media { POST Check check 200 };
    "/api/backend/pagebuilder/widgets" + "/{widget}" Area("pages_pages") widgets {
        GET Read read 200
    };
    "/api/backend/pagebuilder/icon" Area("pages_pages") widgets { GET ShowIcon icon 200 as Any };
    "/api/backend/pagebuilder/components" Area("pages_pages") widgets {
        GET ShowComponents components 200
    };
    "/api/backend/audit" Admin audit { GET List list 200 };
    "/api/backend/cache" Admin cache {
        GET Read read 200, PATCH Update update 200, DELETE Clear clear 204
    };
    "/api/backend/limits" Admin limits { GET Read read 200, DELETE Reset reset 204 };
    "/api/backend/users" + "/{id}" Admin users {
        GET Read read 200, POST Create create 201, PATCH Update update 200, DELETE Delete delete 204
    };
    "/api/backend/users/sessions" + "/{id}" Admin users {
        GET Sessions sessions 200, DELETE Revoke revoke 204
    };
    "/api/backend/users/2fa-reset" Operator users {
        POST ResetSecondFactor reset_second_factor 204
    };
    "/api/backend/users/2fa-codes" Operator users { POST NewRecoveryCodes new_recovery_codes 200 };
    "/api/backend/user_groups" + "/{id}" Admin user_groups {
        GET Read read 200, POST Create create 201, PATCH Update update 200, DELETE Delete delete 204
    };
    "/api/backend/permissions" Admin permissions { GET List list 200 };
    "/api/backend/loginattempts" Admin auth {
        GET ListAttempts attempts 200, DELETE ClearAttempts clear_attempts 204
    };
    "/api/backend/webhooks" + "/{id}" Area("webhooks_subscriptions") webhooks {
        GET Read read 200, POST Create create 201, PATCH Update update 200, DELETE Delete delete 204
    };
    "/api/backend/webhooks/rotate-secret" Area("webhooks_subscriptions") webhooks {
        POST Rotate rotate 200
    };
    "/api/backend/webhooks/activate" Area("webhooks_subscriptions") webhooks {
        POST Activate activate 200
    };
    "/api/backend/webhooks/ping" Area("webhooks_subscriptions") webhooks { POST Ping ping 200 };
    "/api/backend/webhooks/events" + "/{name}" Area("webhooks_subscriptions") events {
        GET List list 200
    };
    "/api/backend/webhooks/explain" Read("webhooks_subscriptions") events {
        POST Explain explain 200
    };
    "/api/backend/webhooks/emit" Area("webhooks_subscriptions") events { POST Emit emit 201 };
    "/api/backend/webhooks/messages" + "/{id}" Area("webhooks_subscriptions") events {
        GET Messages messages 200
    };
    "/api/backend/webhooks/queue" + "/{id}" Area("webhooks_subscriptions") webhooks {
        GET Queue queue 200, DELETE Purge purge 200
    };
    "/api/backend/webhooks/queue/stats" Area("webhooks_subscriptions") webhooks {
        GET Stats stats 200
    };
    "/api/backend/webhooks/queue/retry" Area("webhooks_subscriptions") webhooks {
        POST Retry retry 200
    };
    "/api/backend/webhooks/queue/cancel" Area("webhooks_subscriptions") webhooks {
        POST Cancel cancel 200
    };
    "/api/backend/webhooks/deliveries" + "/{id}" Area("webhooks_subscriptions") webhooks {
        GET Deliveries deliveries 200
    };
    "/api/backend/webhooks/redeliver" Area("webhooks_subscriptions") webhooks {
        POST Redeliver redeliver 200
    };
    "/api/backend/events/stream" User stream { GET Follow follow 200 as Events };
    "/api/backend/auth/login" Login auth { POST Login login 200 };
    "/api/backend/auth/verify" Login auth { POST Verify verify 200 };
    "/api/backend/auth/logout" Session auth { POST Logout logout 204 };
    "/api/backend/auth/me" Session auth { GET WhoAmI me 200 };
    "/api/backend/auth/password" Session auth { POST ChangePassword change_password 204 };
    "/api/backend/auth/recovery-codes" Session auth {
        POST NewRecoveryCodes new_recovery_codes 200
    };
    "/api/backend/auth/sessions" Session auth {
        GET OwnSessions own_sessions 200, DELETE EndSessions end_sessions 204
    };
}

/// The query of a call as its operation's type; parameters of the path are part of it.
fn query<S: Shape>(call: &Call<'_>) -> Result<S::Query> {
    if !call.selects
        && let Some(why) = unknown_action(call.request)
    {
        return Err(bad(why));
    }
    wire::query::read_with_path(&parameters(call), &call.path_parameters).map_err(bad)
}

fn parameters<'c>(call: &'c Call<'_>) -> Vec<(&'c str, &'c str)> {
    let asked = call.request.query.iter().filter(|(name, _)| !call.selects || name != "action");
    let all = asked.chain(&call.path_parameters);
    all.map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

type Handled<'a> = BoxFuture<'a, Result<Reply>>;

/// Runs a handler in its span; debug builds watch what it reads. The handler is boxed: otherwise
/// the binary would hold this code once for each handler.
fn handled<'a>(name: &'static str, handler: Handled<'a>) -> Handled<'a> {
    let span = tracing::debug_span!("handler", name);
    Box::pin(cms_core::db::watched(handler).instrument(span))
}

fn finish<S: Shape>(call: &Call<'_>, success: impl Into<Success<S::Reply>>) -> Result<Reply> {
    success.into().reply(call.answers)
}

/// Every route; in tests also one for each kind of body and reply.
fn table() -> impl Iterator<Item = &'static Route> {
    let routes = ROUTES.iter();
    #[cfg(test)]
    let routes = routes.chain(kinds::ROUTES);
    routes
}

/// Routes by path. An invalid or repeated path is a mistake in the table above; a test finds it.
static BY_PATH: LazyLock<matchit::Router<Vec<&'static Route>>> = LazyLock::new(|| {
    let mut router = matchit::Router::new();
    for route in table() {
        let same: Vec<_> = table().filter(|other| other.path == route.path).collect();
        if std::ptr::eq(same[0], route)
            && let Err(error) = router.insert(route.path, same)
        {
            tracing::error!(path = route.path, %error, "no route");
        }
    }
    router
});

/// The route of a canonical path. `action` chooses between routes with the same path.
pub(crate) fn find(path: &str, action: Option<&str>) -> Option<&'static Route> {
    let routes = BY_PATH.at(path).ok()?.value;
    let selected = routes.iter().find(|route| route.action.is_some() && route.action == action);
    selected.or_else(|| routes.iter().find(|route| route.action.is_none())).copied()
}

/// Why no action was found, for a path that has other actions.
pub(crate) fn unknown_action(request: &Canonical) -> Option<String> {
    let action = request.parameter("action")?;
    let routes = BY_PATH.at(&request.path).ok()?.value;
    let actions: Vec<_> = routes.iter().filter_map(|route| route.action).collect();
    let told = || format!("There is no action {action:?} here; there are {}.", actions.join(", "));
    (!actions.is_empty()).then(told)
}

#[cfg(test)]
impl Method {
    fn streams(&self) -> bool {
        matches!(self.answers.kind, ReplyKind::Events | ReplyKind::Csv | ReplyKind::File)
    }
}

impl Method {
    /// Whether the method changes something without an entity tag. `If-Match` cannot name a state
    /// of it then (RFC 9110, 13.1.1).
    pub(crate) fn changes_untagged(&self) -> bool {
        matches!(self.name, "PUT" | "PATCH" | "DELETE") && !self.judges_tags
    }
}

impl Route {
    pub(crate) fn method(&self, name: &str) -> Option<&'static Method> {
        let name = if name == "HEAD" { "GET" } else { name };
        self.methods.iter().find(|method| method.name == name)
    }

    /// The value of `Allow`. If `here` is given, only these methods count.
    pub(crate) fn allow(&self, here: Option<&[&str]>) -> String {
        let is_here = |method: &&Method| here.is_none_or(|here| here.contains(&method.name));
        let names = self.methods.iter().filter(is_here).flat_map(|method| {
            if method.name == "GET" { vec!["GET", "HEAD"] } else { vec![method.name] }
        });
        names.collect::<Vec<_>>().join(", ")
    }

    /// The parameters in a path of this route.
    pub(crate) fn parameters(&self, path: &str) -> Vec<(String, String)> {
        if !self.path.contains('{') {
            return Vec::new();
        }
        let found = BY_PATH.at(path).ok();
        found.map_or_else(Vec::new, |found| {
            found.params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        })
    }
}

/// Every endpoint except those that plugins declare.
pub(crate) fn endpoints() -> impl Iterator<Item = Endpoint> {
    table().map(endpoint)
}

fn endpoint(route: &Route) -> Endpoint {
    Endpoint {
        path: route.path.to_owned(),
        action: route.action,
        methods: route.methods.iter().map(|method| method.name).collect(),
        access: route.access,
    }
}

/// Every operation, for the OpenAPI document.
pub(crate) fn described() -> &'static [Described] {
    static DESCRIBED: LazyLock<Vec<Described>> =
        LazyLock::new(|| table().flat_map(operations_of).collect());
    &DESCRIBED
}

fn operations_of(route: &'static Route) -> impl Iterator<Item = Described> {
    route.methods.iter().map(move |method| Described {
        path: route.path,
        action: route.action,
        tails: route.tails,
        method: method.name,
        access: route.access,
        resource: route.resource,
        records: route.records,
        // Of a plugin's endpoint only the handler knows this.
        judges_tags: method.judges_tags && route.endpoint.is_none(),
        answers: method.answers,
        types: method.types,
    })
}

mod declared;
#[cfg(test)]
mod kinds;
mod spellings;

pub(crate) use declared::Declared;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_found_by_its_path() {
        for route in table() {
            let found = find(route.path, route.action).expect(route.path);
            assert!(std::ptr::eq(found, route), "{}", route.path);
            let kept = !route.tables.is_empty();
            assert!(!(kept && route.methods.iter().any(Method::streams)), "{}", route.path);
        }
        assert!(find("/api/nothing", None).is_none());
    }
}
