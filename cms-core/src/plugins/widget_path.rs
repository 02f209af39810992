//! The icon and the component of a plugin's widget, in the widget's folder.

use std::path::{Path, PathBuf};

use super::script_path::find_within;

/// Maximum size of an icon in bytes.
pub(crate) const MAX_ICON_BYTES: u64 = 256 << 10;

/// The file `widgets/<widget>/<icon>` of a plugin, if it really lies in that folder.
pub(crate) fn find_icon(plugins: &Path, plugin: &str, widget: &str, icon: &str) -> Option<PathBuf> {
    find_within(plugins, &Path::new(plugin).join("widgets").join(widget), icon)
}

/// The component of a widget, by the same rule.
pub(crate) fn find_component(plugins: &Path, plugin: &str, widget: &str) -> Option<PathBuf> {
    find_icon(plugins, plugin, widget, "template/index.vue")
}
