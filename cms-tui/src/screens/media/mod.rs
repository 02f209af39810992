//! Media: uploaded files, their texts, where they are in use. Uploads are for the command line.

mod act;
mod edit;

use cms_http::wire::media::{Read, Uses, WIDTHS, WhichMedia};

use super::{acts::Kind, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    detail: Some(|row, _| uses(row)),
    preview,
    tokens: Some(|_| TOKENS.to_owned()),
    empty: "No file yet: n uploads one.",
    follows: |event, _| event.starts_with("media.") || event.starts_with("item.media."),
    ..Spec::new("media", |_| "Media".to_owned(), columns, list, act::act)
};

/// How files are changed.
static FILE: Kind = Kind::new(
    "file",
    |row| get::<Read>(&WhichMedia { id: Some(id(row)), ..WhichMedia::default() }),
    &[],
);

const TOKENS: &str = "type:image/ folder:products TEXT";

/// Pictures of these types are served smaller, in these widths.
const SMALLER: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let mut which = WhichMedia { list: asked.page(), ..WhichMedia::default() };
    for piece in &pieces(asked.filter) {
        match piece.word() {
            Word::Token("type", value) => which.r#type = Some(value.to_owned()),
            Word::Token("folder", value) => which.folder = Some(value.to_owned()),
            Word::Token(name, _) => return Err(unknown(name, TOKENS)),
            Word::Text(text) => {
                let before = which.list.search.map(|before| before + " ").unwrap_or_default();
                which.list.search = Some(before + text);
            }
        }
    }
    get::<Read>(&which)
}

/// The places that show a file.
fn uses(row: &Json) -> Result<Calling, Fault> {
    get::<Uses>(&by_id(row))
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NAME", "file_name", 0, plain),
        column("TYPE", "media_type", 15, plain),
        column("SIZE", "size", 8, size),
        column("PIXELS", "width", 11, pixels),
        column("ALT", "alt", 8, languages).from(60),
        column("FOLDER", "folder", 0, plain).from(60),
        column("CAME", "uploaded_at", 6, age),
    ]
}

/// Bytes in the unit that shows three digits.
fn size(row: &Json, name: &str, _: i64) -> Cell {
    let bytes = row[name].as_f64().unwrap_or_default();
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "KB")];
    let text = match units.iter().find(|(one, _)| bytes >= *one) {
        Some((one, unit)) if bytes < 100.0 * one => format!("{:.1} {unit}", bytes / one),
        Some((one, unit)) => format!("{:.0} {unit}", bytes / one),
        None => format!("{bytes} B"),
    };
    (format!("{text:>8}"), Role::Plain)
}

fn pixels(row: &Json, _: &str, _: i64) -> Cell {
    let [width, height] = ["width", "height"].map(|name| row[name].as_i64());
    match (width, height) {
        (Some(width), Some(height)) => (format!("{width} × {height}"), Role::Plain),
        _ => ("—".to_owned(), Role::Quiet),
    }
}

/// The languages in which there is a text. A picture without any is a gap.
fn languages(row: &Json, name: &str, _: i64) -> Cell {
    let known = row[name].as_object().into_iter().flatten().filter(|(_, text)| **text != "");
    let known: Vec<_> = known.map(|(language, _)| safe(language)).collect();
    let is_picture = row["media_type"].as_str().is_some_and(|of| of.starts_with("image/"));
    match known.is_empty() && is_picture {
        true => ("none".to_owned(), Role::Warn),
        false => (known.join(" "), Role::Plain),
    }
}

/// The place of a use, as its deletion tells it.
fn place(one: &Json) -> String {
    let holder = one["table"].as_str().unwrap_or("funnel");
    let [id, part] = ["id", "part"].map(|name| plain_text(&one[name]));
    format!("{} {id} ({part})", safe(holder))
}

fn preview(row: &Json, detail: Option<&Json>, _: &Json, now: i64) -> Lines {
    let names =
        [("Path", "path"), ("Type", "media_type"), ("Folder", "folder"), ("Came", "uploaded_at")];
    let mut lines = members(row, &names, now);
    let mut say = |label: &str, text: String| {
        lines.push((Role::Plain, format!("{label:<12} {text}")));
    };
    let bytes = number(row["size"].as_i64().unwrap_or_default());
    say("Size", format!("{bytes} bytes"));
    if let Some(width) = row["width"].as_i64() {
        say("Pixels", pixels(row, "width", now).0);
        let focus = |name: &str| {
            row[name].as_f64().map_or_else(|| "middle".to_owned(), |at| at.to_string())
        };
        say("In sight", format!("{} × {}", focus("focal_x"), focus("focal_y")));
        let is_made = SMALLER.iter().any(|of| row["media_type"] == *of);
        let widths = WIDTHS.iter().filter(|one| i64::from(**one) < width);
        let widths: Vec<_> = widths.map(|width| format!("?w={width}")).collect();
        if is_made && !widths.is_empty() {
            say("Smaller", widths.join(" "));
        }
    }
    for (title, name) in [("Alt", "alt"), ("Title", "title")] {
        for (language, text) in row[name].as_object().into_iter().flatten() {
            let mut label = Some(format!("{title} {}", safe(language)));
            for line in wrapped(&plain_text(text), 64) {
                let label = label.take().unwrap_or_default();
                lines.push((Role::Plain, format!("{label:<12} {line}")));
            }
        }
    }
    lines.push((Role::Title, "In use".to_owned()));
    lines.extend(use_lines(detail));
    lines
}

/// The places as lines.
fn use_lines(uses: Option<&Json>) -> Lines {
    let Some(uses) = uses else { return vec![loading()] };
    let places = items(&uses["uses"]).iter();
    let mut lines: Vec<_> = places.map(|one| (Role::Plain, place(one))).collect();
    match uses["hidden"].as_u64().unwrap_or_default() {
        0 if lines.is_empty() => lines.push((Role::Quiet, "Nowhere.".to_owned())),
        0 => {}
        hidden => lines.push((Role::Warn, format!("{hidden} that you may not read"))),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_asks_the_service_or_is_refused() {
        let line = |filter: &str| SPEC.asks(&Json::Null, filter);
        let asked = line("type:image/ red bicycle folder:a").expect("a call");
        for part in ["type=image", "folder=a", "search=red"] {
            assert!(asked.contains(part), "{asked}");
        }
        assert!(line("colour:red").is_err());
    }

    #[test]
    fn sizes_have_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 KB"),
            (482_113, "482 KB"),
            (52_428_800, "52.4 MB"),
            (3_000_000_000_i64, "3.0 GB"),
        ] {
            assert_eq!(size(&json!({"size": bytes}), "size", 0).0.trim(), text);
        }
    }

    #[test]
    fn a_picture_without_alt_text_is_seen() {
        let of =
            |kind: &str, alt: Json| languages(&json!({"media_type": kind, "alt": alt}), "alt", 0);
        assert_eq!(of("image/png", json!({"en": ""})), ("none".to_owned(), Role::Warn));
        assert_eq!(of("video/mp4", json!({})), (String::new(), Role::Plain));
        assert_eq!(of("image/png", json!({"de": "B", "en": "A"})).0, "de en");
    }
}
