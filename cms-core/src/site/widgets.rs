//! The content of built-in widgets that shows a form or a funnel.

use futures_util::future::BoxFuture;
use serde_json::{Value as Json, json};

use super::Cms;
use crate::{
    Code, Result,
    forms::{Forms, WhichForm},
    funnels::{Funnels, WhichFunnel},
    plugins::{PlacedWidget, WidgetContent},
};

impl Cms {
    /// Adds the content of built-in widgets that other rooms know.
    pub(super) fn provide_widgets(&self) {
        for widget in ["form", "newsletter"] {
            let (forms, funnels) = (self.forms().clone(), self.funnels().clone());
            self.pages().widgets().provide(FormContent { widget, forms, funnels });
        }
    }
}

/// `form` and `newsletter`: the fields of the form that it names, or the funnel.
struct FormContent {
    widget: &'static str,
    forms: Forms,
    funnels: Funnels,
}

impl WidgetContent for FormContent {
    fn name(&self) -> &str {
        self.widget
    }

    fn version(&self) -> &'static str {
        "1.0.0"
    }

    fn tables(&self) -> Option<Vec<String>> {
        Some(["forms", "formfunnels"].map(str::to_owned).to_vec())
    }

    fn content<'a>(&'a self, widget: &'a PlacedWidget, _: bool) -> BoxFuture<'a, Result<Json>> {
        Box::pin(async move {
            if let Some(slug) = widget.text("funnel") {
                let which = WhichFunnel::Slug(slug.to_owned());
                let found = self.funnels.shown(&which, &widget.language).await;
                return Ok(unless_missing(found)?.map_or(Json::Null, |one| json!({"funnel": one})));
            }
            let Some(name) = widget.text("form") else { return Ok(Json::Null) };
            let found = self.forms.shown(&WhichForm::Name(name.to_owned())).await;
            Ok(unless_missing(found)?.map_or(Json::Null, |one| json!({"form": one})))
        })
    }
}

/// A form that is gone or switched off is no fault of the page.
fn unless_missing<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Err(error) if matches!(error.code(), Code::NotFound | Code::FunnelNotAvailable) => Ok(None),
        found => found.map(Some),
    }
}
