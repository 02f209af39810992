//! Randomness is passed in, like the clock: ids and secrets of a test are the same in every run.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{Clock, Error, Result, crypto};

/// The only source of random bytes in the system.
#[derive(Clone, Debug)]
pub struct Random(Option<Arc<AtomicU64>>);

impl Random {
    /// The operating system's generator.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// A predictable sequence: for tests only, never for real secrets.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Some(Arc::new(AtomicU64::new(seed))))
    }

    /// Fills `bytes` with random bytes.
    ///
    /// # Errors
    /// `internal_error` when the operating system provides no randomness.
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the operating system")]
    pub fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        let Some(counter) = &self.0 else {
            return getrandom::fill(bytes).map_err(Error::internal);
        };
        for chunk in bytes.chunks_mut(32) {
            let step = counter.fetch_add(1, Ordering::SeqCst);
            chunk.copy_from_slice(&crypto::sha256(&step.to_be_bytes())[..chunk.len()]);
        }
        Ok(())
    }

    /// `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// A UUID version 4 (RFC 9562, 5.4): 122 random bits.
    pub fn uuid_v4(&self) -> Result<String> {
        Ok(uuid::Builder::from_random_bytes(self.bytes()?).into_uuid().to_string())
    }

    /// A UUID version 7 (RFC 9562, 5.7), which sorts by time. Not for secrets.
    pub fn uuid_v7(&self, clock: &Clock) -> Result<String> {
        let millis = u64::try_from(clock.now()).unwrap_or(0);
        Ok(uuid::Builder::from_unix_timestamp_millis(millis, &self.bytes()?)
            .into_uuid()
            .to_string())
    }
}
