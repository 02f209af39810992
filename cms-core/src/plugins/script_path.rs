//! The path of a script: its rule, and the file that it leads to.

use std::path::{Path, PathBuf};

/// Maximum length of a path in bytes.
const LONGEST: usize = 200;

/// Whether a text is a path below a plugin's folder `script/`:
/// `^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*\.php$`.
#[must_use]
pub(crate) fn is_script_path(path: &str) -> bool {
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    path.len() <= LONGEST
        && path.strip_suffix(".php").is_some_and(|stem| stem.split('/').all(is_word))
}

/// The file of a script. `None` unless it really lies in the plugin's folder `script/`, whatever
/// links lead there.
pub(crate) fn find_script(plugins: &Path, plugin: &str, path: &str) -> Option<PathBuf> {
    is_script_path(path).then(|| find_within(plugins, &Path::new(plugin).join("script"), path))?
}

/// A file within a folder of the plugins. `None` unless it really lies there, whatever links lead
/// to it.
pub(super) fn find_within(plugins: &Path, folder: &Path, path: &str) -> Option<PathBuf> {
    let folder = std::fs::canonicalize(plugins).ok()?.join(folder);
    let file = std::fs::canonicalize(folder.join(path)).ok()?;
    (file.starts_with(&folder) && file.is_file()).then_some(file)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// Paths that break the rule. Most of them would lead outside of the folder, or to a file
    /// inside by another spelling.
    const ATTACKS: [&str; 72] = [
        "", ".", "..", "/", "/a.php", "//a.php", "a.php/", "./a.php", "../a.php",
        "../script/a.php", "../../secret.php", "../plugin.php", "x/../a.php", "x/../../plugin.php",
        "x/./a.php", "x//a.php", "x/.../a.php", "..a.php", "a..php", "a.b.php", ".php", "x/.php",
        ".a.php", "a.php.", "a.php ", " a.php", "a .php", "a.php\n", "a.php\r", "\na.php",
        "a\n.php", "a.php\0", "a.php\0.php", "a\0.php", "\0", "a.PHP", "a.Php", "a.pHp", "a.php5",
        "a.phtml", "a.php.txt", "a.txt", "a", "a.php?x=1", "a.php#x", "a.php;id", "a.php|id",
        "$(id).php", "`id`.php", "~/a.php", "~.php", "*.php", "?.php", "[a].php", "%2e%2e/a.php",
        "..%2fa.php", "a%00.php", "..\\a.php", "x\\a.php", "C:\\a.php", "C:/a.php",
        "file:///a.php", "php://stdin.php", "/etc/passwd", "/proc/self/environ", "\u{ff41}.php",
        "\u{430}.php", "a\u{301}.php", "a\u{200b}.php", "\u{202e}php.a", "a\u{2215}b.php",
        "a\u{ff0f}b.php",
    ];

    #[test]
    fn the_rule_is_that_of_the_contract() {
        for path in ["a.php", "A-b_9.php", "x/a.php", "x/y-z/_/-.php", "php.php", "0.php"] {
            assert!(is_script_path(path), "{path}");
        }
        for path in ATTACKS {
            assert!(!is_script_path(path), "{path:?}");
        }
        assert!(is_script_path(&format!("{}.php", "a".repeat(LONGEST - 4))));
        assert!(!is_script_path(&format!("{}.php", "a".repeat(LONGEST - 3))));
    }

    #[test]
    fn only_files_that_really_lie_inside_are_found() {
        let root = tempfile::tempdir().expect("a folder");
        let plugins = root.path().join("plugins");
        let scripts = plugins.join("shop/script");
        fs::create_dir_all(scripts.join("x/folder.php")).expect("folders");
        let write = |path: &Path| fs::write(path, "").expect("written");
        write(&root.path().join("secret.php"));
        write(&plugins.join("shop/plugin.php"));
        write(&scripts.join("a.php"));
        write(&scripts.join("x/a.php"));
        let link = |target: &str, name: &str| {
            symlink(target, scripts.join(name)).expect("linked");
        };
        link("../../../secret.php", "out.php");
        link("../plugin.php", "up.php");
        link("..", "y");
        link("x", "z");
        link("x/a.php", "in.php");
        link("/dev/null", "device.php");
        link("nowhere.php", "broken.php");
        link("circle.php", "circle.php");
        let found = |path: &str| {
            let file = find_script(&plugins, "shop", path)?;
            Some(file.strip_prefix(fs::canonicalize(&scripts).ok()?).ok()?.to_owned())
        };
        for (path, file) in [
            ("a.php", "a.php"),
            ("x/a.php", "x/a.php"),
            ("z/a.php", "x/a.php"),
            ("in.php", "x/a.php"),
        ] {
            assert_eq!(found(path).as_deref(), Some(Path::new(file)), "{path}");
        }
        let escapes = [
            "out.php", "up.php", "y/plugin.php", "device.php", "broken.php", "circle.php",
            "x/folder.php", "b.php", "a.php/a.php",
        ];
        for path in escapes.into_iter().chain(ATTACKS) {
            assert_eq!(find_script(&plugins, "shop", path), None, "{path:?}");
        }
        assert_eq!(find_script(&plugins, "none", "a.php"), None);
        symlink(plugins.join("shop"), plugins.join("linked")).expect("linked");
        assert_eq!(find_script(&plugins, "linked", "a.php"), None);
    }
}
