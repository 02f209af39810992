//! Combines a declaration with the schema of the database.

use std::sync::OnceLock;

use super::{
    ColumnDeclaration, Declared, TableDeclaration, check, index,
    table::{Column, Table, shown},
};
use crate::{
    Code, Error, Result,
    db::{Db, DbColumn, Kind},
};

pub(crate) fn load_error(detail: String) -> Error {
    Error::new(Code::ValidationFailed, detail)
}

/// Builds a content table from its declaration and the schema of the database.
pub(crate) async fn resolve(
    db: &Db,
    Declared { plugin, tables, silent }: Declared<'_>,
    declared: &TableDeclaration,
) -> Result<Table> {
    let source = declared.source.as_deref().unwrap_or(&declared.name);
    let described = match declared.adopt {
        true => db.describe_adopted(source).await?,
        false => db.describe(source).await?,
    };
    let Some(actual) = described else {
        return Err(load_error(format!(
            "{plugin}: the database has no table {source:?} to adopt for {:?}.",
            declared.name
        )));
    };
    let own = !declared.adopt;
    let mut columns = Vec::new();
    for found in &actual.columns {
        let wanted = declared.columns.iter().find(|c| c.name == found.name);
        let standard = own && ["id", "base_id", "language_short"].contains(&found.name.as_str());
        // Declared columns limit what is served; the key is always served.
        if wanted.is_none()
            && !declared.columns.is_empty()
            && !actual.key.contains(&found.name)
            && !standard
        {
            continue;
        }
        let mut column = column(db, own, found, wanted).map_err(|why| {
            load_error(format!("{plugin}: {}.{}: {why}.", declared.name, found.name))
        })?;
        // The service fills these in.
        column.has_default |= own
            && match found.name.as_str() {
                "base_id" => declared.multilanguage,
                "language_short" => {
                    declared.multilanguage || super::core::takes_language(plugin, &declared.name)
                }
                _ => false,
            };
        if plugin == super::core::ID {
            column.resource = super::core::resource_column(&declared.name, &found.name);
        }
        if own {
            column.length = column.length.or_else(|| index::text_limit(declared, &found.name));
        }
        // A foreign key names a table of the database, which another plugin may serve under another
        // name. Only tables of this declaration count.
        let target = found.references.as_deref().and_then(|name| {
            tables.iter().find(|t| t.source.as_deref().unwrap_or(&t.name) == name)
        });
        column.references = column.references.or_else(|| target.map(|t| t.name.clone()));
        columns.push(column);
    }
    if let Some(missing) =
        declared.columns.iter().find(|c| !actual.columns.iter().any(|found| found.name == c.name))
    {
        let known: Vec<_> = actual.columns.iter().map(|c| c.name.as_str()).collect();
        return Err(load_error(format!(
            "{plugin}: {source} has no column {:?}; it has {}.",
            missing.name,
            known.join(", ")
        )));
    }
    let index = |name: &str| columns.iter().position(|c| c.name == name);
    if declared.multilanguage && (index("base_id").is_none() || index("language_short").is_none()) {
        return Err(load_error(format!(
            "{plugin}: {source} is multilanguage, which needs the columns base_id and \
             language_short."
        )));
    }
    let key = actual.key.iter().filter_map(|name| index(name)).collect();
    Ok(Table {
        name: declared.name.clone(),
        source: source.to_owned(),
        plugin: plugin.to_owned(),
        key,
        multilanguage: declared.multilanguage,
        adopted: declared.adopt,
        silent,
        require_if_match: declared.require_if_match,
        dialect: db.dialect(),
        columns,
        object: OnceLock::new(),
    })
}

fn column(
    db: &Db,
    own: bool,
    found: &DbColumn,
    wanted: Option<&ColumnDeclaration>,
) -> std::result::Result<Column, String> {
    let declared = wanted.and_then(|c| c.kind());
    let kind = db.dialect().kind_of(own, declared, found.kind);
    let values = wanted.and_then(|c| c.allowed.as_deref());
    let like = Column::declared(&found.name, kind);
    let allowed = values.map(|values| check::allowed(&like, db.dialect(), values)).transpose()?;
    let default = wanted.filter(|_| own).and_then(|c| c.default.as_ref());
    // A default that was declared before a stricter check stays as declared.
    let default = default.map(|value| match (kind, check::value(&like, db.dialect(), value)) {
        (Kind::Json, _) | (_, Err(_)) => value.clone(),
        (_, Ok(checked)) => shown(kind, &checked),
    });
    let cast = if own { db.dialect().declared_cast(kind) } else { found.cast.clone() };
    Ok(Column {
        name: found.name.clone(),
        kind,
        field_type: wanted
            .and_then(|c| c.field_type.clone())
            .unwrap_or_else(|| field_type(kind).to_owned()),
        required: found.not_null,
        has_default: found.has_default,
        default,
        generated: found.generated,
        references: wanted.and_then(|c| c.references.clone()),
        resource: None,
        length: found.length,
        allowed,
        nullable: found.nullable,
        cast,
        own,
        folded: false,
    })
}

/// The field type that edits an undeclared column.
fn field_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer => "integer",
        Kind::Decimal => "decimal",
        Kind::Double => "number",
        Kind::Boolean => "checkbox",
        Kind::Text => "text",
        Kind::Date => "date",
        Kind::Time => "time",
        Kind::DateTime => "datetime",
        Kind::Json => "json",
        Kind::Binary => "binary",
        Kind::Password => "password",
    }
}
