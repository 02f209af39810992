//! The file of this program, replaced by rename, unless a package manager owns it. During an
//! update `NAME.next` stands beside it, and after one `NAME.previous`. `NAME.update.json` is the
//! journal: a start that finds one finishes or undoes that update.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use cms_core::update::{digest, unpack};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use crate::output::{Done, Exit, Failure};

/// The file of this program.
pub(super) struct Program {
    pub(super) path: PathBuf,
}

/// Held while this program is being updated.
#[must_use = "the next process begins when this is dropped"]
pub(super) struct Turn {
    _folder: File,
}

impl Program {
    /// The file that this process was started from.
    pub(super) fn running() -> Done<Self> {
        let path = std::env::current_exe()?;
        match path.is_file() {
            true => Ok(Self { path }),
            false => {
                let what = "the file of this program was replaced since it was started";
                Err(Failure::new(Exit::Refused, what).hint("start the command again"))
            }
        }
    }

    fn path_with(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(ending);
        name.into()
    }

    /// The path of the new version, before it is used.
    pub(super) fn next(&self) -> PathBuf {
        self.path_with(".next")
    }

    /// The path of the version before the last update.
    pub(super) fn previous(&self) -> PathBuf {
        self.path_with(".previous")
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.path_with(".update.json")
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Locks out other updates of this program. None: another one is under way.
    pub(super) fn try_turn(&self) -> Done<Option<Turn>> {
        let folder = File::open(self.folder()).map_err(|e| Failure::file(self.folder(), &e))?;
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            // Some network file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(Turn { _folder: folder })),
        }
    }

    /// As [`Program::try_turn`]; refused while another update is under way.
    pub(super) fn turn(&self) -> Done<Turn> {
        self.try_turn()?.ok_or_else(|| {
            let what = format!("another update of {} is under way", self.path.display());
            Failure::new(Exit::Refused, what).hint("wait until it has ended")
        })
    }

    /// Unpacks the program of an archive beside this one. Returns its digest.
    pub(super) fn stage(&self, archive: &Path, sha256: &str) -> Done<String> {
        let next = self.next();
        remove(&next).map_err(|e| Failure::file(&next, &e))?;
        let mut packed = File::open(archive).map_err(|e| Failure::file(archive, &e))?;
        // Checks and unpacks the same open file, even if the path gets another one meanwhile.
        let found = digest(&mut packed).map_err(|e| Failure::file(archive, &e))?;
        if found != sha256 {
            let what = format!("{} was changed after it was checked", archive.display());
            return Err(Failure::new(Exit::Failed, what).hint("cms update download"));
        }
        let size = packed.metadata().map_err(|e| Failure::file(archive, &e))?.len();
        packed.rewind().map_err(|e| Failure::file(archive, &e))?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(&next)
            .map_err(|e| not_writable(&next, &e))?;
        unpack(packed, size, &mut file, |_| reached("unpacking"))?;
        file.sync_all().map_err(|e| Failure::file(&next, &e))?;
        drop(file);
        self.sync()?;
        self.digest_of(&next)
    }

    pub(super) fn digest_of(&self, path: &Path) -> Done<String> {
        File::open(path).and_then(digest).map_err(|e| Failure::file(path, &e))
    }

    /// Keeps this version as the previous one and renames the next one into its place. The place
    /// is never empty.
    pub(super) fn switch(&self) -> Done {
        let (kept, previous, next) = (self.path_with(".keep"), self.previous(), self.next());
        remove(&kept)
            .and_then(|()| fs::hard_link(&self.path, &kept))
            // Some file systems have no links.
            .or_else(|_| fs::copy(&self.path, &kept).map(drop))
            .and_then(|()| File::open(&kept)?.sync_all())
            .and_then(|()| fs::rename(&kept, &previous))
            .map_err(|e| Failure::file(&previous, &e))?;
        reached("kept");
        fs::rename(&next, &self.path).map_err(|e| Failure::file(&self.path, &e))?;
        self.sync()
    }

    /// Puts the previous version back in its place.
    pub(super) fn switch_back(&self) -> Done {
        fs::rename(self.previous(), &self.path).map_err(|e| Failure::file(&self.path, &e))?;
        self.sync()
    }

    /// Removes the files of an update that was not made.
    pub(super) fn clear(&self) -> Done {
        for path in [self.next(), self.path_with(".keep")] {
            remove(&path).map_err(|e| Failure::file(&path, &e))?;
        }
        Ok(())
    }

    /// Makes renames survive a power cut.
    fn sync(&self) -> Done {
        let synced = File::open(self.folder()).and_then(|folder| folder.sync_all());
        synced.map_err(|e| Failure::file(self.folder(), &e))
    }
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn not_writable(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            let what = format!("{}: {error}, so this program cannot be replaced", path.display());
            Failure::new(Exit::Refused, what).hint("run it as the owner of the program's folder")
        }
        _ => Failure::file(path, error),
    }
}

/// The largest journal that is read.
const MAX_JOURNAL_BYTES: u64 = 64 << 10;

/// The step of an update under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// Only files beside the program were changed. The update is undone.
    Preparing,
    /// The new version may have changed the database. The update is finished, or undone
    /// with the backup.
    Migrating,
    /// The new version takes the program's place. The update is finished if the new version
    /// stands there, else undone.
    Switching,
}

/// An update under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) step: Step,
    pub(super) from: String,
    pub(super) to: String,
    /// The digest of the program that takes the place.
    pub(super) sha256: String,
    pub(super) backup: Option<PathBuf>,
    /// The site whose database may have changed.
    pub(super) site: PathBuf,
}

impl Journal {
    pub(super) fn read(program: &Program) -> Done<Option<Self>> {
        let path = program.journal();
        let mut text = Vec::new();
        match File::open(&path).and_then(|file| file.take(MAX_JOURNAL_BYTES).read_to_end(&mut text))
        {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::file(&path, &error)),
        }
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            let what = format!("{} is not a journal of an update: {error}", path.display());
            Failure::new(Exit::Failed, what).hint("cms version; if it is the right one, remove it")
        })
    }

    /// Writes the whole journal, or keeps the one before.
    pub(super) fn write(&self, program: &Program) -> Done {
        let path = program.journal();
        let beside = path.with_extension("json.new");
        let text = serde_json::to_vec(self).map_err(Failure::unexpected)?;
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&beside)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&beside, &path))
            .map_err(|e| {
                let _ = fs::remove_file(&beside);
                not_writable(&path, &e)
            })?;
        program.sync()
    }

    pub(super) fn remove(program: &Program) -> Done {
        let path = program.journal();
        remove(&path.with_extension("json.new"))
            .and_then(|()| remove(&path))
            .map_err(|e| not_writable(&path, &e))?;
        program.sync()
    }
}

/// For tests: ends this process, as `kill -9` would, at the step that the test names.
#[cfg(debug_assertions)]
pub(super) fn reached(step: &str) {
    use rustix::process::{Signal, getpid, kill_process};
    if std::env::var("CMS_TEST_UPDATE_KILL").is_ok_and(|named| named == step) {
        let _ = kill_process(getpid(), Signal::KILL);
        // The signal may take a moment to arrive.
        std::thread::sleep(std::time::Duration::from_secs(5));
    }
}

#[cfg(not(debug_assertions))]
pub(super) fn reached(_: &str) {}

/// Package managers: each command ends with 0 if a package owns the file that follows it.
const ASK: [(&str, &[&str]); 4] = [
    ("dpkg-query", &["--search", "--"]),
    ("rpm", &["-qf", "--"]),
    ("pacman", &["-Qo", "--"]),
    ("apk", &["info", "--who-owns"]),
];
/// Parts of paths that only package managers use.
const THEIRS: [&str; 4] = ["/nix/store/", "/gnu/store/", "/snap/", "/Cellar/"];
/// How long a package manager may take to answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Fails when a package manager owns the file: it would undo the update, or refuse its own later.
pub(super) async fn refuse_if_owned(path: &Path) -> Done {
    let shown = path.display().to_string();
    let owned = |by: &str| {
        let what = format!("{shown} belongs to a package manager ({by}), which updates it");
        Err(Failure::new(Exit::Refused, what).hint("update the package"))
    };
    if let Some(place) = THEIRS.iter().find(|place| shown.contains(*place)) {
        return owned(place.trim_matches('/'));
    }
    // Packages from before `/bin` became a link name their files without `/usr`.
    let names = [Some(path), path.strip_prefix("/usr").ok()];
    let names: Vec<_> = names.into_iter().flatten().map(|name| Path::new("/").join(name)).collect();
    for (program, args) in ASK {
        for name in &names {
            let mut ask = Command::new(program);
            ask.args(args).arg(name).kill_on_drop(true);
            ask.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            match tokio::time::timeout(PROBE_TIMEOUT, ask.status()).await {
                Ok(Ok(status)) if status.success() => return owned(program),
                // The package manager is not installed, or does not know the file.
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
