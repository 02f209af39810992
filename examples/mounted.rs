//! The API below `/cms` of an application that has its own users.
//!
//! `cargo run -p cms-examples --example mounted`

use std::net::SocketAddr;

use axum::{
    Extension, Router,
    extract::{ConnectInfo, Request, State},
    http::StatusCode,
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use cms_core::{
    Actor, Cms, Code, Error, Result,
    access::HeldPermissions,
    accounts::NewGroup,
    plugins::{EndpointReply, Handlers, Manifest, Plugin},
    settings::Settings,
};
use cms_http::{Api, AppUser, LimitKey, Peer};
use serde_json::json;
use tokio::net::TcpListener;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let cms = Cms::builder(Settings::default()).plugin(Desk::new()?).open().await?;
    make_group(&cms).await?;
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    serve(cms, listener, async { drop(tokio::signal::ctrl_c().await) }).await
}

/// Makes the group for users of the application at the first start. Later an administrator may
/// change its rights.
pub async fn make_group(cms: &Cms) -> Result<()> {
    let mut group = NewGroup::new("editors");
    let rights = ["pages_pages_view", "pages_pages_edit"].map(str::to_owned);
    group.rights = HeldPermissions::Only(rights.into_iter().collect());
    let mut change = cms.change(Actor::Operator).await?;
    match cms.accounts().create_group(&mut change, &HeldPermissions::Admin, &group).await {
        Ok(_) => change.commit().await,
        // An earlier start has made it.
        Err(error) if error.code() == Code::Conflict => Ok(()),
        Err(error) => Err(error),
    }
}

/// Serves until `stop` ends, then finishes open requests and background work.
pub async fn serve(
    cms: Cms,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let background = cms.background();
    let api = Api::builder(cms.clone()).base("/cms").stripped().cookie("shop").build()?;
    let stop = api.closing(stop);
    let application = application(api).into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, application).with_graceful_shutdown(stop).await?;
    background.stop().await;
    cms.close().await;
    Ok(())
}

/// The application at the root, the API below `/cms`, and files at the addresses that records hold.
pub fn application(api: Api) -> Router {
    Router::new()
        .route("/", get(async || "from the application"))
        .route("/payments", post(note_payment))
        .nest_service("/cms", api.clone())
        .route_service("/media/{*file}", api.clone())
        .layer(from_fn(log_in))
        .with_state(api)
}

/// A route of the application itself, which judges its caller: editors note that somebody has paid
/// in cash.
async fn note_payment(State(api): State<Api>, user: Option<Extension<AppUser>>) -> Response {
    match payment(api.cms(), user).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => api.refuse(&error).into_response(),
    }
}

async fn payment(cms: &Cms, user: Option<Extension<AppUser>>) -> Result<()> {
    let Some(Extension(user)) = user else {
        return Err(Error::new(Code::LoginRequired, "Log in first."));
    };
    let change = cms.change(user.actor()).await?;
    let (mut change, rights) = cms.accounts().judge_app_user(change, &user).await?;
    if !rights.may("pages_pages_edit") {
        return Err(Error::new(Code::PermissionDenied, "Only editors note payments."));
    }
    change.emit("desk.paid", json!({"by": user.name()})).await?;
    change.commit().await
}

/// The login of the application; a real one would look the token up. Its users have no rows in
/// the site: their groups decide what they may do.
async fn log_in(
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let sent = request.headers().get("authorization").cloned();
    let sent = sent.as_ref().and_then(|sent| sent.to_str().ok());
    let extensions = request.extensions_mut();
    extensions.insert(Peer(address));
    if sent == Some("Bearer anna-was-here") {
        let anna = AppUser::new("anna@example.org").group("editors").by_token();
        extensions.insert(anna);
        // The limiter counts all users of her company together.
        extensions.insert(LimitKey("example.org".to_owned()));
    }
    next.run(request).await
}

/// A plugin with an endpoint that reads the whole request and chooses its own status and headers.
pub struct Desk(Manifest);

impl Desk {
    pub fn new() -> Result<Self> {
        let manifest = json!({
            "id": "desk",
            "endpoints": [
                {"modelPath": "paid", "endpoint": "paid", "methods": ["POST"], "public": true}],
            "webhook_events": [{"name": "desk.paid", "description": "A payment arrived."}],
        });
        Ok(Self(serde_json::from_value(manifest).map_err(Error::internal)?))
    }
}

impl Plugin for Desk {
    fn manifest(&self) -> Manifest {
        self.0.clone()
    }

    fn handlers(&self) -> Handlers {
        // For a payment provider, which signs the bytes of the body.
        Handlers::default().endpoint("paid", &[], |call| async move {
            let signature = call.header("x-signature").unwrap_or_default();
            if signature != format!("{} bytes", call.bytes().len()) {
                return Ok(EndpointReply::data(&json!({"seen": signature})).status(400));
            }
            let mut change = call.change().await?;
            let event = json!({"body": call.body(), "by": call.client()});
            change.emit("desk.paid", event).await?;
            change.commit().await?;
            Ok(EndpointReply::empty().status(202).header("x-accepted", "yes"))
        })
    }
}
