//! A site for each test, and a client that says what it expects.

pub mod database;
pub mod json;
pub mod log;
pub mod mail;
pub mod media;
pub mod people;
pub mod plugins;
pub mod process;
pub mod redis;
pub mod s3;
pub mod search;
pub mod site;
pub mod visits;
pub mod webhooks;

pub use crate::has;
pub use cms_core::testing::{Answer, Delivery, Receiver};
pub use cms_http::testing::Reply;
pub use database::TestDatabase;
pub use json::{each, faults, pick, with};
pub use redis::Redis;
pub use site::{Ask, Site, SiteBuilder};
pub use visits::{Published, Visit, leads, with_leads};

/// Waits until this holds, a minute at most.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let met = async {
        while !holds().await {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let minute = std::time::Duration::from_secs(60);
    tokio::time::timeout(minute, met).await.unwrap_or_else(|_| panic!("{what}: not in a minute"));
}
