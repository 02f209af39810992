//! Content that a plugin written in Rust shows in widgets.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use crate::{Result, ground::SiteRef, items::Items};

/// A name in [`WidgetContent::tables`] for content that changes at midnight in the site's
/// time zone.
pub const TODAY: &str = "@today";

/// Makes the content of a widget, which its component gets besides the stored values. The widget
/// is built in or belongs to a plugin of the program.
///
/// ```
/// use cms_core::{
///     Result,
///     plugins::{PlacedWidget, WidgetContent},
/// };
/// use futures_util::future::BoxFuture;
/// use serde_json::{Value, json};
///
/// struct Greeting;
///
/// impl WidgetContent for Greeting {
///     fn name(&self) -> &str {
///         "greeting"
///     }
///
///     fn version(&self) -> &str {
///         "1.0.0"
///     }
///
///     fn tables(&self) -> Option<Vec<String>> {
///         Some(Vec::new())
///     }
///
///     fn content<'a>(
///         &'a self,
///         widget: &'a PlacedWidget,
///         _backend: bool,
///     ) -> BoxFuture<'a, Result<Value>> {
///         Box::pin(async move { Ok(json!({"text": format!("Hello, {}", widget.data["title"])})) })
///     }
/// }
/// ```
pub trait WidgetContent: Send + Sync + 'static {
    /// The name of the widget.
    fn name(&self) -> &str;

    /// The version of this code, as the picker shows it.
    fn version(&self) -> &str;

    /// The content tables that the content is made from. A page with the widget is cached until
    /// one of them changes; with [`TODAY`] among them, also no longer than until midnight. `None`:
    /// unknown, so the page is never cached.
    fn tables(&self) -> Option<Vec<String>> {
        None
    }

    /// The content of a placed widget. `backend` is true when an embedding program shows the page
    /// to editors; the service itself always passes false, because its links show drafts to people
    /// without a login.
    ///
    /// Of one page, 16 widgets make their content at a time. All content shares two seconds and
    /// 4 MiB as JSON. Content that fails, is late or does not fit becomes null and is logged.
    fn content<'a>(
        &'a self,
        widget: &'a PlacedWidget,
        backend: bool,
    ) -> BoxFuture<'a, Result<Json>>;
}

/// A widget on a page, with what its editor has entered.
#[derive(Clone)]
#[non_exhaustive]
pub struct PlacedWidget {
    /// Its id.
    pub id: i64,
    /// The name of the widget.
    pub widget: String,
    /// The language of the page.
    pub language: String,
    /// The values that are set, by column.
    pub data: Map<String, Json>,
    /// The values of each item of a repeater, in order.
    pub items: Vec<Map<String, Json>>,
    pub(crate) records: Items,
    pub(crate) site: SiteRef,
}

impl PlacedWidget {
    /// Records of content tables, without limits by rights: every visitor of the page sees what
    /// you show.
    #[must_use]
    pub fn records(&self) -> &Items {
        &self.records
    }

    /// A value as text; `None`: it is not set or not text.
    #[must_use]
    pub fn text(&self, column: &str) -> Option<&str> {
        self.data.get(column)?.as_str()
    }

    /// A whole number from 1 to `most`; `otherwise` if there is none.
    #[must_use]
    pub fn amount(&self, column: &str, otherwise: u32, most: u32) -> u32 {
        let given = self.data.get(column).and_then(Json::as_f64);
        given.map_or(otherwise, |given| (given as u32).clamp(1, most))
    }
}

impl std::fmt::Debug for PlacedWidget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlacedWidget").field("id", &self.id).field("widget", &self.widget).finish()
    }
}
