//! A site for each test, and a client that says what it expects.

pub mod database;
pub mod log;
pub mod mail;
pub mod media;
pub mod people;
pub mod process;
pub mod redis;
pub mod s3;
pub mod search;
pub mod site;
pub mod visits;
pub mod webhooks;

pub use cms_core::testing::{Answer, Delivery, Receiver};
pub use cms_http::testing::Reply;
pub use database::TestDatabase;
pub use redis::Redis;
pub use site::{Ask, Site, SiteBuilder};
