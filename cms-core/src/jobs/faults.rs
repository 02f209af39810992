//! What the log says of work that is tried again and again: a fault once, not with each try.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::Result;

/// Interval between warnings about a fault that lasts.
const REPEAT: Duration = Duration::from_secs(600);

/// The faults that last, by the name of the work: the text, and when it was last logged.
#[derive(Debug, Default)]
pub(crate) struct FaultLog(Mutex<BTreeMap<String, (String, Instant)>>);

impl FaultLog {
    /// Logs how a try of `work` ended: a fault when it begins, when its text changes and every ten
    /// minutes, then its end. `what` says what the fault means.
    pub(crate) fn note<T>(&self, work: &str, what: &str, tried: &Result<T>) {
        match tried {
            Ok(_) if self.has_ended(work) => tracing::info!(work, "works again"),
            Err(error) if self.is_news(work, format!("{error:?}")) => {
                tracing::warn!(work, ?error, "{what}");
            }
            _ => {}
        }
    }

    fn has_ended(&self, work: &str) -> bool {
        self.lock().remove(work).is_some()
    }

    fn is_news(&self, work: &str, fault: String) -> bool {
        let mut faults = self.lock();
        let logged = faults.get(work);
        if logged.is_some_and(|(last, at)| *last == fault && at.elapsed() < REPEAT) {
            return false;
        }
        faults.insert(work.to_owned(), (fault, Instant::now()));
        true
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, (String, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_fault_is_news_when_it_begins_changes_or_lasts() {
        let faults = FaultLog::default();
        let is_news = |fault: &str| faults.is_news("mail", fault.to_owned());
        assert!(is_news("away") && !is_news("away"), "it begins");
        assert!(is_news("full") && !is_news("full"), "it changes");
        tokio::time::advance(REPEAT - Duration::from_millis(1)).await;
        assert!(!is_news("full"));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(is_news("full") && !is_news("full"), "it lasts");
        assert!(!faults.has_ended("tasks"), "other work");
        assert!(faults.has_ended("mail") && !faults.has_ended("mail"), "it ends");
        assert!(is_news("full"), "it begins again");
    }
}
