//! `/api/backend/audit`

use cms_core::{ActorName, AuditFilter, AuditRow, Result};

use crate::{
    call::Call,
    wire::{Page, audit::WhichAuditRows},
};

pub(crate) async fn list(call: &Call<'_>, asked: WhichAuditRows) -> Result<Page<AuditRow>> {
    let tables = asked.table.iter().flat_map(|names| names.split(','));
    let mut filter = AuditFilter::default();
    filter.tables = tables.map(str::to_owned).collect();
    filter.row = asked.id;
    filter.actor = asked.actor.as_deref().map(ActorName::parse).transpose()?;
    filter.since = asked.since.map(|since| since.0);
    filter.until = asked.until.map(|until| until.0);
    let paging = asked.limit.after(asked.cursor, asked.count);
    call.cms.audit().list(&paging, &filter).await.map(Page::from)
}
