//! The smallest server: a site in `./data` and its REST API on port 8080, with the
//! built-in listener.
//!
//! `cargo run -p cms-examples --example hello`, then `curl http://127.0.0.1:8080/api/settings`.

use cms_core::{Cms, settings::Settings};
use cms_http::{Api, Server};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut settings = Settings::default();
    settings.listen = "127.0.0.1:8080".to_owned();
    let server = serve(settings).await?;
    println!("ready http://{}", server.address());
    let stop = server.stop();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.now();
        }
    });
    server.run().await;
    Ok(())
}

async fn serve(settings: Settings) -> Result<Server, Failure> {
    let address = settings.listen.clone();
    let cms = Cms::open(settings).await?;
    Ok(Server::bind(Api::new(cms)?, &address).await?)
}

#[tokio::test]
async fn it_serves_and_stops() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let mut settings = Settings::default();
    settings.listen = "127.0.0.1:0".to_owned();
    settings.dirs.data = folder.path().join("data");
    let server = serve(settings).await?;
    server.stop().now();
    server.run().await;
    Ok(())
}
