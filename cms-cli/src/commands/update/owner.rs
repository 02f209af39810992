//! Package managers that own the file of this program: they would undo the update, or refuse
//! theirs.

use std::{path::Path, process::Stdio, time::Duration};

use tokio::process::Command;

use crate::output::{Done, Exit, Failure};

/// Programs that end with 0 when a package owns the file that follows.
const ASK: [(&str, &[&str]); 4] = [
    ("dpkg-query", &["--search", "--"]),
    ("rpm", &["-qf", "--"]),
    ("pacman", &["-Qo", "--"]),
    ("apk", &["info", "--who-owns"]),
];
/// Where package managers put everything.
const THEIRS: [&str; 4] = ["/nix/store/", "/gnu/store/", "/snap/", "/Cellar/"];
/// How long one of them may think.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Fails when a package manager owns the file.
pub(super) async fn refuse(path: &Path) -> Done {
    let shown = path.display().to_string();
    let owned = |by: &str| {
        let what = format!("{shown} belongs to a package manager ({by}), which updates it");
        Err(Failure::new(Exit::Refused, what).hint("update the package"))
    };
    if let Some(place) = THEIRS.iter().find(|place| shown.contains(*place)) {
        return owned(place.trim_matches('/'));
    }
    // Packages from before /bin became a link name their files without /usr.
    let names = [Some(path), path.strip_prefix("/usr").ok()];
    let names: Vec<_> = names.into_iter().flatten().map(|name| Path::new("/").join(name)).collect();
    for (program, args) in ASK {
        for name in &names {
            let mut ask = Command::new(program);
            ask.args(args).arg(name).kill_on_drop(true);
            ask.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            match tokio::time::timeout(PROBE_TIMEOUT, ask.status()).await {
                Ok(Ok(status)) if status.success() => return owned(program),
                // It is not installed, or knows no such file.
                Ok(_) => {}
                Err(_) => {
                    let what = format!("{program} does not say whether it owns {shown}");
                    return Err(Failure::new(Exit::Failed, what).hint("try again later"));
                }
            }
        }
    }
    Ok(())
}
