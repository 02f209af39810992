//! The copy itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use tokio::sync::mpsc;

use super::{
    Copied, CopyProgress, CopyStep, OnCopyProgress,
    cell::{Key, Sum},
    reader::Reader,
    side::Side,
    state::Chunk,
    table::{Range, Table, TableRules},
    target,
};
use crate::{
    Code, Error, Result,
    db::{Db, dialect::quote},
    settings::Database,
};

/// Rows and bytes of a chunk.
const CHUNK_ROWS: i64 = 5_000;
const CHUNK_BYTES: usize = 4 << 20;
/// Rows between two reports.
const REPORT_ROWS: i64 = 1_000;
/// Bad values that an error names.
const SHOWN: usize = 20;

/// Rows and digest of each table in the target, by name.
type Sums = BTreeMap<String, Sum>;

/// A copy between two open databases.
pub(crate) struct Transfer<'a> {
    from: Side,
    to: Side,
    tables: Vec<Table>,
    left_out: Vec<String>,
    rules: TableRules,
    meter: Meter<'a>,
}

/// Counts rows and reports the progress.
#[derive(Clone, Copy)]
struct Meter<'a> {
    on_progress: OnCopyProgress<'a>,
    step: CopyStep,
    rows: i64,
    total: Option<i64>,
}

impl<'a> Meter<'a> {
    fn begin(&mut self, step: CopyStep) {
        self.report("");
        (self.step, self.rows) = (step, 0);
    }

    fn report(&self, table: &str) {
        (self.on_progress)(CopyProgress {
            step: self.step,
            table,
            rows: self.rows.unsigned_abs(),
            total: self.total.map(i64::unsigned_abs),
        });
    }

    fn add(&mut self, table: &Table, rows: i64) {
        let before = self.rows;
        self.rows += rows;
        if before / REPORT_ROWS != self.rows / REPORT_ROWS {
            self.report(&table.name);
        }
    }
}

/// Rows on their way, as lines of COPY.
#[derive(Default)]
struct Batch {
    lines: Vec<u8>,
    upto: Vec<Key>,
    sum: Sum,
}

impl Batch {
    /// Adds the last row of a reader.
    fn add(&mut self, reader: &Reader<'_>) -> Result<()> {
        let table = reader.table;
        let told = |fault| Error::new(Code::Conflict, table.fault(reader.raw_line(), fault) + ".");
        if let Some(fault) = reader.fault {
            return Err(told(fault));
        }
        self.upto = table.key_of(reader.raw_line()).map_err(told)?;
        self.sum.add(&reader.line);
        self.lines.extend_from_slice(&reader.line);
        self.lines.push(b'\n');
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.sum.rows >= CHUNK_ROWS || self.lines.len() >= CHUNK_BYTES
    }
}

impl<'a> Transfer<'a> {
    /// Connects. The tables of the target exist; `content` names the tables of plugins.
    pub(crate) async fn open(
        (source, from): (&Db, &Database),
        (target, to): (&Db, &Database),
        (content, rules): (&BTreeSet<String>, TableRules),
        on_progress: OnCopyProgress<'a>,
    ) -> Result<Self> {
        let (mut from, mut to) = (Side::open(from).await?, Side::open(to).await?);
        if target::steps(target).await?.len() != target::steps(source).await?.len() {
            let what = "The unfinished copy was begun by another version of cms: empty the target.";
            return Err(Error::new(Code::Conflict, what));
        }
        let (source, target) = ((source, from.tables().await?), (target, to.tables().await?));
        let (tables, left_out) = Table::all(source, target, content, &rules).await?;
        let is_there = |name: &String| tables.iter().any(|table| table.name == *name);
        if let Some(missing) = content.iter().find(|name| !is_there(name)) {
            let what = format!("The table {missing} is missing in one of the two databases.");
            return Err(Error::new(Code::Conflict, what));
        }
        let meter = Meter { on_progress, step: CopyStep::Check, rows: 0, total: None };
        Ok(Self { from, to, tables, left_out, rules, meter })
    }

    /// Copies everything, and compares.
    pub(crate) async fn run(mut self, is_prepared: bool) -> Result<Copied> {
        let copied = self.copy(is_prepared).await;
        self.from.close().await;
        self.to.close().await;
        copied
    }

    async fn copy(&mut self, is_prepared: bool) -> Result<Copied> {
        let tables = std::mem::take(&mut self.tables);
        if !is_prepared {
            self.to.prepare(&tables).await?;
        }
        self.meter.begin(CopyStep::Check);
        self.check(&tables).await?;
        self.meter.total = Some(self.meter.rows);
        self.meter.begin(CopyStep::Copy);
        for table in tables.iter().filter(|table| !table.is_whole()) {
            if is_prepared {
                self.replace_changed(table).await?;
            }
            self.go_on(table).await?;
        }
        self.meter.begin(CopyStep::Settle);
        self.from.lock(&tables).await?;
        let began = Instant::now();
        let settled = self.settle(&tables).await;
        let released = self.from.release().await;
        let read_only = began.elapsed();
        let (sums, sequences) = settled?;
        released?;
        self.meter.begin(CopyStep::Compare);
        self.compare(&tables, &sums).await?;
        self.meter.report("");
        self.to.finish(&tables, &sequences, &self.rules).await?;
        let rows = |table: &Table| sums.get(&table.name).map_or(0, |sum| sum.rows.unsigned_abs());
        Ok(Copied {
            tables: tables.iter().map(|table| (table.name.clone(), rows(table))).collect(),
            left_out: std::mem::take(&mut self.left_out),
            read_only,
        })
    }

    /// Counts the rows, and looks for values that the other engine cannot hold.
    async fn check(&mut self, tables: &[Table]) -> Result<()> {
        let mut faults = self.from.broken_references(tables).await?;
        for table in tables {
            let mut reader = self.from.read(table, Range::default(), 0).await?;
            while reader.next().await? {
                if let Some(fault) = reader.fault
                    && faults.len() < SHOWN
                {
                    faults.push(table.fault(reader.raw_line(), fault));
                }
                self.meter.add(table, 1);
            }
        }
        if faults.is_empty() {
            return Ok(());
        }
        let faults = faults.join(". ");
        let what = format!(
            "The other engine cannot hold every value. {faults}. No row was copied: correct them, \
             then go on with --resume."
        );
        Err(Error::new(Code::Conflict, what))
    }

    /// Copies the rows after the last chunk.
    async fn go_on(&mut self, table: &Table) -> Result<()> {
        let chunks = self.to.chunks(table).await?;
        let there: i64 = chunks.iter().map(|chunk| chunk.sum.rows).sum();
        if self.meter.step == CopyStep::Copy {
            self.meter.add(table, there);
        }
        let after = chunks.last().map(|chunk| chunk.upto.as_slice());
        self.fill(table, Range { after, upto: None }, (there, next_number(&chunks))).await
    }

    /// Copies the rows of a range, which the target does not have. `rank` rows stand before it.
    async fn fill(
        &mut self,
        table: &Table,
        range: Range<'_>,
        (rank, mut number): (i64, i64),
    ) -> Result<()> {
        let Self { from, to, meter, .. } = self;
        let (send, mut receive) = mpsc::channel::<Batch>(2);
        let produce = async move {
            let mut reader = from.read(table, range, rank).await?;
            let mut batch = Batch::default();
            while reader.next().await? {
                batch.add(&reader)?;
                // The other half may have failed; it says why.
                if batch.is_full() && send.send(std::mem::take(&mut batch)).await.is_err() {
                    return Ok::<_, Error>(());
                }
            }
            if batch.sum.rows > 0 {
                let _ = send.send(batch).await;
            }
            Ok(())
        };
        let consume = async move {
            while let Some(Batch { lines, upto, sum }) = receive.recv().await {
                to.begin().await?;
                to.insert(table, &lines).await?;
                to.record(table, &Chunk { number, upto, sum }).await?;
                to.commit().await?;
                meter.add(table, sum.rows);
                number += 1;
            }
            Ok::<_, Error>(())
        };
        let (produced, consumed) = tokio::join!(produce, consume);
        produced.and(consumed)
    }

    /// Makes the target equal to the source, while nobody can write to the source. Returns what
    /// the target then holds, and how far ids have counted.
    async fn settle(&mut self, tables: &[Table]) -> Result<(Sums, Vec<(String, i64)>)> {
        let mut sums = Sums::new();
        for table in tables.iter().filter(|table| !table.is_whole()) {
            self.replace_changed(table).await?;
            self.go_on(table).await?;
            let chunks = self.to.chunks(table).await?;
            let sum = chunks.iter().fold(Sum::default(), |all, chunk| all.plus(chunk.sum));
            sums.insert(table.name.clone(), sum);
        }
        // These come last, because triggers of the target write to some of them.
        for table in tables.iter().filter(|table| table.is_whole()) {
            let sum = self.replace_whole(table).await?;
            sums.insert(table.name.clone(), sum);
        }
        Ok((sums, self.from.sequences().await?))
    }

    /// Copies chunks again whose rows have changed.
    async fn replace_changed(&mut self, table: &Table) -> Result<()> {
        let chunks = self.to.chunks(table).await?;
        let changed = self.changed(table, &chunks).await?;
        let Some(first) = changed.first() else { return Ok(()) };
        let dialect = self.to.dialect();
        if table.is_ordered {
            // A row's place depends on all before it.
            let rank = chunks.iter().take(*first).map(|chunk| chunk.sum.rows).sum();
            self.to.begin().await?;
            self.to.run(table.delete_after(dialect, rank)).await?;
            self.to.forget(table, &chunks[*first..]).await?;
            return self.to.commit().await;
        }
        let range = |at: &usize| Range {
            after: at.checked_sub(1).map(|before| chunks[before].upto.as_slice()),
            upto: Some(chunks[*at].upto.as_slice()),
        };
        // Delete all of them first: rows may have exchanged their unique values.
        self.to.begin().await?;
        for at in &changed {
            self.to.run(table.delete(dialect, range(at))).await?;
            self.to.forget(table, &chunks[*at..=*at]).await?;
        }
        self.to.commit().await?;
        let mut number = next_number(&chunks);
        for at in &changed {
            self.fill(table, range(at), (0, number)).await?;
            number = next_number(&self.to.chunks(table).await?).max(number);
        }
        Ok(())
    }

    /// The chunks whose rows have changed since they were copied.
    async fn changed(&mut self, table: &Table, chunks: &[Chunk]) -> Result<Vec<usize>> {
        let Some(last) = chunks.last() else { return Ok(Vec::new()) };
        let mut found = vec![Sum::default(); chunks.len()];
        let range = Range { after: None, upto: Some(&last.upto) };
        let mut reader = self.from.read(table, range, 0).await?;
        let mut at = 0;
        while reader.next().await? {
            let told = |fault| Error::new(Code::Conflict, table.fault(reader.raw_line(), fault));
            let key = table.key_of(reader.raw_line()).map_err(told)?;
            while at + 1 < chunks.len() && key > chunks[at].upto {
                at += 1;
            }
            found[at].add(&reader.line);
            if self.meter.step == CopyStep::Settle {
                self.meter.add(table, 1);
            }
        }
        let pairs = found.iter().zip(chunks).enumerate();
        Ok(pairs.filter(|(_, (sum, chunk))| **sum != chunk.sum).map(|(at, _)| at).collect())
    }

    /// Copies a table whose rows have no key.
    async fn replace_whole(&mut self, table: &Table) -> Result<Sum> {
        let mut sum = Sum::default();
        self.to.begin().await?;
        self.to.run(format!("delete from {}", quote(&table.name))).await?;
        let mut reader = self.from.read(table, Range::default(), 0).await?;
        let mut batch = Batch::default();
        while reader.next().await? {
            batch.add(&reader)?;
            if batch.is_full() {
                self.to.insert(table, &batch.lines).await?;
                sum = sum.plus(std::mem::take(&mut batch).sum);
            }
            self.meter.add(table, 1);
        }
        self.to.insert(table, &batch.lines).await?;
        self.to.commit().await?;
        Ok(sum.plus(batch.sum))
    }

    /// Reads the target, and compares it with the sums of the source.
    async fn compare(&mut self, tables: &[Table], sums: &Sums) -> Result<()> {
        let mut differences = Vec::new();
        for table in tables {
            let mut found = Sum::default();
            let mut reader = self.to.read(table, Range::default(), 0).await?;
            while reader.next().await? {
                found.add(&reader.line);
                self.meter.add(table, 1);
            }
            let expected = sums.get(&table.name).copied().unwrap_or_default();
            if found != expected {
                differences.push(match found.rows == expected.rows {
                    true => format!("{} has other values", table.name),
                    false => {
                        format!("{} has {} rows, not {}", table.name, found.rows, expected.rows)
                    }
                });
            }
        }
        if differences.is_empty() {
            return Ok(());
        }
        let what = format!(
            "The copy differs from its source: {}. Empty the target and copy again.",
            differences.join("; ")
        );
        Err(Error::new(Code::ValidationFailed, what))
    }
}

/// A number that no chunk has.
fn next_number(chunks: &[Chunk]) -> i64 {
    chunks.iter().map(|chunk| chunk.number + 1).max().unwrap_or(0)
}
