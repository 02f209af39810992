//! The running process may open no further file: nothing can be delivered for a while.

use std::time::Duration;

use super::Story;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lack_of_descriptors_never_counts_against_a_receiver() {
    let mut story = Story::begin(|command| command).await;
    story.write_for(Duration::from_millis(500)).await;
    story.limit_files("1");
    story.write_for(Duration::from_secs(4)).await;
    let before = story.written.len();
    assert!(before > 10, "writes go on: {before}");
    assert!(story.receiver.count() < before, "deliveries cannot");
    story.nothing_counted().await;
    story.limit_files("1024");
    story.write_for(Duration::from_millis(500)).await;
    story.ends_well().await;
    let (code, log) = story.served.terminate();
    assert_eq!(code, Some(0), "{log}");
}
