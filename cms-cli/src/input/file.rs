//! Reads a file, or standard input when the name is `-`.

use std::{fs, io::Read, path::Path};

use serde_json::{Map, Value as Json};

use crate::output::{Done, Failure};

/// All bytes.
pub(crate) fn bytes(file: &Path) -> Done<Vec<u8>> {
    let read = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    read.map_err(|e| Failure::file(file, &e))
}

/// All text, which must be UTF-8.
pub(crate) fn text(file: &Path) -> Done<String> {
    let no_text = |_| Failure::file(file, &std::io::Error::other("the content is not UTF-8 text"));
    String::from_utf8(bytes(file)?).map_err(no_text)
}

/// A JSON object.
pub(crate) fn object(file: &Path) -> Done<Map<String, Json>> {
    let wrong =
        |why: String| Failure::usage(format!("{} must hold a JSON object{why}", file.display()));
    let json: Json = serde_json::from_str(&text(file)?).map_err(|e| wrong(format!(": {e}")))?;
    match json {
        Json::Object(object) => Ok(object),
        _ => Err(wrong(String::new())),
    }
}
