//! `/api/backend/tables`

use cms_core::{Code, Error, Result, content::Table};

use super::page_by_name;
use crate::{
    call::Call,
    wire::{
        Data, OneOrPage, Page,
        parameters::Listing,
        tables::{ColumnInfo, TableInfo, WhichTables},
    },
};

pub(crate) async fn read(call: &Call<'_>, asked: WhichTables) -> Result<OneOrPage<TableInfo>> {
    let tables = call.cms.tables();
    let mut known = tables.iter().filter(|table| call.caller().may_read(call.cms, &table.name));
    if let Some(name) = &asked.name {
        let table = known.find(|table| table.name == *name).ok_or_else(|| {
            // Callers that may not read the table do not learn whether it exists.
            match call.caller().may_read(call.cms, name) {
                true => tables.unknown(name),
                false => {
                    Error::new(Code::UnknownTable, format!("There is no content table {name:?}."))
                }
            }
        })?;
        return Ok(OneOrPage::One(Data { data: info(call, table).await? }));
    }
    let listing = Listing { limit: asked.limit, cursor: asked.cursor, count: asked.count };
    let known: Vec<_> = known.collect();
    let Page { data, meta } = page_by_name(call, known, |table| table.name.clone(), listing)?;
    let mut shown = Vec::with_capacity(data.len());
    for table in data {
        shown.push(info(call, table).await?);
    }
    Ok(OneOrPage::Page(Page { data: shown, meta }))
}

async fn info(call: &Call<'_>, table: &Table) -> Result<TableInfo> {
    let languages =
        if table.multilanguage { call.cms.settings().languages.clone() } else { Vec::new() };
    let columns = table.columns.iter().enumerate().map(|(index, column)| ColumnInfo {
        name: column.name.clone(),
        r#type: column.field_type.clone(),
        required: column.required,
        has_default: column.has_default,
        key: table.key.contains(&index),
        references: column.references.clone(),
        r#enum: column.enum_values(),
    });
    Ok(TableInfo {
        name: table.name.clone(),
        plugin: table.plugin.clone(),
        adopted: table.adopted,
        multilanguage: table.multilanguage,
        languages,
        columns: columns.collect(),
        indexes: call.cms.items().indexes(table).await?,
        rows: call.cms.items().estimate(table).await?,
    })
}
