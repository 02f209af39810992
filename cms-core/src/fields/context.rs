//! The context in which an answer is judged, besides its field.

use std::collections::HashMap;

use jiff::{Timestamp, Zoned, civil::Date, tz::TimeZone};

use super::spelling::Spelling;
use crate::Millis;

/// A file that the visitor of this session sent for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// The media type that its bytes show, such as `image/png`.
    pub media_type: String,
    /// Its size.
    pub bytes: u64,
}

/// Time, language and files of the answering session.
#[derive(Clone, Debug)]
pub struct Context {
    /// When the answer came, in milliseconds.
    now: Millis,
    timezone: TimeZone,
    spelling: Spelling,
    /// Whether this is the visitor's first call.
    arriving: bool,
    uploads: HashMap<String, Upload>,
}

impl Context {
    /// An answer at this time, in milliseconds. Days begin as in UTC, and no file was sent.
    #[must_use]
    pub fn at(now: Millis) -> Self {
        Self {
            now,
            timezone: TimeZone::UTC,
            spelling: Spelling::default(),
            arriving: false,
            uploads: HashMap::new(),
        }
    }

    /// Sets the time zone: days begin in it, and times without an offset are in it.
    #[must_use]
    pub fn zone(mut self, timezone: TimeZone) -> Self {
        self.timezone = timezone;
        self
    }

    /// Also accepts numbers and days as this language writes them, such as `de` or `pt-BR`.
    #[must_use]
    pub fn language(self, language: &str) -> Self {
        Self { spelling: Spelling::of(language), ..self }
    }

    /// Marks the visitor's first call, in which values that come with the visitor count
    /// as answers.
    #[must_use]
    pub(crate) fn arriving(self) -> Self {
        Self { arriving: true, ..self }
    }

    /// Adds a file that the session sent, under this id.
    #[must_use]
    pub fn upload(mut self, id: impl Into<String>, upload: Upload) -> Self {
        self.uploads.insert(id.into(), upload);
        self
    }

    pub(super) fn is_arriving(&self) -> bool {
        self.arriving
    }

    pub(super) fn sent(&self, id: &str) -> Option<&Upload> {
        self.uploads.get(id)
    }

    pub(super) fn spelling(&self) -> Spelling {
        self.spelling
    }

    pub(super) fn timezone(&self) -> &TimeZone {
        &self.timezone
    }

    pub(super) fn now(&self) -> Zoned {
        let now = Timestamp::from_millisecond(self.now).unwrap_or(Timestamp::UNIX_EPOCH);
        now.to_zoned(self.timezone.clone())
    }

    pub(super) fn today(&self) -> Date {
        self.now().date()
    }
}
