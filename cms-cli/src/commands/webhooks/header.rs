//! Headers as people type them

/// Reads `NAME: VALUE`.
pub(super) fn parse(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Reads `NAME: VALUE`, or `NAME: @FILE`. Other users of the machine can see the command line, but
/// not the file.
pub(super) fn own(text: &str) -> Result<(String, String), String> {
    let (name, value) = parse(text).map_err(|form| format!("{form}, or NAME: @FILE"))?;
    let Some(file) = value.strip_prefix('@') else { return Ok((name, value)) };
    let value = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    Ok((name, value.trim().to_owned()))
}
