//! The files of Swagger UI, which a crate carries in an archive.

use std::{
    borrow::Cow,
    io::{Cursor, Read as _},
    sync::LazyLock,
};

use bytes::Bytes;
use cms_core::items::etag;
use http::{HeaderValue, StatusCode, header};
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED as ARCHIVE;

use crate::{reply::Reply, success::Success, wire::Text};

/// The files of the archive that the page needs: the name in the page, the name in the archive,
/// the media type.
const UNPACKED: [(&str, &str, &str); 3] = [
    ("viewer.css", "/dist/swagger-ui.css", "text/css; charset=utf-8"),
    ("viewer.js", "/dist/swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
    ("icon.png", "/dist/favicon-32x32.png", "image/png"),
];
const START: &str = include_str!("start.js");

struct File {
    name: &'static str,
    media_type: &'static str,
    content: Bytes,
    tag: String,
}

impl File {
    fn new(name: &'static str, media_type: &'static str, content: Bytes) -> Self {
        let tag = etag(&String::from_utf8_lossy(&content));
        Self { name, media_type, content, tag }
    }
}

/// Unpacked when the page is first opened.
static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let unpacked = UNPACKED.into_iter().filter_map(|(name, packed, media_type)| {
        let content = unpacked(packed)
            .inspect_err(|error| tracing::error!(name, %error, "the viewer lacks a file"))
            .ok()?;
        Some(File::new(name, media_type, content))
    });
    let start = File::new("start.js", UNPACKED[1].2, Bytes::from_static(START.as_bytes()));
    unpacked.chain([start]).collect()
});

fn unpacked(end: &str) -> zip::result::ZipResult<Bytes> {
    let mut archive = zip::ZipArchive::new(Cursor::new(ARCHIVE))?;
    let path = {
        let mut paths = archive.file_names().filter_map(Result::ok);
        paths.find(|path| path.ends_with(end)).map(Cow::into_owned).unwrap_or_default()
    };
    let mut content = Vec::new();
    archive.by_name(&path)?.read_to_end(&mut content)?;
    Ok(content.into())
}

pub(super) fn file(name: &str) -> Option<Success<Text>> {
    let file = FILES.iter().find(|file| file.name == name)?;
    let kind = HeaderValue::from_static(file.media_type);
    // The files at these addresses change with the version of the service.
    let reply = Reply::new(StatusCode::OK, kind, file.content.clone())
        .with(header::CACHE_CONTROL, "no-cache")
        .with(header::ETAG, &file.tag);
    Some(Success::written(reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_has_every_file_that_the_page_names() {
        let page = include_str!("page.html");
        let named: Vec<&str> =
            page.split("\"docs/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(named.len(), UNPACKED.len() + 1);
        for name in named {
            let found = FILES.iter().find(|file| file.name == name).expect(name);
            assert!(!found.content.is_empty(), "{name}");
        }
    }
}
