//! Debug builds panic on a read through the pool while its task holds a change.
//!
//! Such a read misses what the change has written. On PostgreSQL it also waits for a second
//! connection, so such changes can wait for each other forever.

use std::{cell::Cell, future::Future};

tokio::task_local! {
    /// Changes that this request holds.
    static HELD: Cell<u32>;
}

/// Runs one request, or one step of a worker. In debug builds a read through the pool panics while
/// `future` holds a change. Release builds only run `future`.
pub async fn watched<F: Future>(future: F) -> F::Output {
    if cfg!(debug_assertions) { HELD.scope(Cell::new(0), future).await } else { future.await }
}

/// Counts a change of this request until dropped.
pub(crate) struct Hold(bool);

impl Hold {
    pub(crate) fn begin() -> Self {
        Self(HELD.try_with(|held| held.set(held.get() + 1)).is_ok())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.0 {
            // A change may outlive its request; then the count is gone.
            let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(1)));
        }
    }
}

/// Checks a read through the pool.
pub(super) fn reads_pool(statement: &str) {
    debug_assert!(
        HELD.try_with(|held| held.get() == 0).unwrap_or(true),
        "{statement} is read through the pool while this request holds a change: read it through \
         the change, or before the change begins"
    );
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use crate::{Actor, Cms, settings::Settings};

    #[tokio::test]
    #[should_panic = "while this request holds a change"]
    async fn a_read_beside_a_change_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::default();
        settings.dirs.data = folder.path().to_owned();
        let cms = Cms::builder(settings).open().await.expect("opened");
        super::watched(async {
            cms.origins().get(1).await.expect_err("there is none");
            let change = cms.change(Actor::System).await.expect("a change");
            drop(change);
            cms.origins().get(1).await.expect_err("there is none");
            let _change = cms.change(Actor::System).await.expect("a change");
            let _ = cms.origins().get(1).await;
        })
        .await;
    }
}
