//! The form of a file: its texts by language, name, folder and focal point.

use cms_http::wire::media::Update;

use super::FILE;
use crate::screens::prelude::*;

const TEXTS: [(&str, &str); 2] = [("alt", "Alt texts"), ("title", "Titles")];

pub(super) fn form(row: Json) -> Step {
    let mut fields = Vec::new();
    for (name, label) in TEXTS {
        let field = Field::lines(name, label, &as_lines(&row[name]));
        fields.push(field.hint("one language a line, such as en: A red bicycle"));
    }
    let text = |name: &str| row[name].as_str().unwrap_or_default();
    fields.push(Field::text("file_name", "Name", text("file_name")).required());
    fields.push(Field::text("folder", "Folder", text("folder")).hint("such as products/2026"));
    for (name, label, from) in
        [("focal_x", "In sight, across", "left"), ("focal_y", "In sight, down", "top")]
    {
        let at = row[name].as_f64().map(|at| at.to_string()).unwrap_or_default();
        let hint = format!("0 to 1 from the {from}; empty: the middle");
        fields.push(Field::number(name, label, &at).hint(hint));
    }
    let title = format!("Edit {}", acts::name(&row));
    Form::new(title, fields, move |values| submit(&row, values))
        .note("Only what you change is sent, and only if nobody else changed it.")
        .step()
}

fn submit(row: &Json, values: &Values) -> Step {
    let mut wanted = values.changed.clone();
    for (name, _) in TEXTS {
        if wanted.contains_key(name) {
            match as_texts(&values.text(name)) {
                Ok(texts) => wanted.insert(name.to_owned(), texts),
                Err(why) => return Step::Fault(Fault::at(name, why)),
            };
        }
    }
    if wanted.is_empty() {
        return Step::tell("Nothing was changed.");
    }
    // An emptied folder is none; null is no text.
    if let Some(folder) = wanted.get_mut("folder").filter(|folder| folder.is_null()) {
        *folder = "".into();
    }
    acts::change::<Update>(&FILE, row, Json::Object(wanted), "is saved")
}

/// Texts by language as lines: `en: A red bicycle`.
fn as_lines(texts: &Json) -> String {
    let line = |(language, text): (&String, &Json)| {
        format!("{language}: {}", text.as_str().unwrap_or_default())
    };
    texts.as_object().into_iter().flatten().map(line).collect::<Vec<_>>().join("\n")
}

/// Lines as texts by language. A line without a language goes on with the one above.
fn as_texts(lines: &str) -> Result<Json, String> {
    let mut texts: Map<String, Json> = Map::new();
    let mut last: Option<String> = None;
    for line in lines.lines() {
        let parts = line.split_once(':').map(|(language, text)| (language.trim(), text.trim()));
        match (parts.filter(|(language, _)| is_language(language)), &last) {
            (Some((language, text)), _) => {
                if texts.insert(language.to_owned(), text.into()).is_some() {
                    return Err(format!("{language} has two lines: leave one"));
                }
                last = Some(language.to_owned());
            }
            (None, Some(above)) => {
                let text = texts[above].as_str().unwrap_or_default();
                let text = format!("{text}\n{line}");
                texts.insert(above.clone(), text.into());
            }
            (None, None) if line.trim().is_empty() => {}
            (None, None) => return Err(format!("{line}: begin with a language, such as en:")),
        }
    }
    for text in texts.values_mut() {
        *text = text.as_str().unwrap_or_default().trim_end().into();
    }
    Ok(Json::Object(texts))
}

fn is_language(text: &str) -> bool {
    let is_part = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let first = text.split('-').next().unwrap_or_default();
    (2..=3).contains(&first.len()) && text.len() <= 35 && text.split('-').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_lines_and_back() {
        for texts in [
            json!({}),
            json!({"de": "Ein Fahrrad: rot", "en": "A red bicycle"}),
            json!({"de-AT": "", "en": "Two\nlines"}),
        ] {
            assert_eq!(as_texts(&as_lines(&texts)), Ok(texts));
        }
        assert_eq!(as_texts("\n en :A \n\n"), Ok(json!({"en": "A"})));
        assert_eq!(as_texts("en: see\nNote: here"), Ok(json!({"en": "see\nNote: here"})));
        for wrong in ["A red bicycle", "english language: A", "en: A\nen: B"] {
            assert!(as_texts(wrong).is_err(), "{wrong}");
        }
    }
}
