//! Bodies of large events in memory: once they take much, claims leave further ones in the queue.
//! Small ones of other subscriptions do not wait for them.

use std::{
    ptr,
    sync::{Arc, Weak},
};

use super::{
    claimed::ClaimedJob,
    sql::queue::{Event, LARGE},
};

/// Bytes of large bodies after which no further one is read.
const MOST: usize = 64 << 20;

/// The large events of the jobs that a worker holds. Jobs of one event share it.
#[derive(Default)]
pub(super) struct Bodies(Vec<Weak<Event>>);

impl Bodies {
    /// Bytes that further ones may take.
    pub(super) fn room(&mut self) -> usize {
        self.0.retain(|event| event.strong_count() > 0);
        let taken = self.0.iter().filter_map(Weak::upgrade).map(|event| event.body.len());
        MOST.saturating_sub(taken.sum())
    }

    /// Notes the events of claimed jobs.
    pub(super) fn note(&mut self, claimed: &[ClaimedJob]) {
        for event in claimed.iter().map(|claimed| &claimed.job.event) {
            if event.body.len() > LARGE {
                self.add(event);
            }
        }
    }

    fn add(&mut self, event: &Arc<Event>) {
        if !self.0.iter().any(|known| ptr::eq(known.as_ptr(), Arc::as_ptr(event))) {
            self.0.push(Arc::downgrade(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_takes_its_room_once_until_its_last_job_has_ended() {
        let body = vec![b'x'; MOST / 2].into();
        let event = Arc::new(Event { body, ..Event::gone("e".to_owned()) });
        let mut bodies = Bodies::default();
        bodies.add(&event);
        bodies.add(&event.clone());
        assert_eq!(bodies.room(), MOST / 2);
        drop(event);
        assert_eq!(bodies.room(), MOST);
    }
}
