//! Files that visitors sent, for the staff.

use super::{StoredFile, sql};
use crate::{Code, Error, Result, funnels::Funnels};

impl Funnels {
    /// A file by what answers hold.
    ///
    /// # Errors
    /// `not_found`, also for one of a funnel that was deleted.
    pub async fn file(&self, file: &str) -> Result<StoredFile> {
        let missing = || Error::new(Code::NotFound, "There is no such file.");
        // PostgreSQL refuses to compare with text that holds U+0000.
        if file.contains('\0') {
            return Err(missing());
        }
        sql::file(self.0.base.db(), file).await?.ok_or_else(missing)
    }
}
