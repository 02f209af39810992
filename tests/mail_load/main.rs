//! `cargo bench -p cms-tests --bench mail`: whether mails that wait, or are being sent, slow
//! content writes down. Prints writes a second and their ratio to a site without mails.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use cms_core::{
    Actor, Cms,
    mail::{Mail, MailAddress, Subject},
    settings::Settings,
    testing::{Answer, Receiver},
};
use serde_json::json;

const MAILS: usize = 10_000;
const TIME: Duration = Duration::from_secs(5);

fn main() {
    // `cargo test --benches` builds this too; it has nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(measure());
}

async fn measure() {
    let works = Arc::new(AtomicBool::new(false));
    let seen = works.clone();
    let provider = Receiver::scripted(move |_, _| match seen.load(Ordering::SeqCst) {
        true => Answer::Json(200, json!({"id": "1"})),
        false => Answer::Status(503),
    });
    let provider = provider.await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = Settings::default();
    settings.dirs.data = folder.path().to_owned();
    settings.mail.from = Some("shop@example.org".to_owned());
    settings.mail.transactional.kind = Some("json".to_owned());
    settings.mail.transactional.url = Some(provider.url.clone());
    let cms = Cms::open(settings).await.expect("a site");
    let background = cms.background();
    writes(&cms).await;
    let alone = writes(&cms).await;
    println!("no mails                 {alone:8.0} writes/s");
    let began = Instant::now();
    let mut change = cms.change(Actor::System).await.expect("a change");
    for n in 0..MAILS {
        let to = MailAddress::parse(&format!("a{n}@example.com")).expect("an address");
        let mail = Mail::new("form.notice", to, Subject::of("Hello"), "Hi ".repeat(300));
        cms.mail().queue(&mut change, &mail).await.expect("queued");
    }
    change.commit().await.expect("committed");
    println!("{MAILS} mails queued in {:.1} s", began.elapsed().as_secs_f64());
    let down = writes(&cms).await;
    println!("{MAILS} wait, provider down {down:6.0} writes/s  {:.2}", down / alone);
    works.store(true, Ordering::SeqCst);
    while cms.mail().outcomes().done == 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let before = cms.mail().outcomes().done;
    let sending = writes(&cms).await;
    let rate = (cms.mail().outcomes().done - before) as f64 / TIME.as_secs_f64();
    println!(
        "being sent               {sending:8.0} writes/s  {:.2}, beside {rate:.0} mails/s",
        sending / alone
    );
    background.stop().await;
    cms.close().await;
}

/// Content writes a second, four at a time.
async fn writes(cms: &Cms) -> f64 {
    static NAME: AtomicU64 = AtomicU64::new(0);
    let (began, done) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let writers = (0..4).map(|_| {
        let (cms, done) = (cms.clone(), done.clone());
        tokio::spawn(async move {
            while began.elapsed() < TIME {
                let name = format!("n{}", NAME.fetch_add(1, Ordering::SeqCst));
                let body = json!({"name": name, "value": 1, "public": false});
                let mut change = cms.change(Actor::Operator).await.expect("a change");
                let body = body.as_object().expect("an object");
                cms.items().create(&mut change, "settings", body).await.expect("written");
                change.commit().await.expect("committed");
                done.fetch_add(1, Ordering::SeqCst);
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("an end");
    }
    done.load(Ordering::SeqCst) as f64 / began.elapsed().as_secs_f64()
}
