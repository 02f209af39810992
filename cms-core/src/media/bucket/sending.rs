//! Keys that this process sends in parts at this moment. Its own sweep leaves them, whatever the
//! store says of their age: not every store tells when an upload began.

use std::sync::{Mutex, MutexGuard, PoisonError};

use object_store::path::Path as Key;

/// One entry for each upload: two may have the same key.
#[derive(Default)]
pub(super) struct Sending(Mutex<Vec<Key>>);

/// An upload that is under way until this is dropped.
pub(super) struct UnderWay<'a>(&'a Sending, Key);

impl Sending {
    pub(super) fn begin(&self, key: &Key) -> UnderWay<'_> {
        self.keys().push(key.clone());
        UnderWay(self, key.clone())
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.keys().contains(key)
    }

    fn keys(&self) -> MutexGuard<'_, Vec<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut keys = self.0.keys();
        if let Some(at) = keys.iter().position(|key| *key == self.1) {
            keys.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_left_alone_until_its_last_upload_has_ended() {
        let (sending, key) = (Sending::default(), Key::from("site/media/ab/c.mp4"));
        let (first, second) = (sending.begin(&key), sending.begin(&key));
        drop(first);
        assert!(sending.has(&key));
        drop(second);
        assert!(!sending.has(&key));
    }
}
