//! `cms version`

use serde_json::json;

use crate::output::{Done, Output};

pub(crate) fn run(out: &Output) -> Done {
    if out.json {
        return Ok(out.data(&json!({"version": cms_core::VERSION}))?);
    }
    Ok(out.line(&format!("cms {}", cms_core::VERSION))?)
}
