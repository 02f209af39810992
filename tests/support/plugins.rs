//! Plugins of tests: their tables in few words, in the program or in the site's folder.

use cms_core::plugins::{Handlers, Manifest, Plugin, PluginState};
use serde_json::{Value as Json, json};

use super::{Site, TestDatabase};

/// Columns in words, such as `sku text required, author integer references=authors`.
pub fn columns(words: &str) -> Json {
    let column = |words: &str| {
        let mut words = words.split(' ');
        let mut column = json!({"name": words.next(), "type": words.next()});
        for word in words {
            let (member, value) = word.split_once('=').unwrap_or((word, "true"));
            column[member] = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        }
        column
    };
    words.split(", ").map(column).collect()
}

pub fn table(name: &str, words: &str) -> Json {
    json!({"name": name, "columns": columns(words)})
}

/// A plugin with these tables.
pub fn plugin<const N: usize>(id: &str, tables: [(&str, &str); N]) -> Json {
    json!({"id": id, "tables": Vec::from(tables.map(|(name, words)| table(name, words)))})
}

pub fn manifest(declared: &Json) -> Manifest {
    serde_json::from_value(declared.clone()).unwrap()
}

/// A plugin of the program: what it declares, and its handlers.
pub fn program(
    declared: Json,
    handlers: impl Fn(Handlers) -> Handlers + Send + Sync + 'static,
) -> impl Plugin {
    Program { declared, handlers }
}

struct Program<H> {
    declared: Json,
    handlers: H,
}

impl<H: Fn(Handlers) -> Handlers + Send + Sync + 'static> Plugin for Program<H> {
    fn manifest(&self) -> Manifest {
        manifest(&self.declared)
    }

    fn handlers(&self) -> Handlers {
        (self.handlers)(Handlers::default())
    }
}

impl TestDatabase {
    /// Puts a plugin into the folder, under its id, with the icons of its widgets.
    pub fn write_plugin(&self, declared: &Json) {
        let id = declared["id"].as_str().unwrap();
        for widget in declared["pagebuilder_widgets"].as_array().into_iter().flatten() {
            let text = |name: &str| widget[name].as_str().unwrap();
            let own = self.folder().join("plugins").join(id).join("widgets");
            let own = own.join(text("widget_template"));
            std::fs::create_dir_all(&own).unwrap();
            std::fs::write(own.join(text("widget_icon")), "<svg/>").unwrap();
        }
        self.write_manifest(id, &declared.to_string());
    }

    pub fn write_manifest(&self, id: &str, text: &str) {
        let folder = self.folder().join("plugins").join(id);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("plugin.json"), text).unwrap();
    }
}

impl Site {
    /// How a plugin of the site is.
    pub fn state(&self, id: &str) -> PluginState {
        self.cms.plugins().states().iter().find(|state| state.id == id).unwrap().clone()
    }

    /// The site in another process.
    pub async fn reopen(self) -> Self {
        self.cms.close().await;
        Self::on(self.database).open().await
    }
}
