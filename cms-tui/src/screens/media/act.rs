//! What can be done with files.

use cms_http::wire::media::{Check, Checking, Delete, Removal};

use super::{FILE, edit, place, use_lines, uses};
use crate::screens::{inbox::at_home, prelude::*};

pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "show" => Step::View(Viewer::json(format!("File {}", id(&row)), &row)),
        // A list cuts long texts, and the form sends texts back.
        "edit" => (FILE.again)(&row).then(|reply| edit::form(reply.data)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::To;

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
}
