//! What goes wrong with a script: the documented error, nothing of it is left, memory stays flat.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    RUN, begun, folder, has_php, nothing_is_left, press, printed, processes_in, shop, site,
};
use crate::support::{
    TestDatabase,
    log::Log,
    process::{self, Served},
    with,
};

const LOOP: &str = "<?php while (true) {}";
const SLEEP: &str = "<?php sleep(60);";
const CHILDREN: &str = "<?php for ($i = 0; $i < 50; $i++) { \
                        exec('sleep 600 > /dev/null 2>&1 &'); } echo '{}';";
const STUBBORN: &str = "<?php exec(\"sh -c 'trap \\\"\\\" TERM HUP INT; sleep 600' \
                        > /dev/null 2>&1 & \"); sleep(600);";
const FLOOD: &str = "<?php $part = str_repeat('x', 1 << 20); \
                     for ($i = 0; $i < 1024; $i++) { echo $part; }";
const LOUD: &str = "<?php $part = str_repeat('x', 1 << 20); \
                    for ($i = 0; $i < 256; $i++) { fwrite(STDERR, $part); } echo '[]';";

#[tokio::test]
async fn each_fault_has_its_error_and_leaves_nothing() {
    if !has_php() {
        return;
    }
    let scripts = [
        ("loop", LOOP, "took longer than 2 s"),
        ("sleep", SLEEP, "took longer than 2 s"),
        ("stubborn", STUBBORN, "took longer than 2 s"),
        ("flood", FLOOD, "wrote more than 1000000 bytes"),
        ("exit", "<?php fwrite(STDERR, 'a secret'); echo '{}'; exit(3);", "exit status: 3"),
        ("crash", "<?php nothing();", "exit status: 255"),
        ("killed", "<?php posix_kill(posix_getpid(), 11);", "signal: 11"),
        ("prose", "<?php echo 'all is well';", "answered no JSON"),
        ("empty", "<?php", "answered no JSON"),
        ("half", "<?php echo '{\"a\": ';", "answered no JSON"),
        ("two", "<?php echo '{}{}';", "answered no JSON"),
        ("mark", "<?php echo \"\\u{feff}{}\";", "answered no JSON"),
        ("latin", "<?php echo \"\\\"\\xe9\\\"\";", "answered no JSON"),
        ("notice", "<?php ini_set('display_errors', '1'); echo $x; echo '{}';", "answered no JSON"),
    ];
    let files: Vec<_> = scripts.iter().map(|(id, text, _)| (*id, *text)).collect();
    let site = site(&files, |settings| {
        settings.scripts.timeout_s = 2;
        settings.scripts.max_output_bytes = 1_000_000;
    })
    .await;
    for (id, _, why) in scripts {
        let reply = site.admin(RUN).json(press(id)).refused(502, "script_failed").await;
        assert!(reply.text().contains(why), "{id}: {}", reply.text());
        assert!(!reply.text().contains("a secret"), "{}", reply.text());
        nothing_is_left(&folder(&site.database)).await;
    }
}

#[tokio::test]
async fn children_do_not_outlive_a_script_that_ends_well() {
    if !has_php() {
        return;
    }
    let deep = "<?php echo str_repeat('[', 100000), str_repeat(']', 100000);";
    let deaf = "<?php echo '[]';";
    let scripts = [("children", CHILDREN), ("loud", LOUD), ("deep", deep), ("deaf", deaf)];
    let site = site(&scripts, |_| {}).await;
    for (id, _) in scripts {
        let body = json!({"plugin": "shop", "button_id": id, "data": "x".repeat(500_000)});
        site.admin(RUN).json(body).expect(200).await;
        nothing_is_left(&folder(&site.database)).await;
    }
}

#[tokio::test]
async fn an_interpreter_that_is_not_there_is_named() {
    for name in ["no-such-interpreter", "/no/such/interpreter", "/etc/passwd", "./relative"] {
        let change = |settings: &mut cms_core::settings::Settings| {
            settings.scripts.interpreter = name.to_owned();
        };
        let site = site(&[("a", "{}")], change).await;
        let reply = site.admin(RUN).json(press("a")).refused(502, "script_failed").await;
        assert!(reply.text().contains("scripts.interpreter"), "{name}: {}", reply.text());
    }
}

/// Shell scripts stand for PHP where only time matters.
fn shell(settings: &mut cms_core::settings::Settings) {
    settings.scripts.interpreter = "sh".to_owned();
}

#[tokio::test]
async fn the_log_has_what_a_script_wrote() {
    let prose = "echo all is well; echo oops >&2";
    let site = site(&[("prose", prose), ("chatty", "echo careful >&2; echo {}")], shell).await;
    let log = Log::begin();
    site.admin(RUN).json(press("prose")).refused(502, "script_failed").await;
    site.admin(RUN).json(press("chatty")).expect(200).await;
    let log = log.end();
    for part in ["all is well", "line 1 column 1", "oops", "careful", "request failed"] {
        assert!(log.contains(part), "{part}: {log}");
    }
}

#[tokio::test]
async fn a_caller_who_goes_away_ends_the_script() {
    let site = site(&[("slow", "sleep 600 & sleep 600")], shell).await;
    let (asked, scripts) = (site.admin(RUN).json(press("slow")).send(), folder(&site.database));
    tokio::select! {
        reply = asked => panic!("{reply:?}"),
        () = begun(&scripts, 1) => {}
    }
    nothing_is_left(&folder(&site.database)).await;
}

#[tokio::test]
async fn the_end_of_the_service_ends_scripts() {
    let site = site(&[("slow", "sleep 600 & sleep 600")], shell).await;
    let asked = site.admin(RUN).json(press("slow")).refused(503, "unavailable");
    let closed = async {
        begun(&folder(&site.database), 1).await;
        let began = Instant::now();
        site.cms.close().await;
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    };
    tokio::join!(asked, closed);
    nothing_is_left(&folder(&site.database)).await;
}

#[tokio::test]
async fn so_many_at_once_and_no_more() {
    let site = site(&[("slow", "exec sleep 600"), ("quick", "echo {}")], |settings| {
        shell(settings);
        settings.scripts.max_running = 2;
    })
    .await;
    let slow = || site.admin(RUN).json(press("slow")).send();
    let refused = async {
        begun(&folder(&site.database), 2).await;
        let reply = site.admin(RUN).json(press("quick")).refused(503, "unavailable").await;
        assert_eq!(reply.header("retry-after"), "5");
        assert_eq!(processes_in(&folder(&site.database)).len(), 2);
    };
    tokio::select! {
        replies = async { tokio::join!(slow(), slow()) } => panic!("{replies:?}"),
        () = refused => {}
    }
    // The places are free again.
    site.admin(RUN).json(press("quick")).expect(200).await;
}

#[tokio::test]
async fn a_large_reply_is_passed_on() {
    let large = format!("\"{}\"", "x".repeat(10_000_000));
    let site = site(&[("large", &large)], printed).await;
    let reply = site.admin(RUN).json(press("large")).expect(200).await;
    assert_eq!(reply.body.len(), large.len());
}

/// 1 GiB of output and 256 MiB of complaints, again and again, at a real process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_stays_flat() {
    if !has_php() {
        return;
    }
    let database = TestDatabase::new().await;
    let key = process::init(&database);
    database.write_plugin(&shop(&database, &[("flood", FLOOD), ("loud", LOUD)]));
    let served = Served::start(&database, "off");
    let client = served.client(&key);
    let run = async |id: &str| {
        let ask = cms_http::client::Ask::post("/api/backend/actions/script").json(&press(id));
        client.send(ask).await
    };
    let (mut highest, mut calm, mut rounds) = (0, 0, 0);
    // Each thread of the service keeps memory of its own, and any of them may serve a run. So the
    // peak grows in the first rounds; what leaks grows it in each.
    while calm < 5 {
        assert!(rounds < 40, "the peak still grows: {highest} KiB");
        rounds += 1;
        run("flood").await.expect_err("too much");
        run("loud").await.expect("its output is small");
        let now = process::kib(served.child.id(), "VmHWM").unwrap();
        calm = if now < highest + 1_024 { calm + 1 } else { 0 };
        highest = if calm == 0 { now } else { highest };
    }
    println!("peak memory: {highest} KiB, the same in the last {calm} of {rounds} rounds");
    assert!(highest < 220_000, "{highest} KiB");
    nothing_is_left(&folder(&database)).await;
    assert_eq!(served.terminate().0, Some(0));
}

/// The second signal ends the service at once, and its scripts with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_leaves_no_script_behind() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let task = json!({"name": "slow", "interval_s": 3600, "script": "slow.php"});
    let shop = shop(&database, &[("slow", "sleep 600 & sleep 600")]);
    database.write_plugin(&with(shop, json!({"tasks": [task]})));
    let mut served = Served::start_with(&database, "off", &[("CMS_SCRIPTS__INTERPRETER", "sh")]);
    begun(&folder(&database), 1).await;
    let began = Instant::now();
    for _ in 0..2 {
        process::signal(served.child.id(), "-TERM");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    served.child.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    nothing_is_left(&folder(&database)).await;
}
