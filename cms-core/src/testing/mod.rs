//! The feature `testing`: a site for each test, with a clock that the test moves and a receiver
//! for the requests that the site sends.
//!
//! ```text
//! mod        the site: opened, moved in time, worked until nothing is due
//! database   a file, or a schema on the PostgreSQL server that CMS_TEST_DB names
//! receiver   an HTTP server on loopback, whose answers the test chooses
//! masked     JSON without what differs from run to run
//! ```
//!
//! Most functions here panic instead of returning an error, so that a failing step fails the test.

mod database;
mod masked;
mod receiver;

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::sync::Mutex;

pub use self::{
    database::TestDatabase,
    masked::masked,
    receiver::{Answer, Delivery, Receiver},
};
use crate::{
    Actor, Change, Clock, Code, Millis, Random, Result, Secret,
    access::Right,
    items::Content,
    keys::NewApiKey,
    plugins::Plugin,
    settings::{MailProvider, Settings},
    site::{Builder, Cms, Work},
    webhooks::{Feed, NewSubscription, WebhookSecret},
};

/// The time of a site's clock unless a test sets another: 2026-11-21T09:30:00Z.
pub const NOW: Millis = 1_795_253_400_000;
/// More rounds than a site needs: work that makes new work without end. Fewer than the handlers
/// that a site calls in a row, so that a test shows such a handler.
const MOST_ROUNDS: usize = 50;

/// A site for one test.
///
/// ```
/// use cms_core::testing::TestSite;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let site = TestSite::builder().await.open().await;
/// let before = site.clock.now();
/// site.forward(Duration::from_secs(86_400)).await;
/// assert_eq!(site.clock.now(), before + 86_400_000);
/// site.close().await;
/// # }
/// ```
pub struct TestSite {
    /// The site.
    pub cms: Cms,
    /// Its clock, which does not run: the test moves it.
    pub clock: Clock,
    /// Its database and its folder.
    pub database: TestDatabase,
    mailbox: Receiver,
    feed: Mutex<Feed>,
}

/// A mail that the site sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TestMail {
    /// The address of the recipient.
    pub to: String,
    /// Its subject.
    pub subject: String,
    /// Its body as plain text.
    pub text: String,
}

/// The options for opening a site.
pub struct TestSiteBuilder {
    database: TestDatabase,
    mailbox: Receiver,
    settings: Settings,
    seed: u32,
    parts: Vec<Box<dyn FnOnce(Builder) -> Builder + Send>>,
}

impl TestSiteBuilder {
    /// Adds a plugin.
    #[must_use]
    pub fn plugin(self, plugin: impl Plugin) -> Self {
        self.with(|builder| builder.plugin(plugin))
    }

    /// Compares a Rust type with its table.
    #[must_use]
    pub fn content<T: Content>(self) -> Self {
        self.with(Builder::content::<T>)
    }

    /// Changes the settings. They begin as those of [`TestDatabase::settings`], with a mail
    /// provider that [`TestSite::mails`] reads.
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Sets any other option of a [`Builder`].
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(Builder) -> Builder + Send + 'static) -> Self {
        self.parts.push(Box::new(set));
        self
    }

    /// Chooses another sequence of ids and secrets. The same seed gives the same sequence.
    #[must_use]
    pub fn seed(mut self, seed: u32) -> Self {
        self.seed = seed;
        self
    }

    /// Opens the site.
    ///
    /// # Panics
    /// When it cannot be opened.
    pub async fn open(self) -> TestSite {
        self.try_open().await.expect("the site opens")
    }

    /// Opens the site, or returns the error: for tests of faulty plugins and settings.
    pub async fn try_open(self) -> Result<TestSite> {
        let Self { database, mailbox, settings, seed, parts } = self;
        let clock = Clock::fixed(NOW);
        let random = Random::seeded(database.sequence(seed));
        let builder = Cms::builder(settings).clock(clock.clone()).random(random);
        let cms = parts.into_iter().fold(builder, |builder, set| set(builder)).open().await?;
        cms.indexes_made().await?;
        let feed = Mutex::new(cms.webhooks().feed(None, None).await?);
        Ok(TestSite { cms, clock, database, mailbox, feed })
    }
}

impl TestSite {
    /// A site on a database of its own: [`TestDatabase::new`].
    ///
    /// # Panics
    /// If no database can be created.
    pub async fn builder() -> TestSiteBuilder {
        Self::on(TestDatabase::new().await).await
    }

    /// A site on an existing database, for example that of a site that was closed.
    ///
    /// # Panics
    /// When loopback has no free port for the receiver of its mails.
    pub async fn on(database: TestDatabase) -> TestSiteBuilder {
        let mailbox = Receiver::scripted(|_, _| Answer::Json(200, json!({"id": "1"}))).await;
        let mut settings = database.settings();
        settings.mail.from = Some("Site <site@example.org>".to_owned());
        settings.mail.transactional = MailProvider {
            kind: Some("json".to_owned()),
            url: Some(mailbox.url.clone()),
            token: Some(Secret::new("of a test")),
        };
        TestSiteBuilder { database, mailbox, settings, seed: 0, parts: Vec::new() }
    }

    /// Closes the site and removes its database. The folder and the PostgreSQL schema of a failed
    /// test stay for inspection.
    pub async fn close(self) {
        self.cms.close().await;
        self.database.remove().await;
    }

    /// Begins a change of the operator, who may do everything.
    ///
    /// # Panics
    /// When the database refuses.
    pub async fn change(&self) -> Change {
        self.cms.change(Actor::Operator).await.expect("a change begins")
    }

    /// Creates records of a type, numbered from 1, and returns them as stored.
    ///
    /// # Panics
    /// If a record is refused.
    pub async fn make<T: Content>(&self, count: usize, record: impl Fn(usize) -> T) -> Vec<T> {
        let (items, mut change) = (self.cms.items().of::<T>(), self.change().await);
        let mut made = Vec::with_capacity(count);
        for number in 1..=count {
            made.push(items.create(&mut change, &record(number)).await.expect("a record"));
        }
        change.commit().await.expect("the records are committed");
        made
    }

    /// Creates an API key with these rights, in the format of `cms keys create --right`, and
    /// returns its value: `site.key(&["GET /api/backend/item?table=orders"])`.
    ///
    /// # Panics
    /// If a right is invalid.
    pub async fn key(&self, rights: &[&str]) -> String {
        let rights = rights.iter().map(|right| Right::parse(right).expect("a right")).collect();
        let mut new = NewApiKey::new("test");
        new.rights = rights;
        let mut change = self.change().await;
        let made = self.cms.keys().create(&mut change, &[Right::everything()], new).await;
        let (_, value) = made.expect("a key");
        change.commit().await.expect("the key is committed");
        value.expose().to_owned()
    }

    /// Starts a receiver that accepts every webhook, and subscribes it to these events.
    ///
    /// # Panics
    /// When an event is unknown.
    pub async fn receiver(&self, events: &[&str]) -> Receiver {
        let receiver = Receiver::start(200).await;
        self.subscribe(&receiver, events).await;
        receiver
    }

    /// Subscribes a receiver. Returns the secret that signs its deliveries,
    /// for [`Delivery::verify`].
    ///
    /// # Panics
    /// When an event is unknown.
    pub async fn subscribe(&self, receiver: &Receiver, events: &[&str]) -> WebhookSecret {
        let events = events.iter().map(|event| (*event).to_owned()).collect();
        let new = NewSubscription::new("test", &receiver.url, events);
        let mut change = self.change().await;
        let made = self.cms.webhooks().create(&mut change, new).await;
        let (_, secret) = made.expect("a subscription");
        change.commit().await.expect("the subscription is committed");
        secret
    }

    /// Does all that is due, moves the clock, and does all that is due then.
    ///
    /// # Panics
    /// As [`TestSite::step_until_idle`].
    pub async fn forward(&self, by: Duration) {
        self.step_until_idle().await;
        self.clock.advance(Millis::try_from(by.as_millis()).expect("milliseconds"));
        self.step_until_idle().await;
    }

    /// Does all that is due: calls handlers of events, runs tasks, sends webhooks and mails, and
    /// continues until nothing is due. Failed work is due again later: see [`TestSite::forward`].
    /// Returns the number of things done.
    ///
    /// # Panics
    /// If the database fails, or if there is new work after 50 rounds.
    pub async fn step_until_idle(&self) -> u64 {
        let mut all = 0;
        for _ in 0..MOST_ROUNDS {
            match self.cms.step(Work::ALL).await.expect("the work is done") {
                0 => return all,
                done => all += done,
            }
        }
        panic!("the site has work after {MOST_ROUNDS} rounds: does a handler raise its own event?");
    }

    /// The mails that the site has sent. [`TestSite::step_until_idle`] sends those that are due.
    #[must_use]
    pub fn mails(&self) -> Vec<TestMail> {
        let sent = self.mailbox.deliveries();
        sent.iter().map(|mail| TestMail::read(&mail.json())).collect()
    }

    /// The names of the events committed since the last call, or since the site was opened. They
    /// are sorted, because events of one change have no order. A test that compares the whole list
    /// also checks that nothing else has happened.
    ///
    /// # Panics
    /// When the database fails.
    pub async fn fired(&self) -> Vec<String> {
        let (mut feed, mut names) = (self.feed.lock().await, Vec::new());
        let webhooks = self.cms.webhooks();
        webhooks.settled().await.expect("the events are read");
        loop {
            match feed.next().await {
                Ok(events) if events.is_empty() => break,
                Ok(events) => names.extend(events.into_iter().map(|event| event.event)),
                // Retention has emptied the table, so all recorded events are new.
                Err(error) if error.code() == Code::Unavailable => {
                    *feed = webhooks.feed(None, Some("")).await.expect("the events are read")
                }
                Err(error) => panic!("the events are not read: {error}"),
            }
        }
        names.sort();
        names
    }
}

impl TestMail {
    fn read(mail: &Json) -> Self {
        let text = |name: &str| mail[name].as_str().unwrap_or_default().to_owned();
        Self { to: text("to"), subject: text("subject"), text: text("text") }
    }
}
