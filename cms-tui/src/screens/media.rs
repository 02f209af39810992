//! Media: uploaded files, their texts, where they are in use. Uploads are for the command line.

use cms_http::wire::media::{
    Check, Checking, Delete, Read, Removal, Update, Uses, WIDTHS, WhichMedia,
};

use super::{acts::Kind, prelude::*};
use crate::screens::inbox::at_home;

pub(crate) static SPEC: Spec = Spec {
    detail: Some(|row, _| uses(row)),
    preview,
    tokens: Some(|_| TOKENS.to_owned()),
    empty: "No file yet: n uploads one.",
    follows: |event, _| event.starts_with("media.") || event.starts_with("item.media."),
    ..Spec::new("media", |_| "Media".to_owned(), columns, list, act)
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

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "show" => Step::View(Viewer::json(format!("File {}", id(&row)), &row)),
        // A list cuts long texts, and the form sends texts back.
        "edit" => (FILE.again)(&row).then(|reply| form(reply.data)),
        "uses" => {
            let title = format!("{} is in use", name(&row));
            uses(&row)
                .then(move |reply| Step::View(Viewer::new(title, use_lines(Some(&reply.data)))))
        }
        "check" => check(),
        "upload" => upload(),
        "delete" => delete(row),
        _ => Step::None,
    }
}

/// The command line sends the file, part by part, beside the interface.
fn upload() -> Step {
    let fields = vec![
        Field::text("file", "File", "").hint("a path; ~ is your home").required(),
        Field::text("folder", "Folder", "").hint("such as products/2026; may stay empty"),
    ];
    Form::new("Upload a file", fields, |values| {
        let path = at_home(&values.text("file"));
        let mut words = ["media", "upload"].map(str::to_owned).to_vec();
        words.push(format!("--folder={}", values.text("folder").trim()));
        words.extend(["--".to_owned(), path.to_string_lossy().into_owned()]);
        Step::Run(words)
    })
    .note("It is sent part by part; Esc ends it. Content that is there is not stored again.")
    .step()
}

/// Compares files with their records.
fn check() -> Step {
    send::<Check>(&NoQuery {}, &Checking { remove: false })
        .then(|reply| Step::View(Viewer::new("Files and records", found(&reply.data))))
}

fn found(data: &Json) -> Lines {
    let count = |name: &str| data[name].as_i64().unwrap_or_default();
    let mut lines = vec![(
        Role::Plain,
        format!(
            "{} files with their record, {} bytes",
            number(count("files")),
            number(count("bytes"))
        ),
    )];
    if count("orphans") > 0 {
        let orphans = number(count("orphans"));
        let say = format!("{orphans} without a record: they go within a day");
        lines.push((Role::Warn, say));
    }
    match count("lost") {
        0 => lines.push((Role::Good, "No file is missing.".to_owned())),
        lost => {
            let say = format!("{} records have lost their file; upload these again:", number(lost));
            lines.push((Role::Bad, say));
            let missing = items(&data["missing"]).iter();
            let path = |path: &Json| (Role::Plain, plain_text(path));
            lines.extend(missing.map(path));
        }
    }
    lines
}

/// Looks where the file is in use before it asks.
fn delete(row: Json) -> Step {
    uses(&row).then(move |reply| Step::Confirm(question(row, &reply.data)))
}

fn question(row: Json, uses: &Json) -> Confirm {
    let named = name(&row);
    let places: Vec<_> = items(&uses["uses"]).iter().map(place).collect();
    let hidden = uses["hidden"].as_u64().unwrap_or_default();
    let is_used = !places.is_empty() || hidden > 0;
    let mut text = format!("Delete {named} for good?");
    if is_used {
        let mut shown: Vec<_> = places.iter().take(3).cloned().collect();
        let more = places.len() - shown.len() + usize::try_from(hidden).unwrap_or_default();
        if more > 0 {
            shown.push(format!("{more} more"));
        }
        text = format!("{named} is in use: {}. Delete it all the same?", shown.join(", "));
    }
    Confirm::new(text, move || removed(&row, is_used).step()).typing(named)
}

/// Goes only if it is as the list shows it.
fn removed(row: &Json, force: bool) -> Act {
    let removal = Removal { id: id(row), force: force.then_some(true) };
    let delete = move || get::<Delete>(&removal);
    let row = Checked::deleted(name(row), FILE.again(row), FILE.judged(row), delete);
    Act::one(row, "is deleted", "delete it all the same")
}

const TEXTS: [(&str, &str); 2] = [("alt", "Alt texts"), ("title", "Titles")];

fn form(row: Json) -> Step {
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
    use crate::step::To;

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

    #[test]
    fn texts_are_edited_whole() {
        let row = json!({"id": 7, "file_name": "a.png", "alt": {"en": "A… (0 KB)"}});
        let step = act("edit", &Scene { row: Some(&row), ..Scene::default() });
        let Step::Call(Calling { ask, to: To::Next(next), .. }) = step else {
            panic!("the file is not read")
        };
        assert!(ask.line().starts_with("GET /api/backend/media?id=7"), "{}", ask.line());
        let mut data = row.clone();
        data["alt"]["en"] = "A bicycle".into();
        let Step::Form(form) = next(Ok(Reply { data, ..Reply::default() })) else {
            panic!("no form")
        };
        assert_eq!(form.fields[0].value(), Ok("en: A bicycle".into()));
    }

    #[test]
    fn who_deletes_a_file_in_use_reads_where() {
        let row = json!({"id": 7, "file_name": "a.png"});
        let asked = |uses: Json| question(row.clone(), &uses).text;
        assert_eq!(asked(json!({"uses": [], "hidden": 0})), "Delete a.png for good?");
        let one = json!({"what": "record", "table": "goods", "id": "1", "part": "picture"});
        let uses = json!({"uses": [one, one, one, one], "hidden": 2});
        let told = asked(uses);
        assert!(told.contains("a.png is in use: goods 1 (picture), "), "{told}");
        assert!(told.contains(", 3 more. Delete it all the same?"), "{told}");
    }

    #[test]
    fn lost_files_are_named() {
        let lines = found(&json!({"files": 2, "bytes": 2000, "orphans": 1, "lost": 1,
            "missing": ["/media/aa/b.png"]}));
        assert!(lines.iter().any(|(role, line)| *role == Role::Bad && line.contains("1 records")));
        assert_eq!(lines.last().map(|(_, line)| line.as_str()), Some("/media/aa/b.png"));
    }

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
