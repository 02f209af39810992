//! The icon of a widget: part of the program, of a plugin in Rust, or a file in the folder of its
//! widget. Which file is read follows from the registry alone, never from what a caller writes.

use std::{borrow::Cow, io::Read as _};

use super::{Widgets, builtin};
use crate::{
    Code, Error, Result,
    plugins::{MAX_ICON_BYTES, find_icon},
};

/// An icon as it is served.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Icon {
    /// Its name.
    pub file: String,
    /// Its type: of SVG, PNG, JPEG or WebP.
    pub media_type: &'static str,
    /// The file.
    pub content: Cow<'static, [u8]>,
}

impl Widgets {
    /// The icon of a widget.
    ///
    /// # Errors
    /// `not_found` when no such widget is registered, or its file is no longer there or too large.
    pub async fn icon(&self, name: &str) -> Result<Icon> {
        let missing = |what: &str| Error::new(Code::NotFound, format!("There is no {what}."));
        let widget = self.find(name).ok_or_else(|| missing(&format!("widget {name:?}")))?;
        let end = widget.icon.rsplit_once('.').map_or("", |(_, end)| end);
        let media_type = match end {
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "jpg" | "jpeg" => "image/jpeg",
            "webp" => "image/webp",
            _ => return Err(missing("icon of a known type")),
        };
        let content = match &widget.plugin {
            None => builtin::icon(&widget.icon).map(|svg| Cow::Borrowed(svg.as_bytes())),
            Some(plugin) => match self.0.plugins.icon(plugin, &widget.icon) {
                Some(bytes) => Some(Cow::Borrowed(bytes)),
                None => {
                    let folder = self.0.base.settings().dirs.plugins.clone();
                    let (plugin, icon) = (plugin.clone(), widget.icon.clone());
                    let name = widget.name.clone();
                    let read = move || read(&find_icon(&folder, &plugin, &name, &icon)?);
                    tokio::task::spawn_blocking(read).await.map_err(Error::internal)?
                }
            },
        };
        content
            .map(|content| Icon { file: widget.icon.clone(), media_type, content })
            .ok_or_else(|| missing(&format!("file {} of the widget {name}", widget.icon)))
    }
}

/// A file, unless it is too large by now.
fn read(path: &std::path::Path) -> Option<Cow<'static, [u8]>> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MAX_ICON_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_ICON_BYTES).then_some(Cow::Owned(bytes))
}
