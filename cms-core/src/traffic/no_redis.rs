//! Replaces Redis in a build without the feature `redis`. There is never a connection.

use std::sync::Arc;

use crate::{
    Error, Result,
    settings::{CacheStore, LimiterStore, Settings},
};

#[derive(Clone)]
pub(crate) enum Redis {}

impl Redis {
    pub(crate) fn of(settings: &Settings) -> Result<Option<Self>> {
        let field = match (settings.limiter.store, settings.cache.store) {
            (LimiterStore::Redis, _) => "limiter.store",
            (_, CacheStore::Redis) => "cache.store",
            _ => return Ok(None),
        };
        Err(Error::invalid_field(
            field,
            "unknown",
            "this build has no Redis: enable the feature `redis`",
        ))
    }

    pub(crate) fn is_away(&self) -> bool {
        match *self {}
    }

    pub(crate) fn why_away(&self) -> Option<Arc<String>> {
        match *self {}
    }

    pub(crate) async fn ping(&self) -> Result<(), (Error, &'static str)> {
        match *self {}
    }

    pub(crate) async fn get(&self, _: &str) -> Option<Vec<u8>> {
        match *self {}
    }

    pub(crate) async fn set(&self, _: &str, _: &[u8], _: i64) {
        match *self {}
    }
}
