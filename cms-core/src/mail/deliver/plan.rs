//! Which providers the next mails try, by their health. Pure.

use std::collections::BTreeMap;

use crate::{
    Millis,
    mail::rules::breaker::{Admission, Health},
};

/// The providers that a mail tries, as places in the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mail) struct Route {
    pub(in crate::mail) places: Vec<usize>,
    /// Those of them that this mail alone tries.
    pub(in crate::mail) probes: Vec<usize>,
    /// Whether a provider of the chain rests.
    pub(in crate::mail) skips: bool,
}

/// The routes of the mails of one claim.
pub(in crate::mail) struct Plan {
    admissions: Vec<Admission>,
}

impl Plan {
    pub(in crate::mail) fn new(
        chain: impl IntoIterator<Item = &'static str>,
        health: &BTreeMap<String, Health>,
        now: Millis,
    ) -> Self {
        let admission = |name: &'static str| {
            health.get(name).map_or(Admission::Ready, |health| health.admission(now))
        };
        Self { admissions: chain.into_iter().map(admission).collect() }
    }

    /// How many of `free` mails can be tried now.
    pub(in crate::mail) fn places(&self, free: usize) -> usize {
        if self.admissions.contains(&Admission::Ready) {
            free
        } else {
            usize::from(self.admissions.contains(&Admission::Probe)).min(free)
        }
    }

    /// The route of the next mail. The first one probes.
    pub(in crate::mail) fn next(&mut self) -> Route {
        let mut route = Route::default();
        for (place, admission) in self.admissions.iter_mut().enumerate() {
            match *admission {
                Admission::Ready => route.places.push(place),
                Admission::Probe => {
                    *admission = Admission::Rests;
                    route.places.push(place);
                    route.probes.push(place);
                }
                Admission::Rests => route.skips = true,
            }
        }
        route
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mail_probes_and_nobody_waits_for_a_rested_provider() {
        let health = |faults, rests_until| Health { faults, rests_until };
        let known = BTreeMap::from([
            ("probed".to_owned(), health(5, 0)),
            ("rests".to_owned(), health(5, 20_000)),
            ("shaky".to_owned(), health(4, 0)),
        ]);
        let plan = |chain: &[&'static str]| Plan::new(chain.iter().copied(), &known, 10_000);
        for (chain, places) in [
            (&["well"][..], 8),
            (&["shaky"], 8),
            (&["rests", "well"], 8),
            (&["probed"], 1),
            (&["rests"], 0),
            (&["rests", "probed"], 1),
            (&[], 0),
        ] {
            assert_eq!(plan(chain).places(8), places, "{chain:?}");
        }
        let mut plan = plan(&["rests", "probed", "well"]);
        let first = Route { places: vec![1, 2], probes: vec![1], skips: true };
        let second = Route { places: vec![2], probes: vec![], skips: true };
        assert_eq!([plan.next(), plan.next(), plan.next()], [first, second.clone(), second]);
    }
}
