//! `cms serve`: serves the REST API over HTTP until SIGTERM, SIGHUP or Ctrl-C

mod demo;

use std::{io, net::SocketAddr, path::Path};

use clap::Args;
use cms_core::{
    Cms, Descriptors,
    settings::{Loaded, Settings},
};
use cms_http::{Api, Server, Stop, client::Client};
use serde_json::json;

use crate::{
    flags::Flags,
    folder,
    log::{self, LogFormat},
    output::{Done, Exit, Failure, Output},
    signals::Signals,
    target::Target,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms serve
  cms serve --listen 127.0.0.1:0 --demo --dir ./try
  CMS_LOG=info cms serve --log-format json

The line `ready http://HOST:PORT` on standard error tells that it accepts requests.")]
pub(crate) struct ServeArgs {
    /// Listen here instead of at the setting listen; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Fill the site with a bicycle shop, and make it if there is none; print a key and three calls
    /// to try
    #[arg(long)]
    demo: bool,
    /// Leave the delivery of webhooks and mails, and handlers of events, to other processes
    #[arg(long)]
    no_worker: bool,
    /// Leave tasks and the removal of old rows to other processes
    #[arg(long)]
    no_scheduler: bool,
    /// Format of log lines
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

pub(crate) async fn run(flags: &Flags, out: &Output, args: &ServeArgs) -> Done {
    let dir = Target::folder_only(flags, "cms serve")?;
    let overrides: Vec<_> = args.listen.iter().map(|listen| ("listen", listen.clone())).collect();
    let mut turn = None;
    if args.demo {
        // Reads the settings first, so that a mistyped flag leaves no half-made site behind.
        let loaded = folder::settings(&dir, &overrides, out)?;
        turn = Some(folder::take_turn(&dir, out)?);
        if is_to_make(&loaded) {
            folder::make(&dir, &demo::LANGUAGES, out).await?;
        }
        let loaded = folder::settings(&dir, &[], out)?;
        let cms = Cms::open(loaded.settings.clone()).await?;
        let prepared = demo::prepare(&loaded, &cms, &Client::local(Api::new(cms.clone())?)).await;
        cms.close().await;
        prepared?;
    }
    let settings = folder::existing(&dir, &overrides, out)?.settings;
    let listen = settings.listen.clone();
    Descriptors::raise(settings.http.max_connections, settings.webhooks.most_attempts());
    let cms = folder::builder(settings)?.open().await?;
    let api = Api::new(cms.clone())?;
    let server = Server::bind(api.clone(), &listen).await.map_err(|e| unbound(&listen, &e))?;
    if let Some(doubt) = unnamed(cms.settings(), server.address()) {
        tracing::warn!("{doubt}");
    }
    for warning in missing(cms.settings()) {
        tracing::warn!("{warning}");
    }
    let signals = Signals::open()?;
    if args.demo {
        show_demo(out, &cms, &Client::local(api), server.address(), &dir).await?;
    }
    drop(turn);
    let server = if args.no_worker { server.without_worker() } else { server };
    let server = if args.no_scheduler { server.without_scheduler() } else { server };
    tokio::spawn(stop_on(signals, server.stop(), cms));
    log::line(&format!("ready http://{}", server.address()));
    server.run().await;
    Ok(())
}

/// Whether the site is still to be made: there is none, or only its database is named, as in a
/// container.
fn is_to_make(loaded: &Loaded) -> bool {
    let has = |name: &&str| loaded.dir.join(name).is_file();
    let is_bare = !["cms.toml", "cms.local.toml"].iter().any(has);
    !loaded.is_site() || is_bare && loaded.settings.password_salt.is_none()
}

async fn show_demo(
    out: &Output,
    cms: &Cms,
    client: &Client,
    address: SocketAddr,
    dir: &Path,
) -> Done {
    let rows = demo::fill(cms, client, out).await?;
    let key = demo::key(client).await?;
    let url = format!("http://{}", reachable(address));
    let lines = demo::curl_lines(&url, &key);
    if out.json {
        return Ok(out.data(&json!({"url": url, "key": key, "rows": rows, "curl": lines}))?);
    }
    let text = format!(
        "{rows} rows of demo content. The key named demo, shown this once:\n\n{key}\n\n\
         People log in after: cms init --dir {} --admin NAME\n\nTry:\n\n{}\n\n",
        dir.display(),
        lines.join("\n")
    );
    Ok(out.raw(&text)?)
}

/// An address that clients can call: 0.0.0.0 and :: are only for listening.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() {
            [127, 0, 0, 1].into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        });
    }
    address
}

/// A warning when the site accepts any host name as its own: links in mails would lead there. A
/// site on this machine without a proxy in front of it is for trying out, and gets none.
fn unnamed(settings: &Settings, listens: SocketAddr) -> Option<&'static str> {
    let has_name = settings.site_url.is_some() || !settings.allowed_hosts.is_empty();
    let is_open = !listens.ip().is_loopback() || !settings.trusted_proxies.is_empty();
    (!has_name && is_open).then_some(
        "neither site_url nor allowed_hosts is set: links in mails lead to whatever host a request \
         names. Set site_url = \"https://www.example.org\", or the names in allowed_hosts",
    )
}

/// A warning for each secret that is not set.
fn missing(settings: &Settings) -> impl Iterator<Item = String> {
    let secrets = [
        (settings.password_salt.is_none(), "password_salt", "nobody can log in"),
        (
            settings.encryption_key.is_none(),
            "encryption_key",
            "webhooks are not delivered, and secrets can neither be stored nor read",
        ),
    ];
    secrets.into_iter().filter(|(is_missing, ..)| *is_missing).map(|(_, name, what)| {
        format!(
            "{name} is not set: {what}. Put cms.local.toml back from a backup; a new site gets one \
             by `cms init`"
        )
    })
}

fn unbound(listen: &str, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process listens there; --listen 127.0.0.1:0 takes a free port"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need a right of the system; --listen 127.0.0.1:8080"
        }
        _ => "--listen HOST:PORT with an address of this machine",
    };
    Failure::new(Exit::Failed, format!("cannot listen on {listen}: {error}")).hint(hint)
}

/// The first signal lets open requests and deliveries finish; the second one ends them. It also
/// ends scripts: these are processes of their own, which would go on.
async fn stop_on(mut signals: Signals, stop: Stop, cms: Cms) {
    for number in 1.. {
        signals.next().await;
        if number > 1 {
            cms.scripts().close().await;
            std::process::exit(Exit::Interrupted as i32);
        }
        stop.now();
    }
}
