//! What the receiver saw: the only witness of what was sent.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use cms_core::webhooks::{SignedHeaders, verify};
use sha2::{Digest, Sha256};

use crate::{lab, report::Finding, support::Delivery};

/// The header by which the receiver knows the secret that must have signed.
pub const LANE: &str = "x-lane";

/// A delivery that arrived.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// X-Delivery-ID: the job.
    pub job: i64,
    /// webhook-id.
    pub event: String,
    pub body: [u8; 32],
    /// Milliseconds of the machine's clock.
    pub at: i64,
    /// Since the body's created_at.
    pub delay_ms: i64,
    pub lane: usize,
    /// The signature fits body, id and time.
    pub genuine: bool,
}

/// Clones share it.
#[derive(Clone, Default)]
pub struct Record {
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    /// By lane.
    secrets: Arc<Mutex<HashMap<usize, String>>>,
}

impl Record {
    pub fn expect(&self, lane: usize, secret: &str) {
        self.secrets.lock().unwrap().insert(lane, secret.to_owned());
    }

    pub fn secret(&self, lane: usize) -> String {
        self.secrets.lock().unwrap()[&lane].clone()
    }

    pub fn note(&self, delivery: &Delivery) {
        let header = |name: &str| delivery.headers.get(name).map_or("", String::as_str);
        let at = lab::now();
        let lane = header(LANE).parse().unwrap_or(usize::MAX);
        let received = SignedHeaders {
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp"),
            signature: header("webhook-signature"),
        };
        let secret = self.secrets.lock().unwrap().get(&lane).cloned().unwrap_or_default();
        let created_at =
            delivery.json()["created_at"].as_str().and_then(cms_core::parse_rfc3339).unwrap_or(at);
        let arrival = Arrival {
            job: header("x-delivery-id").parse().unwrap_or(-1),
            event: header("webhook-id").to_owned(),
            body: Sha256::digest(&delivery.body).into(),
            at,
            delay_ms: at - created_at,
            lane,
            genuine: verify(&secret, &received, &delivery.body, at / 1000).is_ok(),
        };
        self.arrivals.lock().unwrap().push(arrival);
    }

    pub fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.arrivals.lock().unwrap().len()
    }

    /// How often each job arrived.
    pub fn per_job(&self) -> BTreeMap<i64, usize> {
        let mut jobs = BTreeMap::new();
        for arrival in self.arrivals.lock().unwrap().iter() {
            *jobs.entry(arrival.job).or_insert(0) += 1;
        }
        jobs
    }

    /// Jobs that arrived, and arrivals beyond the first of each.
    pub fn jobs_and_duplicates(&self) -> (usize, usize) {
        let jobs = self.per_job().len();
        (jobs, self.count() - jobs)
    }

    /// Every arrival is signed, and each job has one id and one body however often it came.
    pub fn integrity(&self) -> Finding {
        let arrivals = self.arrivals();
        let forged = arrivals.iter().filter(|arrival| !arrival.genuine).count();
        let jobs: BTreeSet<_> = arrivals.iter().map(|arrival| arrival.job).collect();
        let forms: BTreeSet<_> = arrivals
            .iter()
            .map(|arrival| (arrival.job, arrival.event.clone(), arrival.body))
            .collect();
        let measured = format!(
            "{} arrivals, {forged} badly signed, {} changed",
            arrivals.len(),
            forms.len() - jobs.len()
        );
        Finding::new(
            "every attempt is signed; id and body are the same in each",
            measured,
            forged == 0 && forms.len() == jobs.len(),
        )
    }
}
