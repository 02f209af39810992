//! The types of files: how their names end, and how browsers get them. Pure.

/// A type of files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) media_type: &'static str,
    /// The end of its files' names.
    pub(super) extension: &'static str,
    /// Whether browsers show it; all others they save. Nothing that is shown can run a script.
    pub(super) is_shown: bool,
    /// Whether it is taken unless the settings say otherwise.
    pub(super) is_usual: bool,
}

const fn kind(
    media_type: &'static str,
    extension: &'static str,
    is_shown: bool,
    is_usual: bool,
) -> Kind {
    Kind { media_type, extension, is_shown, is_usual }
}

/// All of them, each with an end of its own.
const KINDS: [Kind; 23] = [
    kind("image/png", "png", true, true),
    kind("image/jpeg", "jpg", true, true),
    kind("image/gif", "gif", true, true),
    kind("image/webp", "webp", true, true),
    kind("image/avif", "avif", true, true),
    kind("image/svg+xml", "svg", false, false),
    kind("image/heic", "heic", false, false),
    kind("image/tiff", "tif", false, false),
    kind("application/pdf", "pdf", false, true),
    kind("video/mp4", "mp4", true, true),
    kind("video/webm", "webm", true, true),
    kind("video/quicktime", "mov", true, false),
    kind("audio/mpeg", "mp3", true, true),
    kind("audio/ogg", "ogg", true, true),
    kind("audio/wav", "wav", true, true),
    kind("text/plain", "txt", false, false),
    kind("text/html", "html", false, false),
    kind("application/zip", "zip", false, false),
    kind(
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "docx",
        false,
        false,
    ),
    kind("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx", false, false),
    kind(
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "pptx",
        false,
        false,
    ),
    kind("application/vnd.oasis.opendocument.text", "odt", false, false),
    kind("application/vnd.oasis.opendocument.spreadsheet", "ods", false, false),
];

/// The type of this name.
pub(super) fn of_type(media_type: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.media_type == media_type)
}

/// The type whose files' names end so.
pub(super) fn of_extension(extension: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.extension == extension)
}

/// Whether the settings take a type; an empty list takes the usual ones.
pub(super) fn is_taken(kind: &Kind, types: &[String]) -> bool {
    match types {
        [] => kind.is_usual,
        _ => types.iter().any(|one| one == kind.media_type),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::MEDIA_TYPES;

    #[test]
    fn settings_know_every_type_and_nothing_active_is_shown() {
        assert_eq!(KINDS.map(|kind| kind.media_type), MEDIA_TYPES);
        for kind in &KINDS {
            let found = of_extension(kind.extension).expect(kind.extension);
            assert_eq!((found, of_type(kind.media_type)), (kind, Some(kind)));
            let is_inert = ["image/", "video/", "audio/"]
                .iter()
                .any(|of| kind.media_type.starts_with(of) && kind.media_type != "image/svg+xml");
            assert!(is_inert || !kind.is_shown, "{}", kind.media_type);
        }
        let png = of_type("image/png").expect("known");
        let html = of_type("text/html").expect("known");
        assert!(is_taken(png, &[]) && !is_taken(html, &[]));
        let only = ["text/html".to_owned()];
        assert!(!is_taken(png, &only) && is_taken(html, &only));
    }
}
