//! What a command reads: a file, or `-` for standard input.

use std::{fs, io::Read, path::Path};

use serde_json::Value as Json;

use crate::output::{Done, Failure};

/// The bytes as they are.
pub(crate) fn bytes(file: &Path) -> Done<Vec<u8>> {
    let read = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    read.map_err(|e| Failure::file(file, &e))
}

/// The text.
pub(crate) fn text(file: &Path) -> Done<String> {
    let no_text = |_| Failure::file(file, &std::io::Error::other("this is no UTF-8 text"));
    String::from_utf8(bytes(file)?).map_err(no_text)
}

/// A JSON object.
pub(crate) fn object(file: &Path) -> Done<Json> {
    let wrong =
        |why: String| Failure::usage(format!("{}: a JSON object is expected{why}", file.display()));
    let json: Json = serde_json::from_str(&text(file)?).map_err(|e| wrong(format!(": {e}")))?;
    if json.is_object() { Ok(json) } else { Err(wrong(String::new())) }
}
