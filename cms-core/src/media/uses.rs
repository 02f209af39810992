//! The places that show a file: records that contain its path, funnels and forms that name it, and
//! pages whose widgets name it.

use std::{fmt, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Media, Name, TABLE, sql};
use crate::{Code, Error, Result};

/// Maximum number of reported places.
pub const TOLD: usize = 20;
/// Timeout of the search. Adopted tables may have many millions of rows.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);

/// A place that shows a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MediaUse")]
#[non_exhaustive]
pub struct Use {
    /// Whether it is a record or a funnel.
    pub what: Holder,
    /// The content table of a record; of a funnel null.
    pub table: Option<String>,
    /// Id of the record or funnel; empty for a record of a table without a key.
    pub id: String,
    /// Where the file is shown. Record: its column. Page: `draft` or `published`. Funnel:
    /// `settings`, `nodes` or `mails` of the draft, `published`, or `visits` (an older version
    /// that visits still use).
    pub part: String,
}

/// What shows a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MediaHolder")]
#[non_exhaustive]
pub enum Holder {
    /// A record of a content table.
    Record,
    /// A funnel.
    Funnel,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder = self.table.as_deref().unwrap_or("funnel");
        write!(f, "{holder} {} ({})", self.id, self.part)
    }
}

impl Media {
    /// The places that show a file, [`TOLD`] at most. Finds a path in every text and every JSON
    /// value, however the text around its digits is written.
    ///
    /// # Errors
    /// `not_found`; `unavailable` when searching the tables takes longer than 10 s, or other
    /// searches take that long.
    pub async fn uses(&self, id: i64) -> Result<Vec<Use>> {
        let record = self.get(id).await?;
        let name = record["path"].as_str().and_then(Name::of_path);
        let name = name.ok_or_else(|| Error::internal("a path of no file"))?;
        let until = Instant::now() + SEARCH_TIMEOUT;
        // `timeout_at` polls the inner future first, so a call that waited for its turn until then
        // reports that.
        let found = tokio::time::timeout_at(until, self.uses_of(id, &name, until)).await;
        found.unwrap_or_else(|_| {
            let detail = "The tables are too large to see in 10 s whether the file is in use: \
                          delete it with force=true.";
            Err(Error::new(Code::Unavailable, detail))
        })
    }

    async fn uses_of(&self, id: i64, name: &Name, until: Instant) -> Result<Vec<Use>> {
        let (db, items) = (self.0.base.db(), &self.0.items);
        let now = self.0.base.clock().now();
        let funnel = |(id, part): (i64, String)| Use {
            what: Holder::Funnel,
            table: None,
            id: id.to_string(),
            part,
        };
        let funnels = sql::in_funnels(db, id, name.digits(), TOLD, now).await?;
        let mut uses: Vec<_> = funnels.into_iter().map(funnel).collect();
        let record = |table: &str, id, part| {
            let table = Some(table.to_owned());
            Use { what: Holder::Record, table, id, part }
        };
        for id in sql::in_forms(db, id, TOLD).await? {
            uses.push(record("forms", id.to_string(), "fields".to_owned()));
        }
        for table in items.tables().iter().filter(|table| table.name != TABLE) {
            let most = TOLD.saturating_sub(uses.len());
            for found in items.holding(table, name.digits(), most, until).await? {
                let found = record(&table.name, found.id, found.column);
                if !uses.contains(&found) {
                    uses.push(found);
                }
            }
        }
        let (drafts, shown) =
            self.0.pages.holding(name.digits(), TOLD.saturating_sub(uses.len())).await?;
        let page = |id: i64, part: &str| record("pages", id.to_string(), part.to_owned());
        uses.extend(drafts.into_iter().map(|id| page(id, "draft")));
        uses.extend(shown.into_iter().map(|id| page(id, "published")));
        uses.truncate(TOLD);
        Ok(uses)
    }
}
