//! How often each table has changed, as far as this process knows. Caches compare these counts for
//! equality.
//!
//! A commit raises the count in a row of its own connection (`backend`), so that no change waits
//! for another. The count of a table is the sum of its rows. Data and counts belong to one
//! snapshot: a snapshot with a commit has a different sum from every snapshot without it. So a
//! reader reads the sum in the same statement as the rows that it keeps, or before them.
//!
//! On SQLite a commit learns the new sum, because there is one writer. On PostgreSQL it does not,
//! because others commit at the same time: the process then knows only that its old count is
//! outdated, and reads the sum when a caller needs it. Commits of other processes arrive through
//! [`super::follow`], within a second.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

use super::{Db, args};
use crate::{Code, Error, Result};

/// How long [`Db::read_epochs`] may take. A request can be answered without the counts of others.
const READ_TIMEOUT: Duration = Duration::from_millis(300);

/// The count of the table that a parameter names, as a part of a statement.
macro_rules! epoch_of {
    ($name:literal) => {
        concat!(
            "(select cast(coalesce(sum(epoch), 0) as bigint) from cms_table_epochs where name = ",
            $name,
            ")"
        )
    };
}
pub(crate) use epoch_of;

pub(crate) mod sql {
    use crate::db::{PerEngine, Statement};

    crate::db::statements! {
        SUMS = "select name, cast(sum(epoch) as bigint) from cms_table_epochs group by name";
    }

    /// Raises the count of the table `$1`, or on PostgreSQL of the tables in this JSON array.
    pub(crate) const RAISE: PerEngine<Statement> = PerEngine {
        sqlite: Statement::new(
            concat!(module_path!(), "::RAISE"),
            "insert into cms_table_epochs (name, backend, epoch) values ($1, 0, 1) \
             on conflict (name, backend) do update set epoch = cms_table_epochs.epoch + 1 \
             returning epoch",
        ),
        postgres: Statement::new(
            concat!(module_path!(), "::RAISE"),
            "insert into cms_table_epochs (name, backend, epoch) select t.name, pg_backend_pid(), \
             1 from json_array_elements_text(cast($1 as json)) as t (name) \
             on conflict (name, backend) do update set epoch = cms_table_epochs.epoch + 1",
        ),
    };

    /// Adds up the counts of connections that are gone. It is one statement, so every snapshot
    /// has either the rows or their sum. Locked rows wait for the next time, because PostgreSQL
    /// may reuse the number of a connection.
    pub(crate) const FOLD: Statement = Statement::new(
        concat!(module_path!(), "::FOLD"),
        "with gone as (delete from cms_table_epochs t using ( \
         select e.name, e.backend from cms_table_epochs e where e.backend <> 0 and not exists \
         (select 1 from pg_stat_activity a where a.pid = e.backend) for update of e skip locked) g \
         where t.name = g.name and t.backend = g.backend returning t.name, t.epoch) \
         insert into cms_table_epochs (name, backend, epoch) \
         select name, 0, cast(sum(epoch) as bigint) from gone group by name \
         on conflict (name, backend) do update set epoch = cms_table_epochs.epoch + excluded.epoch \
         returning epoch",
    );
}

/// Tables that a commit changed, with their new counts where the commit learns them.
pub(crate) type Raised = Vec<(String, Option<i64>)>;

/// The known counts by table; 0 for a table that never changed.
#[derive(Debug, Default)]
pub struct Epochs(RwLock<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// A tree, because with few tables it is faster than a hash map.
    by_table: BTreeMap<String, Count>,
    /// Rises with every change that this process learns of.
    turns: i64,
    /// Tables that others have changed, noticed since `news` last returned them.
    news: BTreeSet<String>,
    /// When the server of these sums started; 0 on SQLite. It is added to every number: after a
    /// failover that lost commits, the same sum may come again with other rows.
    server: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// The sum that was read last.
    sum: i64,
    /// Commits of this process that the sum may lack.
    unread_commits: i64,
    /// The turn of the last commit of this process, or of the last change of the server.
    turn: i64,
}

impl Counts {
    /// The number of a count. It was never returned before the last change that this process
    /// knows of.
    fn number(&self, count: Count) -> i64 {
        if count.unread_commits == 0 { self.server.wrapping_add(count.sum) } else { -count.turn }
    }

    /// Notes sums that were read after `turn`.
    fn note(&mut self, turn: i64, sums: Vec<(String, i64)>) {
        for (table, sum) in sums {
            let count = self.by_table.entry(table.clone()).or_default();
            let is_new = if count.turn <= turn {
                // A sum may be lower than before, when a backup was restored.
                let expected = count.sum + count.unread_commits;
                (count.sum, count.unread_commits) = (sum, 0);
                sum != expected
            } else if count.unread_commits == 0 {
                // Both sums are complete, and the higher one is newer.
                let is_new = sum > count.sum;
                count.sum = sum.max(count.sum);
                is_new
            } else {
                // The sum may lack the commit that came in between.
                false
            };
            if is_new {
                self.turns += 1;
                self.news.insert(table);
            }
        }
    }
}

impl Epochs {
    fn counts(&self) -> RwLockReadGuard<'_, Counts> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts_mut(&self) -> RwLockWriteGuard<'_, Counts> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a table's present state. Equal numbers mean equal rows. All processes have
    /// the same number, unless it is negative: then only this process has it.
    #[must_use]
    pub fn of(&self, table: &str) -> i64 {
        let known = self.counts();
        known.number(known.by_table.get(table).copied().unwrap_or_default())
    }

    /// The present numbers of all tables that were ever changed.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, i64> {
        let known = self.counts();
        let number = |(table, count): (&String, &Count)| (table.clone(), known.number(*count));
        known.by_table.iter().map(number).collect()
    }

    /// The present numbers of some tables, and one that rises with every change that this process
    /// learns of.
    #[must_use]
    pub fn at_present(&self, tables: &[&str]) -> (Vec<i64>, i64) {
        let known = self.counts();
        let of = |table: &&str| known.by_table.get(*table).copied().unwrap_or_default();
        (tables.iter().map(|table| known.number(of(table))).collect(), known.turns)
    }

    /// The number of a sum that was just read.
    pub(super) fn number(&self, sum: i64) -> i64 {
        self.counts().number(Count { sum, ..Count::default() })
    }

    /// Whether no commit of this process has outdated the numbers of these tables, or of all.
    fn are_current(&self, tables: Option<&[&str]>) -> bool {
        let known = self.counts();
        let is_read =
            |table: &&str| known.by_table.get(*table).is_none_or(|count| count.unread_commits == 0);
        match tables {
            Some(tables) => tables.iter().all(is_read),
            None => known.by_table.values().all(|count| count.unread_commits == 0),
        }
    }

    /// Notes a commit of this process.
    pub(crate) fn committed(&self, raised: &Raised) {
        let mut known = self.counts_mut();
        for (table, sum) in raised {
            known.turns += 1;
            let turn = known.turns;
            let count = known.by_table.entry(table.clone()).or_default();
            count.turn = turn;
            match sum {
                Some(sum) => count.sum = count.sum.max(*sum),
                None => count.unread_commits += 1,
            }
        }
    }

    /// Notes the server of a new connection.
    #[cfg(feature = "postgres")]
    pub(super) fn note_server(&self, server: i64) {
        let mut known = self.counts_mut();
        let before = std::mem::replace(&mut known.server, server);
        if [0, server].contains(&before) {
            return;
        }
        tracing::warn!("PostgreSQL was started again, or is another server: caches are dropped");
        known.turns += 1;
        let turn = known.turns;
        for count in known.by_table.values_mut() {
            // Not 0, and unlike any real count: whatever sum is read next counts as a change.
            (count.unread_commits, count.turn) = (i64::from(u32::MAX), turn);
        }
    }

    /// Returns, once, the tables that others have changed.
    fn news(&self) -> Vec<String> {
        std::mem::take(&mut self.counts_mut().news).into_iter().collect()
    }
}

impl Db {
    /// Reads the numbers of `tables` again if commits of this process have outdated them; costs
    /// no query otherwise. None: all tables.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached; then the numbers are this process's own.
    pub async fn read_epochs(&self, tables: Option<&[&str]>) -> Result<()> {
        if self.epochs.are_current(tables) {
            return Ok(());
        }
        // Boxed: this path is rare, and would make the future of each request larger.
        let read = Box::pin(async {
            let _reading = self.reading.lock().await;
            // Another caller may have read them meanwhile.
            if self.epochs.are_current(tables) { Ok(()) } else { self.read_sums().await }
        });
        tokio::time::timeout(READ_TIMEOUT, read).await.map_err(|_| {
            let what = "The database does not answer: which tables have changed is unknown.";
            Error::new(Code::Unavailable, what)
        })?
    }

    /// Reads all counts. Returns the tables that others have changed since the last time.
    pub(super) async fn changed_by_others(&self) -> Result<Vec<String>> {
        let reading = self.reading.lock().await;
        self.read_sums().await?;
        drop(reading);
        Ok(self.epochs.news())
    }

    /// One at a time, so that sums are noted in the order in which they were read.
    async fn read_sums(&self) -> Result<()> {
        let turn = self.epochs.counts().turns;
        let sums = self.uncounted(sql::SUMS, args![]).await?;
        self.epochs.counts_mut().note(turn, sums);
        Ok(())
    }

    /// Adds up the counts of connections that are gone. Returns for how many tables.
    ///
    /// Runs without a [`crate::Change`]: it changes no sum, and a statement that commits by
    /// itself holds no row while this process stands still.
    pub(crate) async fn fold_epochs(&self) -> Result<u64> {
        if !self.dialect().writes_alone() {
            return Ok(0);
        }
        Ok(self.all::<(i64,)>(sql::FOLD, args![]).await?.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(sum: i64) -> Vec<(String, i64)> {
        vec![("a".to_owned(), sum)]
    }

    fn raised(sum: Option<i64>) -> Raised {
        vec![("a".to_owned(), sum)]
    }

    impl Epochs {
        fn noted(&self, turn: i64, sum: i64) -> bool {
            self.counts_mut().note(turn, sums(sum));
            !self.news().is_empty()
        }

        fn turn(&self) -> i64 {
            self.counts().turns
        }
    }

    #[test]
    fn a_commit_that_knows_its_count_only_raises_it() {
        let epochs = Epochs::default();
        epochs.committed(&raised(Some(2)));
        assert_eq!((epochs.of("a"), epochs.of("b")), (2, 0));
        let turn = epochs.turn();
        epochs.committed(&raised(Some(3)));
        assert!(!epochs.noted(turn, 2), "from before the commit");
        assert_eq!(epochs.of("a"), 3);
        assert!(epochs.noted(turn, 5), "another process has committed too");
        epochs.committed(&raised(Some(4)));
        assert_eq!(epochs.of("a"), 5, "the commit was told late");
        assert!(epochs.noted(epochs.turn(), 1), "a backup was restored");
        assert_eq!(epochs.of("a"), 1);
    }

    #[test]
    fn a_commit_that_does_not_know_its_count_gives_a_number_of_its_own() {
        let epochs = Epochs::default();
        assert!(epochs.noted(0, 7));
        let mut given = vec![epochs.of("a")];
        for _ in 0..3 {
            epochs.committed(&raised(None));
            assert!(epochs.of("a") < 0 && !given.contains(&epochs.of("a")));
            assert!(!epochs.are_current(Some(&["a"])) && !epochs.are_current(None));
            assert!(epochs.are_current(Some(&["b"])));
            given.push(epochs.of("a"));
        }
        // Read before the third commit: it may be in it, or not.
        assert!(!epochs.noted(epochs.turn() - 1, 9));
        assert_eq!(epochs.of("a"), given[3]);
        assert!(!epochs.noted(epochs.turn(), 10), "7 and the three of this process");
        assert_eq!((epochs.of("a"), epochs.all()["a"]), (10, 10));
        epochs.committed(&raised(None));
        assert!(epochs.noted(epochs.turn(), 12), "one of them is of another process");
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn another_server_outdates_all_counts() {
        let epochs = Epochs::default();
        epochs.note_server(1);
        epochs.noted(0, 7);
        epochs.note_server(1);
        assert_eq!((epochs.of("a"), epochs.number(7)), (8, 8));
        epochs.note_server(1000);
        assert!(epochs.of("a") < 0);
        assert!(epochs.noted(epochs.turn(), 7), "the same sum, perhaps of other rows");
        assert_eq!((epochs.of("a"), epochs.number(7)), (1007, 1007));
    }
}
