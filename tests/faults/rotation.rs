//! 19: the secret is replaced again and again while deliveries go out.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use cms_core::Actor;

use crate::{
    lab::{EVENT, Lab, Run, now},
    report::Finding,
    support::{Answer, Delivery, webhooks::is_signed},
};

const ROTATIONS: usize = 20;
/// Whoever begins an attempt has the secret of that moment; this is what noting it may take.
const SLACK_MS: i64 = 1000;

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let at_once = rotated(&run, 0).await;
    let with_grace = rotated(&run, 60).await;
    vec![
        Finding::equal(
            "deliveries signed with no secret of the subscription",
            at_once.unsigned + with_grace.unsigned,
            0,
        ),
        Finding::new(
            format!("secrets that signed, of {}: more than half", ROTATIONS + 1),
            at_once.used.len(),
            at_once.used.len() > ROTATIONS / 2,
        ),
        Finding::new(
            format!(
                "{ROTATIONS} rotations during {} deliveries: an old secret signs no later than \
                 {SLACK_MS} ms",
                at_once.count
            ),
            format!("{} ms at most", at_once.late_ms),
            at_once.late_ms <= SLACK_MS,
        ),
        Finding::new(
            "with a grace: the secret before signs too, in every delivery after a rotation",
            format!("{} of {}", with_grace.both, with_grace.rotated),
            with_grace.rotated > 0 && with_grace.both == with_grace.rotated,
        ),
    ]
}

#[derive(Default)]
struct Rotated {
    count: usize,
    unsigned: usize,
    used: BTreeSet<usize>,
    /// The longest time for which a secret signed after it had been replaced.
    late_ms: i64,
    /// Deliveries after the first rotation, and those of them that two secrets have signed.
    rotated: usize,
    both: usize,
}

async fn rotated(run: &Run, grace_s: i64) -> Rotated {
    let lab = Lab::new(run, |_, _| Answer::After(Duration::from_millis(5), 200)).await;
    let id = lab.subscribe(1, &[EVENT]).await[0];
    let jobs = run.scaled(1000, 300);
    // The secrets in their order, and when each was replaced.
    let mut secrets: Vec<(String, i64)> = vec![(lab.record.secret(1), i64::MAX)];
    let _served = lab.serve(&[], &[]);
    let batch = jobs / ROTATIONS;
    for n in 0..ROTATIONS {
        lab.emit(EVENT, batch).await;
        // In the midst of them.
        lab.arrived(n * batch + batch / 2, 2).await;
        let mut change = lab.cms.change(Actor::Operator).await.unwrap();
        // A grace is refused while the one before lasts: a rotation without one ends that first.
        let graces = if grace_s > 0 { vec![0, grace_s] } else { vec![0] };
        let mut new = Vec::new();
        for grace_s in graces {
            let rotated = lab.cms.webhooks().rotate_secret(&mut change, id, grace_s).await;
            new.push(rotated.unwrap().1.expose().to_owned());
        }
        change.commit().await.unwrap();
        secrets.last_mut().unwrap().1 = now();
        secrets.extend(new.into_iter().map(|secret| (secret, i64::MAX)));
    }
    lab.arrived(jobs, 30).await;
    let mut seen = Rotated { count: jobs, ..Rotated::default() };
    for (arrival, delivery) in lab.record.arrivals().iter().zip(lab.receiver.deliveries()) {
        let signed: Vec<_> =
            (0..secrets.len()).filter(|n| fits(&secrets[*n].0, &delivery)).collect();
        let Some(newest) = signed.last() else {
            seen.unsigned += 1;
            continue;
        };
        seen.used.insert(*newest);
        seen.late_ms = seen.late_ms.max(arrival.at.saturating_sub(secrets[*newest].1));
        seen.rotated += usize::from(*newest > 0);
        seen.both += usize::from(*newest > 0 && signed.len() == 2);
    }
    seen
}

fn fits(secret: &str, delivery: &Delivery) -> bool {
    let at = delivery.headers["webhook-timestamp"].parse().unwrap();
    is_signed(secret, delivery, at).is_ok()
}
