//! The types of files: the type that a file's bytes show (its name and declared type prove
//! nothing), the extension of its name, and how browsers get it. Pure.

/// A type of files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) media_type: &'static str,
    /// The extension of its files' names.
    pub(super) extension: &'static str,
    /// Whether browsers show it; they save all others. No type that is shown can run a script.
    pub(super) is_shown: bool,
    /// Whether it is accepted by default.
    is_usual: bool,
}

const fn kind(
    media_type: &'static str,
    extension: &'static str,
    is_shown: bool,
    is_usual: bool,
) -> Kind {
    Kind { media_type, extension, is_shown, is_usual }
}

/// All types, each with its own extension.
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

/// The type with this media type.
pub(super) fn of_type(media_type: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.media_type == media_type)
}

/// The type with this extension.
pub(super) fn of_extension(extension: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.extension == extension)
}

/// Whether the settings accept a type; an empty list accepts the default types.
pub(super) fn is_taken(kind: &Kind, types: &[String]) -> bool {
    match types {
        [] => kind.is_usual,
        _ => types.iter().any(|one| one == kind.media_type),
    }
}

/// First bytes of files, each at its offset.
const MAGIC: [(usize, &[u8], &str); 21] = [
    (0, b"%PDF-", "application/pdf"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypavis", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypqt", "video/quicktime"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xf2", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
];
/// Documents that are archives: the beginning of their first parts' names.
const ARCHIVES: [(&str, &str); 3] = [
    ("word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
];
/// The first bytes of OpenDocument files, before their type.
const OPEN_DOCUMENT: &[u8] = b"mimetypeapplication/vnd.oasis.opendocument.";

/// Number of first bytes that are examined.
pub(crate) const HEAD: usize = 8192;

/// The media type of a file with these first bytes; `application/octet-stream` when they
/// are unknown.
pub(crate) fn media_type(head: &[u8]) -> &'static str {
    let at = |(place, magic, _): &&(usize, &[u8], &str)| {
        head.get(*place..).is_some_and(|rest| rest.starts_with(magic))
    };
    if let Some((_, _, found)) = MAGIC.iter().find(at) {
        return found;
    }
    if head.starts_with(b"PK\x03\x04") {
        return archive(head);
    }
    // A character cut off at the end of the head is not an error.
    let is_text = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() == HEAD,
    };
    let is_plain = |byte: &u8| {
        (*byte >= 0x20 && *byte != 0x7f) || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c)
    };
    if is_text && !head.is_empty() && head.iter().all(is_plain) {
        return markup(head).unwrap_or("text/plain");
    }
    "application/octet-stream"
}

fn archive(head: &[u8]) -> &'static str {
    let holds = |text: &[u8]| head.windows(text.len()).any(|part| part == text);
    if let Some(place) = head.windows(OPEN_DOCUMENT.len()).position(|part| part == OPEN_DOCUMENT) {
        return match &head[place + OPEN_DOCUMENT.len()..] {
            rest if rest.starts_with(b"text") => "application/vnd.oasis.opendocument.text",
            rest if rest.starts_with(b"spreadsheet") => {
                "application/vnd.oasis.opendocument.spreadsheet"
            }
            _ => "application/zip",
        };
    }
    let is_office = holds(b"[Content_Types].xml") || holds(b"_rels/");
    let found = ARCHIVES.iter().find(|(part, _)| is_office && holds(part.as_bytes()));
    found.map_or("application/zip", |(_, media_type)| media_type)
}

/// The markup that a browser would recognise in a text: a page or a drawing, both of which may
/// hold scripts. `None`: plain text.
fn markup(head: &[u8]) -> Option<&'static str> {
    let start = head.trim_ascii_start();
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    if !start.starts_with(b"<") {
        return None;
    }
    let text = start.to_ascii_lowercase();
    let place = |tag: &[u8]| text.windows(tag.len()).position(|part| part == tag);
    let is_drawing = place(b"<svg").is_some_and(|at| place(b"<html").is_none_or(|page| at < page));
    Some(if is_drawing { "image/svg+xml" } else { "text/html" })
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

    #[test]
    fn bytes_say_what_a_file_is() {
        let long = [b"a".repeat(HEAD - 1), vec![0xc3]].concat();
        for (head, expected) in [
            (&b"%PDF-1.7\n"[..], "application/pdf"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"\0\0\0\x18ftypmp42", "video/mp4"),
            (b"PK\x03\x04 a.txt", "application/zip"),
            (b"PK\x03\x04 [Content_Types].xml word/document.xml", ARCHIVES[0].1),
            (
                b"PK\x03\x04  mimetypeapplication/vnd.oasis.opendocument.textPK",
                "application/vnd.oasis.opendocument.text",
            ),
            (b"name,mail\nAda,ada@example.org\n", "text/plain"),
            (b" <script>alert(1)</script>", "text/html"),
            (b"<svg onload=alert(1)>", "image/svg+xml"),
            (b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- a -->\n<SVG>", "image/svg+xml"),
            (b"<!DOCTYPE html><HTML><svg>", "text/html"),
            (b"\xff\xfb\x90\x44", "audio/mpeg"),
            (b"\0\0\0\x1cftypavif", "image/avif"),
            (b"\0\0\0\x1cftypheic", "image/heic"),
            (b"\0\0\0\x14ftypqt  ", "video/quicktime"),
            (b"GIF87a", "image/gif"),
            (b"GIF89a/*<script>", "image/gif"),
            (b"GIF88a", "text/plain"),
            (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
            (b"\x1a\x45\xdf\xa3", "video/webm"),
            (b"II*\0", "image/tiff"),
            (b"OggS\0", "audio/ogg"),
            (b"ID3\x03", "audio/mpeg"),
            (b"\x7fELF", "application/octet-stream"),
            (b"\xfe\xff\0<\0s\0v\0g", "application/octet-stream"),
            (b"\x1f\x8b\x08", "application/octet-stream"),
            (b"MZ\x90\0", "application/octet-stream"),
            (b"", "application/octet-stream"),
            (b"caf\xe9", "application/octet-stream"),
            (&long, "text/plain"),
        ] {
            assert_eq!(media_type(head), expected, "{head:?}");
        }
    }
}
