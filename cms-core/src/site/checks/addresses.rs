//! Checks that columns, fields and settings for addresses contain addresses.

use super::{CheckInput, finding::Findings};
use crate::{Result, items::BrokenAddress, site::Cms};

/// Maximum number of listed broken addresses for each room.
const MAX_BROKEN: usize = 100;

impl Cms {
    /// Values in records, on pages, in forms and funnels that should be addresses but are not, at
    /// most 100 of each kind. They can still be read; they must be mended only when they are
    /// written again.
    pub async fn broken_addresses(&self) -> Result<Vec<BrokenAddress>> {
        let mut found = self.items().broken_addresses(MAX_BROKEN).await?;
        found.extend(self.pages().broken_addresses(MAX_BROKEN).await?);
        found.extend(self.forms().broken_addresses(MAX_BROKEN).await?);
        found.extend(self.funnels().broken_addresses(MAX_BROKEN).await?);
        Ok(found)
    }
}

pub(super) async fn broken(asked: &CheckInput, found: &mut Findings) -> Result<()> {
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
