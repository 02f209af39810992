//! `cms funnels edit` in an editor: scripts that write the file as a person would.

use std::path::Path;

use serde_json::Value as Json;

use crate::{
    leaves::FUNNEL,
    support::{Run, at_terminal, cms, cms_with, site},
};

/// Edits the funnel at a terminal. The editor is `sh` with this script, which gets the file as `$1`
/// and the number of its run as `$2`; `answers` are typed.
fn edit(dir: &Path, script: &str, answers: &str) -> Run {
    let editor = dir.join("editor.sh");
    let runs = dir.join("runs");
    let _ = std::fs::remove_file(&runs);
    let counted =
        format!("echo >> {runs}\nset -- \"$1\" $(wc -l < {runs})\n", runs = runs.display());
    std::fs::write(&editor, format!("{counted}{script}\n")).expect("written");
    let editor = format!("sh {}", editor.display());
    at_terminal(dir, &["funnels", "edit", "good"], &[("EDITOR", &editor)], answers)
}

fn shown(dir: &Path) -> Json {
    cms(dir, "funnels show good --json").json()["data"].clone()
}

#[test]
fn a_funnel_is_edited_in_an_editor_and_checked_before_it_is_saved() {
    let dir = site();
    let dir = dir.path();
    cms_with(dir, "funnels import -", FUNNEL).ok();
    let rename = |name: &str| format!(r#"sed -i 's/"name": "Good"/"name": "{name}"/' "$1""#);
    // Left as it was.
    edit(dir, "true", "").shows("Nothing was changed");
    // An editor that fails saves nothing.
    let failed = edit(dir, "exit 3", "");
    assert_ne!(failed.code, 0, "{failed:?}");
    assert_eq!(shown(dir)["rev"], 1);
    // Changed.
    let told = edit(dir, &rename("Better"), "").ok();
    assert!(told.contains("is saved"), "{told}");
    let now = shown(dir);
    assert_eq!((&now["name"], &now["rev"]), (&"Better".into(), &2.into()));
    // Wrong at first: what is wrong is told, and the same file comes again.
    let script = r#"case $2 in
        1) sed -i 's/"type": "end"/"type": "nothing"/' "$1" ;;
        *) sed -i 's/"type": "nothing"/"type": "end"/; s/"Better"/"Best"/' "$1" ;;
    esac"#;
    edit(dir, script, "y\n").shows("step, condition or end").shows("is saved");
    assert_eq!(shown(dir)["name"], "Best");
    // Given up: what was written is kept in a file.
    let given_up = edit(dir, r#"echo "{" > "$1""#, "n\n").fails(3);
    let kept = given_up.out.lines().find_map(|line| line.split("what you wrote is in ").nth(1));
    let kept = std::path::PathBuf::from(kept.expect("a file").trim());
    assert_eq!(std::fs::read_to_string(&kept).expect("kept").trim(), "{");
    std::fs::remove_file(kept).expect("removed");
    assert_eq!(shown(dir)["rev"], 3);
}

/// Whoever saves meanwhile is not overwritten.
#[test]
fn what_was_saved_while_the_editor_was_open_stays() {
    let dir = site();
    let dir = dir.path();
    cms_with(dir, "funnels import -", FUNNEL).ok();
    let other = dir.join("other.json");
    std::fs::write(&other, r#"{"funnel": {"name": "Theirs"}}"#).expect("written");
    let script = format!(
        "sed -i 's/\"name\": \"Good\"/\"name\": \"Mine\"/' \"$1\"\n{} funnels edit good {}",
        env!("CARGO_BIN_EXE_cms"),
        other.display()
    );
    let refused = edit(dir, &script, "").fails(6);
    assert!(refused.out.contains("saved since"), "{refused:?}");
    let kept = refused.out.lines().find_map(|line| line.split("what you wrote is in ").nth(1));
    let kept = std::path::PathBuf::from(kept.expect("a file").trim());
    assert!(std::fs::read_to_string(&kept).expect("kept").contains("Mine"));
    std::fs::remove_file(kept).expect("removed");
    assert_eq!(shown(dir)["name"], "Theirs");
}
