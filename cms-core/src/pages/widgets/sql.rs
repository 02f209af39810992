//! The statements of the registry of widgets.

use super::Widget;
use crate::{
    Change, Error, Result,
    db::{Db, args, read, record, statements},
};

record! { Widget: widget_columns {
    name: "name",
    plugin: "plugin",
    group: "widget_group",
    group_title: "group_title",
    title: "title",
    subtitle: "subtitle",
    icon: "icon",
    template: "template",
    menu: "menu" => read::json,
    item_menu: "item_menu" => read::json,
    version: "version",
} }

statements! {
    REGISTERED =
        concat!("select ", widget_columns!(), " from cms_page_widgets order by sort_order");
    REGISTER = concat!("insert into cms_page_widgets (", widget_columns!(), ", sort_order) \
                        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
                        on conflict (name) do update set plugin = excluded.plugin, \
                        widget_group = excluded.widget_group, \
                        group_title = excluded.group_title, title = excluded.title, \
                        subtitle = excluded.subtitle, icon = excluded.icon, \
                        template = excluded.template, menu = excluded.menu, \
                        item_menu = excluded.item_menu, version = excluded.version, \
                        sort_order = excluded.sort_order");
    FORGET = "delete from cms_page_widgets where name = $1";
}

/// Every registered widget.
pub(super) async fn registered(db: &Db) -> Result<Vec<Widget>> {
    db.all(REGISTERED, args![]).await
}

/// Registers a widget, at this place among those of its plugin.
pub(super) async fn register(change: &mut Change, widget: &Widget, place: usize) -> Result<()> {
    let text = |menu| serde_json::to_string(menu).map_err(Error::internal);
    let args = args![
        &widget.name,
        widget.plugin.as_deref(),
        &widget.group,
        &widget.group_title,
        &widget.title,
        widget.subtitle.as_deref(),
        &widget.icon,
        &widget.template,
        text(&widget.menu)?,
        text(&widget.item_menu)?,
        &widget.version,
        place as i64
    ];
    change.run(REGISTER, args).await.map(drop)
}

pub(super) async fn forget(change: &mut Change, name: &str) -> Result<()> {
    change.run(FORGET, args![name]).await.map(drop)
}
