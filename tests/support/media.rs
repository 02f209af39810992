//! Files to upload.

use std::{
    io::Cursor,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use cms_http::client::Outgoing;
use futures_util::{Stream, stream};
use image::{ImageFormat, RgbImage};

use super::{Ask, Reply, Site};

/// The kind of what [`form`] makes.
pub const FORM: &str = "multipart/form-data; boundary=XX";

/// A form with fields and a file.
pub fn form(fields: &[(&str, &str)], name: &str, content: &[u8]) -> Vec<u8> {
    let field = |(name, value): &(&str, &str)| {
        format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let fields: String = fields.iter().map(field).collect();
    let file = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: image/png\r\n\r\n"
    );
    [fields.as_bytes(), file.as_bytes(), content, b"\r\n--XX--\r\n"].concat()
}

/// A picture with a colour that `seed` chooses.
pub fn picture(format: ImageFormat, width: u32, height: u32, seed: u8) -> Vec<u8> {
    let picture = RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, seed]));
    let mut file = Cursor::new(Vec::new());
    picture.write_to(&mut file, format).unwrap();
    file.into_inner()
}

/// A picture that packs badly, so that a smaller one has fewer bytes in every format.
pub fn noise(format: ImageFormat, width: u32, height: u32) -> Vec<u8> {
    let pixel = |x: u32, y: u32| {
        let [red, green, blue, _] =
            (x ^ y.rotate_left(16)).wrapping_mul(2_654_435_761).to_be_bytes();
        image::Rgb([red, green, blue])
    };
    let mut file = Cursor::new(Vec::new());
    RgbImage::from_fn(width, height, pixel).write_to(&mut file, format).unwrap();
    file.into_inner()
}

/// As [`picture`], in PNG.
pub fn png(width: u32, height: u32, seed: u8) -> Vec<u8> {
    picture(ImageFormat::Png, width, height, seed)
}

/// A PDF of so many bytes.
pub fn pdf(length: usize) -> Vec<u8> {
    let mut file = b"%PDF-1.7 ".to_vec();
    file.resize(length - 5, b'x');
    file.extend(b"%%EOF");
    file
}

/// A file that a client uploads bit by bit.
pub fn in_parts(
    name: &str,
    content: Vec<u8>,
) -> Outgoing<impl Stream<Item = std::io::Result<Bytes>> + Send + use<>> {
    let (size, whole) = (content.len(), Bytes::from(content));
    let parts = (0..size).step_by(32 << 10);
    let parts = parts.map(move |at| Ok(whole.slice(at..size.min(at + (32 << 10)))));
    Outgoing { name: name.to_owned(), size: size as u64, parts: stream::iter(parts) }
}

impl Site {
    /// Uploads with the key that may do everything.
    pub async fn upload(&self, name: &str, content: &[u8]) -> Reply {
        self.uploading(&[], name, content).send().await
    }

    pub fn uploading(&self, fields: &[(&str, &str)], name: &str, content: &[u8]) -> Ask {
        let ask = self.admin("POST /api/backend/media").header("content-type", FORM);
        ask.body(form(fields, name, content))
    }

    pub fn media_folder(&self) -> PathBuf {
        self.cms.settings().dirs.media.clone()
    }

    /// The plain files below the media folder, by their paths in it.
    pub fn media_files(&self) -> Vec<String> {
        files_below(&self.media_folder())
    }
}

/// The plain files below a folder, by their paths in it.
pub fn files_below(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path();
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}
