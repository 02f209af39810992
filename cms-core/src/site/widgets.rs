//! The content of built-in widgets that show a form or a funnel; the columns of plugins' widgets.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::BoxFuture;
use serde_json::{Value as Json, json};

use super::{
    Cms,
    loading::{Loading, Opening},
};
use crate::{
    Code, Result,
    forms::{Forms, WhichForm},
    funnels::{Funnels, WhichFunnel},
    pages::widgets::Refresh,
    plugins::{
        Manifest, PlacedWidget, Problem, WIDGET_COLUMNS, WidgetContent, check_made, check_rows,
        installed::{Installed, Part},
        rows_of,
    },
};

/// Maximum number of columns of a table of widgets, after plugins of the folder have added theirs.
const MOST_MADE: usize = 1_100;
/// The same including plugins of the program. PostgreSQL allows 1,600 columns, SQLite 2,000.
const MOST_MADE_IN_ALL: usize = 1_580;

impl Cms {
    /// Adds the content of built-in widgets that other rooms provide.
    pub(super) fn provide_widgets(&self) {
        for widget in ["form", "newsletter"] {
            let (forms, funnels) = (self.forms().clone(), self.funnels().clone());
            self.pages().widgets().provide(FormContent { widget, forms, funnels });
        }
    }
}

impl Cms {
    /// Registers the widgets of plugins that are new or applied. A plugin of the folder whose
    /// widgets the database refuses falls back to its previous declaration. Returns whether a
    /// plugin fell back, because others may use its tables.
    pub(super) async fn register_widgets(
        &self,
        loading: &mut Loading,
        (opening, only): (Opening, Option<&str>),
        installed: &BTreeMap<String, Installed>,
    ) -> Result<bool> {
        let in_service = loading.states.iter().filter_map(|state| state.manifest.clone());
        let in_service: Vec<_> = in_service.collect();
        let refresh = match opening {
            Opening::Start => Refresh::New,
            Opening::Apply => Refresh::Again(only),
            Opening::AsIs | Opening::Inspect => Refresh::Nothing,
        };
        let widgets = self.pages().widgets();
        let refused = match widgets.load(&in_service, refresh).await {
            // For example, another process makes an index, for which SQLite reserves its writer.
            Err(error) if opening == Opening::Start && error.code() == Code::Unavailable => {
                tracing::warn!(?error, "widgets are not registered; the next start does it");
                widgets.load(&in_service, Refresh::Nothing).await?
            }
            loaded => loaded?,
        };
        let mut fell_back = false;
        for (id, error) in refused {
            if self.0.given.iter().any(|plugin| plugin.manifest().id == id) {
                return Err(error);
            }
            let Some(at) = loading.states.iter().position(|state| state.id == id) else { continue };
            let state = &mut loading.states[at];
            if state.problems.is_empty() {
                let before = installed.get(&id).and(state.manifest.clone());
                if let Some(manifest) = before {
                    self.note_refusal(&manifest, Part::Widgets, &error).await;
                }
                self.take_back(loading, at, installed, vec![Problem::from(error)]).await?;
                fell_back = true;
                continue;
            }
            let problem = Problem::from(error);
            if !state.problems.contains(&problem) {
                // The earlier declaration is served with the widgets that are registered.
                state.problems.push(problem);
            }
        }
        Ok(fell_back)
    }

    /// The columns of registered widgets by plugin, without removed plugins.
    pub(super) async fn rows_kept(
        &self,
        installed: &BTreeMap<String, Installed>,
    ) -> Result<BTreeMap<String, BTreeSet<String>>> {
        let mut rows = self.pages().widgets().rows_of_plugins().await?;
        rows.retain(|plugin, _| !installed.get(plugin).is_some_and(|one| one.removed));
        Ok(rows)
    }

    /// Refuses a plugin whose widgets would need more columns than tables of widgets may have,
    /// together with those that other plugins have registered or will have after this load. For
    /// plugins of the program, which come first, only declared columns count. `registers`: this
    /// load registers the plugin as declared.
    pub(super) async fn check_rows(
        &self,
        loading: &Loading,
        manifest: &Manifest,
        (is_given, registers): (bool, bool),
    ) -> Result<()> {
        let declared = || rows_of(manifest).collect();
        let registered = loading.rows.get(&manifest.id).filter(|_| !registers && !is_given);
        let own: BTreeSet<_> =
            registered.map_or_else(declared, |rows| rows.iter().map(String::as_str).collect());
        let others: Vec<_> = if is_given {
            let given = loading.states.iter().filter_map(|one| one.manifest.as_deref());
            given.flat_map(rows_of).collect()
        } else {
            let others = loading.rows.iter().filter(|(id, _)| **id != manifest.id);
            others.flat_map(|(_, rows)| rows).map(String::as_str).collect()
        };
        check_rows(&own, others.iter().copied())?;
        if own.iter().all(|row| WIDGET_COLUMNS.contains(row)) || registered.is_some() {
            return Ok(());
        }
        let most = if is_given { MOST_MADE_IN_ALL } else { MOST_MADE };
        for made in self.pages().widgets().columns_made().await? {
            check_made(&made, &own, &others, most)?;
        }
        Ok(())
    }
}

impl Loading {
    /// Records the columns of a plugin that is in service after this load.
    pub(super) fn note_rows(&mut self, manifest: &Manifest, registers: bool) {
        if registers || !self.rows.contains_key(&manifest.id) {
            let declared = rows_of(manifest).map(str::to_owned).collect();
            self.rows.insert(manifest.id.clone(), declared);
        }
    }
}

/// `form` and `newsletter`: the fields of the named form, or the named funnel.
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

/// A form that is missing or switched off is not an error of the page.
fn unless_missing<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Err(error) if matches!(error.code(), Code::NotFound | Code::FunnelNotAvailable) => Ok(None),
        found => found.map(Some),
    }
}
