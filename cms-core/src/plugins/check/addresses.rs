//! What buttons lead to: links, modals, scripts.

use std::ffi::OsStr;

use super::Check;
use crate::{
    Address,
    plugins::{find_script, is_script_path, manifest::Button},
};

impl Check<'_> {
    pub(super) fn url(&mut self, button: &Button, at: &str) {
        let Some(url) = button.url.as_deref().filter(|url| !url.is_empty()) else { return };
        if let Some(remedy) = Address::Link.problem(url) {
            self.fault(format!("{at}/url"), remedy);
        }
    }

    pub(super) fn component(&mut self, button: &Button, at: &str) {
        let Some(component) = button.component.as_deref().filter(|c| !c.is_empty()) else { return };
        let id = &self.manifest.id;
        let mut parts = component.split('/');
        let (plugin, admin, name) = (parts.next(), parts.next(), parts.next());
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let is_slug = plugin == Some(id)
            && admin == Some("admin")
            && name.is_some_and(is_name)
            && parts.next().is_none();
        if !is_slug {
            let remedy = format!(
                "\"{id}/admin/ModalName\" is expected: no path before it, no .vue behind it"
            );
            self.fault(format!("{at}/component"), remedy);
        }
    }

    /// The path of a script, and the file.
    pub(super) fn script(&mut self, at: &str, path: Option<&str>) {
        let Some(path) = path.filter(|path| !path.is_empty()) else { return };
        if !is_script_path(path) {
            let remedy = "letters, digits, _ and - are expected, slashes between folders, .php at \
                          the end, such as \"orders/export.php\"";
            self.fault(at, remedy);
            return;
        }
        let Some(folder) = &self.known.folder else { return };
        let name = folder.file_name().and_then(OsStr::to_str);
        let place = folder.parent().zip(name);
        if place.and_then(|(plugins, name)| find_script(plugins, name, path)).is_some() {
            return;
        }
        let remedy = if folder.join("script").join(path).is_file() {
            format!("script/{path} leads out of the plugin's folder: copy the file")
        } else {
            format!("there is no file script/{path} in the plugin's folder")
        };
        self.fault(at, remedy);
    }
}
