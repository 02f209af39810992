//! The tables that are copied, and how their rows are read in the order of their keys.

use std::collections::BTreeSet;

use super::cell::{self, Fault, Key};
use crate::{
    Code, Error, Result,
    db::{Db, DbTable, Dialect, Kind, dialect::quote},
};

/// Tables that each database keeps for itself: the steps of its schema, and the state of a copy
/// into it.
pub(super) const OWN: [&str; 3] = ["cms_migrations", "cms_copy", "cms_copy_chunks"];
/// Subtracted from ranks on PostgreSQL, so that copied rows sort before later ones, which have
/// numbers of transactions.
const BEFORE: i64 = 1 << 40;

/// Characters of a text key that an error shows.
const SHOWN: usize = 8;

/// What the rooms declare about their tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableRules {
    /// The prefix of the service's own tables.
    pub(crate) prefix: &'static str,
    /// The prefix of tables that only one engine has, and fills by itself.
    pub(crate) skipped: &'static str,
    /// A table that SQLite orders by `rowid`, and PostgreSQL by a column of this name and then by
    /// `place`. The copy has other numbers in the same order.
    pub(crate) ordered: &'static str,
    /// Tables of which PostgreSQL has several rows for each row of SQLite, and the `from` item
    /// that adds them up.
    pub(crate) sums: &'static [(&'static str, &'static str)],
    /// Tables that hold rows as soon as a site is made, and the condition for rows that somebody
    /// has added.
    pub(crate) initial_rows: &'static [(&'static str, &'static str)],
    /// Ends all leases.
    pub(crate) leases: &'static str,
}

impl TableRules {
    fn sum(&self, name: &str) -> Option<&'static str> {
        self.sums.iter().find(|(table, _)| *table == name).map(|(_, from)| *from)
    }
}

/// A table to copy.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// Places of the key's columns; none: the table is copied as a whole.
    pub(super) key: Vec<usize>,
    /// Whether the first column is the row's rank, not a value.
    pub(super) is_ordered: bool,
    /// The `from` item that adds its rows up.
    sum: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// Rows after one key, up to another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range<'k> {
    pub(super) after: Option<&'k [Key]>,
    pub(super) upto: Option<&'k [Key]>,
}

impl Table {
    /// The tables that both databases have, and the names of tables that are left out: those of
    /// other programs. `content` names the tables of plugins.
    pub(super) async fn all(
        (source, from): (&Db, Vec<String>),
        (target, to): (&Db, Vec<String>),
        content: &BTreeSet<String>,
        rules: &TableRules,
    ) -> Result<(Vec<Self>, Vec<String>)> {
        let there: BTreeSet<_> = to.into_iter().collect();
        let (mut tables, mut left) = (Vec::new(), Vec::new());
        for name in from {
            let is_ours = name.starts_with(rules.prefix) || content.contains(&name);
            if OWN.contains(&name.as_str()) || name.starts_with(rules.skipped) {
                continue;
            }
            if is_ours && there.contains(&name) {
                tables.push(Self::of(source, target, name, rules).await?);
            } else {
                left.push(name);
            }
        }
        Ok((tables, left))
    }

    async fn of(source: &Db, target: &Db, name: String, rules: &TableRules) -> Result<Self> {
        let gone = || Error::new(Code::Conflict, format!("The table {name} has just gone."));
        let from = source.describe(&name).await?.ok_or_else(gone)?;
        let to = target.describe(&name).await?.ok_or_else(gone)?;
        let (is_ordered, sum) = (name == rules.ordered, rules.sum(&name));
        // PostgreSQL has more types.
        let precise = if source.dialect() == Dialect::Postgres { &from } else { &to };
        let mut columns = Vec::new();
        if is_ordered {
            columns.push(Column { name: "rowid".to_owned(), kind: Kind::Integer });
        }
        let own = |name: &str| !(is_ordered && name == "rowid");
        for column in precise.columns.iter().filter(|column| own(&column.name)) {
            columns.push(Column { name: column.name.clone(), kind: column.kind });
        }
        let names = |table: &DbTable| -> BTreeSet<String> {
            table.columns.iter().map(|c| c.name.clone()).filter(|name| own(name)).collect()
        };
        if names(&from) != names(&to) {
            let what = format!("The table {name} has other columns in the target.");
            return Err(Error::new(Code::Conflict, what));
        }
        let place = |name: &str| columns.iter().position(|column| column.name == name);
        let order: &[&str] = if is_ordered { &["rowid", "place"] } else { &[] };
        let key = order.iter().copied().chain(from.key.iter().map(String::as_str));
        let mut key: Vec<usize> = key.filter_map(place).collect();
        let sorts = |at: &usize| matches!(columns[*at].kind, Kind::Integer | Kind::Text);
        if sum.is_some() || !key.iter().all(sorts) {
            key.clear();
        }
        Ok(Self { name, columns, key, is_ordered, sum })
    }

    /// Whether it is copied as a whole, while nobody writes.
    pub(super) fn is_whole(&self) -> bool {
        self.key.is_empty()
    }

    /// Whether its rows may be large.
    pub(super) fn is_wide(&self) -> bool {
        self.columns.iter().any(|column| column.kind == Kind::Binary)
    }

    fn column(&self, at: usize) -> String {
        if self.is_ordered && at == 0 { "rowid".to_owned() } else { quote(&self.columns[at].name) }
    }

    /// Its columns as a list.
    pub(super) fn column_list(&self) -> String {
        (0..self.columns.len()).map(|at| self.column(at)).collect::<Vec<_>>().join(", ")
    }

    /// The rows of a range, in the order of the key.
    pub(super) fn select(&self, dialect: Dialect, range: Range<'_>) -> String {
        let from = self.sum.map_or_else(|| quote(&self.name), str::to_owned);
        let order = match self.key.is_empty() {
            true => String::new(),
            false => format!(" order by {}", self.key_columns(dialect)),
        };
        let within = self.within(dialect, range);
        format!("select {} from {from}{within}{order}", self.column_list())
    }

    /// Removes the rows of a range.
    pub(super) fn delete(&self, dialect: Dialect, range: Range<'_>) -> String {
        format!("delete from {}{}", quote(&self.name), self.within(dialect, range))
    }

    /// Removes the rows of an ordered table after the first `rank` rows.
    pub(super) fn delete_after(&self, dialect: Dialect, rank: i64) -> String {
        let rank = self.stored_rank(dialect, rank);
        format!("delete from {} where rowid > {rank}", quote(&self.name))
    }

    /// The `rowid` of the row with this rank.
    pub(super) fn stored_rank(&self, dialect: Dialect, rank: i64) -> i64 {
        match dialect {
            Dialect::Sqlite => rank,
            Dialect::Postgres => rank - BEFORE,
        }
    }

    fn key_columns(&self, dialect: Dialect) -> String {
        let column = |at: &usize| {
            let is_text = self.columns[*at].kind == Kind::Text;
            let order = match (dialect, is_text) {
                (Dialect::Postgres, true) => " collate \"C\"",
                _ => "",
            };
            format!("{}{order}", self.column(*at))
        };
        self.key.iter().map(column).collect::<Vec<_>>().join(", ")
    }

    fn within(&self, dialect: Dialect, range: Range<'_>) -> String {
        let columns = self.key_columns(dialect);
        let bound = |sign: &str, key: &[Key]| {
            let literals: Vec<_> = key.iter().map(Key::literal).collect();
            format!("({columns}) {sign} ({})", literals.join(", "))
        };
        let bounds =
            [range.after.map(|key| bound(">", key)), range.upto.map(|key| bound("<=", key))];
        let bounds: Vec<_> = bounds.into_iter().flatten().collect();
        if bounds.is_empty() { String::new() } else { format!(" where {}", bounds.join(" and ")) }
    }

    /// The key of a line.
    pub(super) fn key_of(&self, line: &[u8]) -> Result<Vec<Key>, (usize, Fault)> {
        let mut key = Vec::with_capacity(self.key.len());
        let (mut cells, mut next) = (cell::cells(line), 0);
        let mut places = self.key.clone();
        places.sort_unstable();
        let mut found = Vec::with_capacity(places.len());
        for at in places {
            let value = cells.nth(at - next).and_then(cell::unescape);
            next = at + 1;
            let value = value.ok_or((at, "is null, and part of the key"))?;
            let value = std::str::from_utf8(&value).map_err(|_| (at, "is not UTF-8 text"))?;
            found.push((
                at,
                match self.columns[at].kind {
                    Kind::Integer => Key::Int(value.parse().map_err(|_| (at, "is not a number"))?),
                    _ => Key::Text(value.to_owned()),
                },
            ));
        }
        for at in &self.key {
            let part = found.iter().find(|(place, _)| place == at);
            key.extend(part.map(|(_, part)| part.clone()));
        }
        Ok(key)
    }

    /// What is wrong with a value, as a sentence.
    pub(super) fn fault(&self, line: &[u8], (at, why): (usize, Fault)) -> String {
        let key = self.key_of(line).unwrap_or_default();
        let shown = |(place, part): (&usize, &Key)| {
            let value = match part {
                Key::Int(number) => number.to_string(),
                // It may be a name that visitors must not learn.
                Key::Text(text) => text.chars().take(SHOWN).collect::<String>() + "…",
            };
            format!("{} {value}", self.columns[*place].name)
        };
        let row = self.key.iter().zip(&key).map(shown).collect::<Vec<_>>().join(", ");
        let row = if row.is_empty() { "a row".to_owned() } else { format!("row {row}") };
        format!("{}, {row}: {} {why}", self.name, self.columns[at].name)
    }
}
