//! What an API keeps in memory between requests.

use cms_core::settings::Settings;

use crate::{metrics::Metrics, replies::Replies};

pub(crate) struct Kept {
    pub(crate) metrics: Metrics,
    pub(crate) replies: Replies,
}

impl Kept {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { metrics: Metrics::default(), replies: Replies::new(settings) }
    }
}
