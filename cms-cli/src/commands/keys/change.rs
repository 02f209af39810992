//! What `cms keys` works out before it calls: rights, times, and where the one value goes.

use cms_core::keys::Right;

use crate::{
    exit::Exit,
    failure::{Done, Failure},
    output::Output,
    paging::unexpected,
    record::{One, Record},
    secret_file::SecretFile,
    table,
};

/// Reads rights as they are typed.
pub(super) fn parse(texts: &[String]) -> Done<Vec<Right>> {
    texts.iter().map(|text| Right::parse(text).map_err(Failure::usage)).collect()
}

/// Reads `30s`, `10m`, `2h`, `7d`, or plain seconds.
pub(crate) fn seconds(text: &str) -> Result<i64, String> {
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => (&text[..at], &text[at..]),
        None => (text, "s"),
    };
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return Err("write a time as 30s, 10m, 2h or 7d".to_owned()),
    };
    let number: i64 =
        number.parse().map_err(|_| "write a time as 30s, 10m, 2h or 7d".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "that is too long".to_owned())
}

/// The rows with some granted and some taken away.
pub(super) fn changed(
    mut held: Vec<Right>,
    grant: Vec<Right>,
    revoke: &[Right],
) -> Done<Vec<Right>> {
    let same = |a: &Right, b: &Right| a.endpoint == b.endpoint && a.query == b.query;
    for gone in revoke {
        let row = held.iter_mut().find(|row| same(row, gone)).ok_or_else(|| {
            Failure::new(
                Exit::Refused,
                format!("the key has no row for {} with these parameters", gone.endpoint),
            )
            .hint("cms keys rights ID shows the rows")
        })?;
        row.methods.retain(|method| !gone.methods.contains(method));
        held.retain(|row| !same(row, gone) || (!row.methods.is_empty() && row.endpoint != "*"));
    }
    for new in grant {
        match held.iter_mut().find(|row| same(row, &new)) {
            Some(row) => {
                let missing: Vec<_> = new
                    .methods
                    .into_iter()
                    .filter(|method| !row.methods.contains(method))
                    .collect();
                row.methods.extend(missing);
            }
            None => held.push(new),
        }
    }
    Ok(held)
}

/// The one time that the value is seen.
pub(super) fn show_value(out: &Output, body: &str, file: Option<SecretFile>) -> Done {
    let one: One = serde_json::from_str(body).map_err(unexpected)?;
    let value = one.data.text("key");
    if let Some(mut file) = file {
        file.write(&[&value])?;
        if out.json {
            return Ok(out.line(&without_value(body)?)?);
        }
        out.note(&format!(
            "The key {} is in {}; it is shown nowhere else.",
            one.data.text("id"),
            file.path().display()
        ));
        return Ok(());
    }
    if out.json {
        return Ok(out.line(body)?);
    }
    out.note(&format!(
        "The key {} ({}), shown this once: keep it now.",
        one.data.text("id"),
        one.data.text("name")
    ));
    out.line(&value)?;
    if out.table && !out.quiet {
        out.note("");
        table::records(
            out,
            &["id", "name", "prefix", "active", "expires_on", "rights"],
            &[one.data],
            Record::shown,
        )?;
    }
    Ok(())
}

fn without_value(body: &str) -> Done<String> {
    let mut body: serde_json::Value = serde_json::from_str(body).map_err(unexpected)?;
    if let Some(record) = body["data"].as_object_mut() {
        record.remove("key");
    }
    Ok(body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(texts: &[&str]) -> Vec<Right> {
        texts.iter().map(|text| Right::parse(text).expect(text)).collect()
    }

    #[test]
    fn rows_are_merged_and_taken_apart() {
        let held = || rights(&["GET,POST /api/backend/item?table=blog", "GET /api/pages"]);
        let table: [(&[&str], &[&str], &[&str]); 5] = [
            (
                &["PATCH,GET /api/backend/item?table=blog"],
                &[],
                &["GET,POST,PATCH /api/backend/item?table=blog", "GET /api/pages"],
            ),
            (
                &["GET /api/backend/item"],
                &[],
                &[
                    "GET,POST /api/backend/item?table=blog",
                    "GET /api/pages",
                    "GET /api/backend/item",
                ],
            ),
            (
                &[],
                &["POST /api/backend/item?table=blog"],
                &["GET /api/backend/item?table=blog", "GET /api/pages"],
            ),
            (&[], &["GET /api/pages"], &["GET,POST /api/backend/item?table=blog"]),
            (&["*"], &["GET /api/pages"], &["GET,POST /api/backend/item?table=blog", "*"]),
        ];
        for (grant, revoke, expected) in table {
            assert_eq!(
                changed(held(), rights(grant), &rights(revoke)).expect("rights"),
                rights(expected),
                "{grant:?} {revoke:?}"
            );
        }
        assert_eq!(changed(rights(&["*"]), Vec::new(), &rights(&["*"])).expect("rights"), []);
        assert!(changed(held(), Vec::new(), &rights(&["GET /api/menu"])).is_err());
    }

    #[test]
    fn times() {
        for (text, expected) in
            [("0", Ok(0)), ("30s", Ok(30)), ("10m", Ok(600)), ("2h", Ok(7200)), ("7d", Ok(604_800))]
        {
            assert_eq!(seconds(text), expected, "{text}");
        }
        for text in ["", "m", "1w", "-1s", "1.5h", "99999999999999999d"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
