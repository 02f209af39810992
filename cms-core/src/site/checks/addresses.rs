//! Whether columns, fields and settings of addresses hold addresses.

use super::{Asked, finding::Findings};
use crate::{Result, items::BrokenAddress, site::Cms};

/// Broken addresses that are listed of each room at most.
const MAX_BROKEN: usize = 100;

impl Cms {
    /// Values that are no addresses, where one belongs: in records, on pages, in forms and funnels.
    /// 100 of each at most. They are read as they are; only who writes them again must mend them.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read.
    pub async fn broken_addresses(&self) -> Result<Vec<BrokenAddress>> {
        let mut found = self.items().broken_addresses(MAX_BROKEN).await?;
        found.extend(self.pages().broken_addresses(MAX_BROKEN).await?);
        found.extend(self.forms().broken_addresses(MAX_BROKEN).await?);
        found.extend(self.funnels().broken_addresses(MAX_BROKEN).await?);
        Ok(found)
    }
}

pub(super) async fn broken(asked: &Asked, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let broken = cms.broken_addresses().await?;
    if broken.is_empty() {
        found.ok("all lead to pages, files or other sites");
    }
    for one in broken {
        found.warning(format!("{} {}, {}", one.table, one.id, one.column), one.problem);
    }
    Ok(())
}
