//! What a plugin written in Rust shows in widgets.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use crate::{Result, items::Items};

/// Stands in [`WidgetContent::tables`] for what changes at midnight, in the site's time zone.
pub const TODAY: &str = "@today";

/// Makes the content of a widget: what its component gets beside the stored values. It belongs to a
/// widget of a plugin of the program, or to a built-in one.
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

    /// The content tables that the content is made from: a page with the widget is kept until one
    /// of them changes. [`TODAY`] among them: at midnight too. None: nobody can tell, so such a
    /// page is never kept.
    fn tables(&self) -> Option<Vec<String>> {
        None
    }

    /// The content of a placed widget. `backend`: an embedding program shows it to editors. The
    /// service itself never says so: its links show drafts to people without a login. Of a page 16
    /// widgets make their content at once, and all of it within the same two seconds, in 4 MiB
    /// as JSON. An error, what is late, and what no longer fits is null and logged.
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
    /// The same of each item of a repeater, in order.
    pub items: Vec<Map<String, Json>>,
    pub(crate) records: Items,
}

impl PlacedWidget {
    /// Records of content tables. No rights limit them: every visitor of the page sees what you
    /// show.
    #[must_use]
    pub fn records(&self) -> &Items {
        &self.records
    }

    /// A value as text; None when it is not set or no text.
    #[must_use]
    pub fn text(&self, column: &str) -> Option<&str> {
        self.data.get(column)?.as_str()
    }

    /// A whole number from 1 to `most`; `otherwise` when there is none.
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
