//! `/api/backend/audit`

use cms_core::{AuditRow, Result};

use crate::{
    call::Call,
    wire::{Page, audit::Asked},
};

pub(crate) async fn list(call: &Call<'_>, asked: Asked) -> Result<Page<AuditRow>> {
    let tables: Vec<&str> =
        asked.table.as_ref().map(|names| names.split(',').collect()).unwrap_or_default();
    let page = call.cms.audit().list(&asked.limit.after(asked.cursor.as_deref()), &tables).await?;
    Ok(page.into())
}
