//! What the bodies of requests under way take in memory: one budget for all of them.

use std::sync::{Arc, Mutex, PoisonError};

use cms_core::{Code, Error, Result};

use crate::budget::Share;

/// Smaller bodies are not counted: connections are bounded, so a login or a step of a visitor is
/// read whatever others send.
const SMALL: u64 = 16 << 10;
/// Seconds after which a refused request may find room.
const RETRY_AFTER_S: u64 = 1;

/// The memory of one body: its bytes as they came, and what they were parsed into. It is free again
/// when the last copy of this is dropped.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Mutex<Taken>>);

struct Taken {
    share: Share,
    /// Those of a small body, which the share does not count.
    bytes: u64,
    is_counted: bool,
}

impl Memory {
    pub(crate) fn of(share: Share) -> Self {
        Self(Arc::new(Mutex::new(Taken { share, bytes: 0, is_counted: false })))
    }

    /// Takes room before it is filled.
    ///
    /// # Errors
    /// `unavailable` when other bodies have taken it.
    pub(crate) fn take(&self, bytes: u64) -> Result<()> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let more = if taken.is_counted { bytes } else { taken.bytes + bytes };
        if !taken.is_counted && more <= SMALL {
            taken.bytes = more;
            return Ok(());
        }
        if !taken.share.grow(more) {
            let why = "Other requests take up the memory for bodies (http.parsed_limit_bytes): \
                       try again, or send a smaller body.";
            return Err(Error::new(Code::Unavailable, why).retry_after(RETRY_AFTER_S));
        }
        taken.is_counted = true;
        Ok(())
    }
}
