//! The pace against buckets like the service's, on a clock that is moved.

use super::*;

/// Waits for a token. Returns when it has come.
fn take(pace: &mut Pace, mut now: Instant) -> Instant {
    while let Err(pause) = pace.take(0, now) {
        now += pause;
    }
    now
}

fn answered(pace: &mut Pace, said: Option<RateLimit>, now: Instant) {
    pace.under_way -= 1;
    pace.answered(Some(said), now);
}

/// 600 calls as fast as they may go.
#[test]
fn six_hundred_calls_take_no_token_that_is_not_there() {
    for (size, fill, most_s) in [(60.0, 1.0, 620), (100.0, 1.67, 370), (250.0, 4.17, 120)] {
        let start = Instant::now();
        let (mut pace, mut now) = (Pace::new(start), start);
        let (mut bucket, mut at): (f64, _) = (size, start);
        for n in 0..600 {
            now = take(&mut pace, now);
            bucket = (bucket + (now - at).as_secs_f64() * fill).min(size) - 1.0;
            at = now;
            assert!(bucket >= 0.0, "call {n} of {size} would be refused");
            let (limit, remaining) = (size as u32, bucket as u32);
            answered(&mut pace, Some(RateLimit { limit, remaining }), now);
        }
        assert!((now - start).as_secs() < most_s, "{size}: {:?}", now - start);
    }
}

#[test]
fn what_another_program_took_is_not_taken() {
    let now = Instant::now();
    let mut pace = Pace::new(now);
    let said = |remaining| Some(RateLimit { limit: 60, remaining });
    assert_eq!(pace.take(0, now), Ok(()));
    answered(&mut pace, said(59), now);
    assert_eq!(pace.take(0, now), Ok(()));
    answered(&mut pace, said(5), now);
    assert!(pace.take(0, now).is_err_and(|pause| pause > Duration::from_secs(1)));
}

#[test]
fn a_site_without_a_limiter_is_asked_at_once() {
    let now = Instant::now();
    let mut pace = Pace::new(now);
    assert_eq!(pace.take(0, now), Ok(()));
    answered(&mut pace, None, now);
    assert!((0..1_000).all(|_| pace.take(0, now).is_ok()));
}

/// A proxy in front of the site refuses, and says nothing of what is left.
#[test]
fn a_refusal_lowers_the_pace() {
    let mut now = Instant::now();
    let mut pace = Pace::new(now);
    assert_eq!(pace.take(0, now), Ok(()));
    answered(&mut pace, None, now);
    assert_eq!(pace.take(0, now), Ok(()));
    pace.refused(7, now);
    assert_eq!(pace.take(0, now), Err(Duration::from_secs(7)), "nothing comes before");
    let refused = now;
    for _ in 0..5 {
        now = take(&mut pace, now);
        answered(&mut pace, None, now);
    }
    let took = (now - refused).as_secs();
    assert!((13..20).contains(&took), "half of one a second, not all at once: {took} s");
    // It is as fast as before when all goes well.
    for _ in 0..40 {
        now = take(&mut pace, now);
        answered(&mut pace, None, now);
    }
    assert!((0..1_000).all(|_| pace.take(0, now).is_ok()));
}

/// Turns whose bucket is empty, and a clock that moves by 10 ms with each look at it.
fn empty() -> (Turns, impl Fn() -> Instant) {
    let (begun, looks) = (Instant::now(), AtomicUsize::new(0));
    let turns = Turns::new(begun);
    turns.pace().tokens = 0.0;
    let clock = move || {
        let looks = looks.fetch_add(1, Ordering::Relaxed) as u64;
        begun + Duration::from_millis(10 * looks)
    };
    (turns, clock)
}

async fn wait(_: Duration) {
    tokio::task::yield_now().await;
}

#[tokio::test]
async fn writes_go_before_reads_that_wait_longer() {
    let ((turns, clock), order) = (empty(), Mutex::new(Vec::new()));
    let call = async |name: &'static str, is_write| {
        drop(turns.take(is_write, &wait, &clock).await);
        order.lock().expect("a lock").push(name);
    };
    tokio::join!(
        call("read 1", false),
        call("read 2", false),
        call("write 1", true),
        call("write 2", true),
    );
    let order = order.into_inner().expect("a lock");
    assert_eq!(order, ["write 1", "write 2", "read 1", "read 2"]);
}

#[tokio::test]
async fn a_read_that_is_broken_off_takes_nothing() {
    let (turns, clock) = empty();
    let begun = clock();
    for _ in 0..10 {
        tokio::select! {
            biased;
            _ = turns.take(false, &wait, &clock) => panic!("there is no token"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(turns.take(false, &wait, &clock).await);
    let took = clock() - begun;
    assert!(took < Duration::from_millis(1_200), "{took:?}");
    assert_eq!(turns.pace().under_way, 0);
}
