//! Debug builds panic on a read through the pool while its task holds a change.
//!
//! Such a read misses what the change has written. On PostgreSQL it also waits for a second
//! connection, so such changes can wait for each other forever.
//!
//! A hook always runs while a change is open, so such a read panics there too. A second change
//! would wait for the open one for ever: inside a hook it is refused, in all builds.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use crate::{Error, Result};

tokio::task_local! {
    static WATCH: Arc<Watch>;
}

/// The changes that a watched future holds.
#[derive(Default)]
struct Watch {
    held: AtomicU32,
    /// The watch around this one: its changes are held meanwhile too.
    outer: Option<Arc<Watch>>,
}

impl Watch {
    fn holds_nothing(&self) -> bool {
        let mut watch = Some(self);
        while let Some(one) = watch {
            if one.held.load(Ordering::Relaxed) > 0 {
                return false;
            }
            watch = one.outer.as_deref();
        }
        true
    }
}

/// Runs a request, a run of a task, or background work. In debug builds a read through the pool
/// panics while `future`, or a watched future around it, holds a change. Futures that run side by
/// side in one task are watched separately and do not see each other's changes. Release builds
/// only run `future`.
///
/// Code that spawns a task that writes must watch it: [`supervise`](crate::Cms::supervised) does
/// so for the background work.
pub async fn watched<F: Future>(future: F) -> F::Output {
    // A branch at run time would leave both ways in the binary, for each future.
    #[cfg(debug_assertions)]
    let future = {
        let outer = WATCH.try_with(Arc::clone).ok();
        WATCH.scope(Arc::new(Watch { outer, ..Watch::default() }), future)
    };
    future.await
}

tokio::task_local! {
    static UNDER_CHANGE: ();
}

/// Runs a future that may not begin a change, because one is open.
pub(crate) async fn under_change<F: Future>(future: F) -> F::Output {
    UNDER_CHANGE.scope((), future).await
}

/// Counts a change until this value is dropped, in whatever task.
pub(crate) struct Hold(Option<Arc<Watch>>);

impl Hold {
    /// Refuses to begin a change inside a hook or a guard, for which an open change waits.
    pub(crate) fn expect_none() -> Result<()> {
        match UNDER_CHANGE.try_with(|()| ()) {
            Ok(()) => Err(Error::internal(
                "a hook began a change while the one that it belongs to is open: write through \
                 that one",
            )),
            Err(_) => Ok(()),
        }
    }

    pub(crate) fn begin() -> Self {
        let watch = WATCH.try_with(Arc::clone).ok();
        if let Some(watch) = &watch {
            watch.held.fetch_add(1, Ordering::Relaxed);
        }
        Self(watch)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(watch) = &self.0 {
            watch.held.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Checks a read through the pool.
pub(super) fn reads_pool(statement: &str) {
    debug_assert!(
        UNDER_CHANGE.try_with(|()| ()).is_err()
            && WATCH.try_with(|watch| watch.holds_nothing()).unwrap_or(true),
        "{statement} is read through the pool while this request holds a change: read it through \
         the change, or before the change begins"
    );
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use tempfile::TempDir;

    use crate::{Actor, Cms, settings::Settings};

    async fn site() -> (TempDir, Cms) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::default();
        settings.dirs.data = folder.path().to_owned();
        (folder, Cms::builder(settings).open().await.expect("opened"))
    }

    #[tokio::test]
    #[should_panic = "while this request holds a change"]
    async fn a_read_within_another_watch_is_noticed() {
        let (_folder, cms) = site().await;
        super::watched(async {
            let _change = cms.change(Actor::System).await.expect("a change");
            super::watched(cms.origins().get(1)).await
        })
        .await
        .expect_err("there is none");
    }

    #[tokio::test]
    async fn a_change_counts_where_it_began() {
        let (_folder, cms) = site().await;
        super::watched(async {
            // A future that runs beside this one is watched separately.
            let change = super::watched(cms.change(Actor::System)).await.expect("a change");
            super::watched(cms.origins().get(1)).await.expect_err("there is none");
            drop(change);
            cms.origins().get(1).await.expect_err("there is none");
        })
        .await;
    }

    #[tokio::test]
    async fn background_work_is_watched() {
        let (_folder, cms) = site().await;
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let site = cms.clone();
        let work = cms.supervised("test", stopped, move |_| {
            let cms = site.clone();
            async move {
                let _change = cms.change(Actor::System).await.expect("a change");
                let _ = cms.origins().get(1).await;
            }
        });
        let work = tokio::spawn(work);
        while !cms.restarts().contains_key("test") {
            tokio::task::yield_now().await;
        }
        stop.send_replace(true);
        work.await.expect("stopped");
    }

    #[tokio::test]
    #[should_panic = "while this request holds a change"]
    async fn a_read_beside_a_change_is_noticed() {
        let (_folder, cms) = site().await;
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
