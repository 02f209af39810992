//! The content of built-in widgets that follows from what this room knows: menus, vacancies.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json, json};

use crate::{
    Result,
    base::Base,
    pages::menu,
    plugins::{PlacedWidget, TODAY, WidgetContent},
};

/// The version of this code.
const VERSION: &str = "1.0.0";

/// `footer_links`: the menu that it names, as a tree.
pub(super) struct FooterLinks(pub(super) Base);

impl WidgetContent for FooterLinks {
    fn name(&self) -> &str {
        "footer_links"
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn tables(&self) -> Option<Vec<String>> {
        Some(vec!["menu_items".to_owned()])
    }

    fn content<'a>(&'a self, widget: &'a PlacedWidget, _: bool) -> BoxFuture<'a, Result<Json>> {
        Box::pin(async move {
            let Some(name) = widget.text("menu") else { return Ok(Json::Null) };
            Ok(json!({"menu": menu::read(&self.0, name, &widget.language).await?}))
        })
    }
}

/// `jobs`: the vacancies whose last day has not passed; editors see all.
pub(super) struct Jobs(pub(super) Base);

impl WidgetContent for Jobs {
    fn name(&self) -> &str {
        "jobs"
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn tables(&self) -> Option<Vec<String>> {
        Some(vec![TODAY.to_owned()])
    }

    fn content<'a>(
        &'a self,
        widget: &'a PlacedWidget,
        backend: bool,
    ) -> BoxFuture<'a, Result<Json>> {
        Box::pin(async move {
            let today = self.0.day(self.0.clock().now())?.to_string();
            // Days as text are in the order of days.
            let last = |item: &Map<String, Json>| {
                item.get("end_date").and_then(Json::as_str).map(str::to_owned)
            };
            let is_open =
                |item: &&Map<String, Json>| backend || last(item).is_none_or(|last| last >= today);
            let open: Vec<_> = widget.items.iter().filter(is_open).collect();
            Ok(json!({"items": open}))
        })
    }
}
