//! The fixed statements of content tables. Statements of items are composed from registered tables.

crate::db::statements! {
    DECLARATION = "select plugin_id, declaration from cms_content_tables where name = $1";
    DECLARATIONS = "select name, declaration from cms_content_tables order by name";
    RECORD_DECLARATION = "insert into cms_content_tables (name, plugin_id, declaration, \
                          installed_at) values ($1, $2, $3, $4) \
                          on conflict (name) do update set plugin_id = excluded.plugin_id, \
                          declaration = excluded.declaration, \
                          installed_at = excluded.installed_at";
}
