//! `/api/backend/tables`

use cms_core::{Code, Error, Result, content::Table};
use data_encoding::BASE64URL_NOPAD;

use crate::{
    call::Call,
    request::bad,
    wire::{
        Data, OneOrPage, Page,
        envelope::Meta,
        tables::{Asked, ColumnInfo, TableInfo},
    },
};

pub(crate) async fn read(call: &Call<'_>, asked: Asked) -> Result<OneOrPage<TableInfo>> {
    let tables = call.cms.tables();
    let mut known = tables.iter().filter(|table| call.caller.may_read(call.cms, &table.name));
    if let Some(name) = &asked.name {
        let table = known.find(|table| table.name == *name).ok_or_else(|| {
            Error::new(Code::UnknownTable, format!("There is no content table {name:?}."))
        })?;
        return Ok(OneOrPage::One(Data { data: info(call, table).await? }));
    }
    // The list is sorted by name, so a name is a place in it.
    let after = asked.cursor.as_deref().map(place).transpose()?;
    let limit = asked.limit.0 as usize;
    let rest: Vec<_> =
        known.filter(|table| after.as_ref().is_none_or(|after| table.name > *after)).collect();
    let mut data = Vec::with_capacity(limit.min(rest.len()));
    for table in rest.iter().take(limit) {
        data.push(info(call, table).await?);
    }
    let last = rest.get(limit).and(data.last());
    let next = last.map(|last| BASE64URL_NOPAD.encode(last.name.as_bytes()));
    Ok(OneOrPage::Page(Page { data, meta: Meta { limit: asked.limit.0, next, total: None } }))
}

fn place(cursor: &str) -> Result<String> {
    let name = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok();
    name.and_then(|name| String::from_utf8(name).ok())
        .ok_or_else(|| bad("This cursor is not from this list: take `meta.next` of its reply."))
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
    });
    Ok(TableInfo {
        name: table.name.clone(),
        plugin: table.plugin.clone(),
        adopted: table.adopted,
        multilanguage: table.multilanguage,
        languages,
        columns: columns.collect(),
        // The registry does not keep them.
        indexes: Vec::new(),
        rows: call.cms.items().estimate(table).await?,
    })
}
