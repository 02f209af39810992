//! Where tests kill an update.

/// Ends this process as `kill -9` does at the step that a test names.
#[cfg(debug_assertions)]
pub(super) fn reached(step: &str) {
    use rustix::process::{Signal, getpid, kill_process};
    if std::env::var("CMS_TEST_UPDATE_KILL").is_ok_and(|named| named == step) {
        let _ = kill_process(getpid(), Signal::KILL);
        // The signal may take a moment.
        std::thread::sleep(std::time::Duration::from_secs(5));
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn reached(_: &str) {}
