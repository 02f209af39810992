//! README and docs/*.md: every block runs as printed and in order, compiles, or says above itself
//! why it cannot (`<!-- not run: REASON -->`).

mod blocks;
mod checks;
mod events;
mod fields;
mod lists;
mod members;
mod settings;
mod shell;

use std::path::{Path, PathBuf};

use self::{
    blocks::{Block, Kind, blocks},
    shell::{Shell, fits},
};
use crate::support::process;

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The table below `head` has these rows. `CMS_WRITE_DOCS=1` writes them.
fn is_table(page: &str, head: &str, rows: &str) {
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let begin = text.find(head).expect("the table") + head.len();
    let end = begin + text[begin..].find("\n\n").expect("an end") + 1;
    if std::env::var_os("CMS_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{}{rows}{}", &text[..begin], &text[end..])).unwrap();
    } else {
        assert_eq!(&text[begin..end], rows, "CMS_WRITE_DOCS=1 writes it");
    }
}

/// README.md and the files of docs/, with their blocks.
fn documents() -> Vec<(PathBuf, Vec<Block>)> {
    let mut paths = vec![root().join("README.md")];
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        paths.push(entry.unwrap().path());
    }
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let blocks = blocks(&text);
        (path, blocks)
    };
    paths.into_iter().map(read).collect()
}

/// The shell blocks of a document, in one shell and one folder.
#[test]
fn shell_blocks_run_as_printed() {
    for (path, blocks) in documents() {
        let mut shell = Shell::start();
        for block in blocks.iter().filter(|block| matches!(block.kind, Kind::Shell { .. })) {
            let Kind::Shell { runs_on } = block.kind else { continue };
            for (command, expected) in block.commands() {
                let at = format!("{}:{}: {command}", path.display(), block.line);
                let printed = if runs_on { shell.begin(&command) } else { shell.run(&command) };
                let printed = printed.unwrap_or_else(|why| panic!("{at}: {why}"));
                if let Some(expected) = expected {
                    assert!(fits(&expected, &printed), "{at}\nshown:\n{expected}\nis:\n{printed}");
                }
            }
        }
    }
}

/// Each block of Rust stands in an example, which the test suite compiles and tests. Its
/// dependencies are those of the examples.
#[test]
fn rust_blocks_stand_in_examples() {
    let files = |folder: &str| std::fs::read_dir(root().join(folder)).unwrap();
    let examples: Vec<String> = ["examples", "examples/shop"]
        .into_iter()
        .flat_map(files)
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
        .collect();
    let cargo = std::fs::read_to_string(root().join("examples/Cargo.toml")).unwrap();
    let mut rust = 0;
    for (path, blocks) in documents() {
        for block in &blocks {
            let at = format!("{}:{}", path.display(), block.line);
            match block.kind {
                Kind::Rust => {
                    rust += 1;
                    // Parts that are left out are marked so.
                    for part in block.text.split("// …\n").map(str::trim) {
                        assert!(examples.iter().any(|text| text.contains(part)), "{at}: {part}");
                    }
                }
                Kind::Cargo => {
                    for line in block.text.lines().filter(|line| line.contains(" = ")) {
                        let name = line.split(" = ").next().unwrap();
                        assert!(cargo.contains(&format!("\n{name}")), "{at}: {name}");
                        let folder = line.split("path = \"../cms/").nth(1);
                        let folder = folder.and_then(|rest| rest.split('"').next());
                        assert!(folder.is_none_or(|f| root().join(f).is_dir()), "{at}: {line}");
                    }
                }
                _ => {}
            }
        }
    }
    assert!(rust > 0);
}

#[test]
fn data_blocks_can_be_read() {
    for (path, blocks) in documents() {
        for block in &blocks {
            let at = format!("{}:{}", path.display(), block.line);
            match block.kind {
                Kind::Json => {
                    let values = serde_json::Deserializer::from_str(&block.text);
                    for value in values.into_iter::<serde_json::Value>() {
                        value.unwrap_or_else(|e| panic!("{at}: {e}"));
                    }
                }
                Kind::Settings => {
                    let folder = tempfile::tempdir().unwrap();
                    std::fs::write(folder.path().join("cms.toml"), &block.text).unwrap();
                    let mut command = process::program();
                    let output = command.arg("--dir").arg(folder.path());
                    let output = output.args(["config", "validate"]).output().unwrap();
                    assert!(output.status.success(), "{at}: {output:?}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_block_that_does_not_run_says_why() {
    for (path, blocks) in documents() {
        for block in &blocks {
            let at = format!("{}:{}", path.display(), block.line);
            assert!(block.kind != Kind::Unknown, "{at}: no language, and no reason why not");
        }
    }
}
