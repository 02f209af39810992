//! Files that SQLite locks, opened beside it and never closed.
//!
//! SQLite locks the database and the index of its log (`-shm`). A lock belongs to the whole
//! process and ends when the process closes any descriptor of the file
//! (sqlite.org/howtocorrupt.html, 2.2). Then another process that opens and closes the database
//! removes the log, and what this process commits afterwards is lost. So these files are noted
//! when SQLite opens them. Code that reads files in the site's folders must use [`reader`],
//! which keeps noted files open.

use std::{
    collections::HashMap,
    fs::{self, File, Metadata},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

/// Identifies a file, however its path is spelled: device and inode.
pub(crate) type Id = (u64, u64);

/// The noted files, with a descriptor for those that were opened beside SQLite.
static NOTED: LazyLock<Mutex<HashMap<Id, Option<Arc<File>>>>> = LazyLock::new(Mutex::default);

fn noted() -> MutexGuard<'static, HashMap<Id, Option<Arc<File>>>> {
    NOTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The id of a file.
pub(crate) fn id(about: &Metadata) -> Id {
    (about.dev(), about.ino())
}

/// Makes the file of a database unless it exists. Callers run one at a time, so that no other has
/// the file open through SQLite while its maker closes it.
#[cfg(feature = "sqlite")]
pub(super) fn create(database: &Path) -> io::Result<()> {
    let _others = noted();
    crate::ground::private::create_file(database)
}

/// Notes the files of a database that SQLite has read or written.
#[cfg(feature = "sqlite")]
pub(super) fn note(database: &Path) -> io::Result<()> {
    for end in ["", "-shm"] {
        match fs::metadata(companion_file(database, end)?) {
            Ok(about) => {
                noted().entry(id(&about)).or_default();
            }
            // Without a log there is no index.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Which file a process has opened, to notice when its place holds another one, or none.
#[cfg(feature = "sqlite")]
pub(super) struct OpenedFile {
    path: PathBuf,
    id: Id,
}

#[cfg(feature = "sqlite")]
impl OpenedFile {
    /// The file at this path. A program may change its working directory later.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let id = id(&fs::metadata(&path)?);
        Ok(Self { path, id })
    }

    /// Whether the file is still there. Rights to its folder that were taken away since do not
    /// count.
    pub(super) fn is_in_place(&self) -> bool {
        use io::ErrorKind::{NotADirectory, NotFound};
        match fs::metadata(&self.path) {
            Ok(about) => id(&about) == self.id,
            Err(error) => !matches!(error.kind(), NotFound | NotADirectory),
        }
    }
}

/// The path of a file that SQLite keeps beside the database: beside the file itself, not beside a
/// link to it.
///
/// # Errors
/// When there is no database.
pub(crate) fn companion_file(database: &Path, end: &str) -> io::Result<PathBuf> {
    let mut path = fs::canonicalize(database)?.into_os_string();
    path.push(end);
    Ok(path.into())
}

/// Opens a file. A noted file stays open until the process ends, with one descriptor for all.
pub(super) fn open(path: &Path) -> io::Result<Arc<File>> {
    match noted().get_mut(&id(&fs::metadata(path)?)) {
        None => File::open(path).map(Arc::new),
        Some(Some(file)) => Ok(file.clone()),
        Some(kept) => Ok(kept.insert(Arc::new(File::open(path)?)).clone()),
    }
}

/// Reads a file from its start, noted or not.
///
/// # Errors
/// When it cannot be opened.
pub(crate) fn reader(path: &Path) -> io::Result<impl io::Read + use<>> {
    Ok(Reader { file: open(path)?, at: 0 })
}

/// Reads at a position of its own, because others may read by the same descriptor.
struct Reader {
    file: Arc<File>,
    at: u64,
}

impl io::Read for Reader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(all(test, feature = "sqlite", target_os = "linux"))]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::{
        db::Db,
        settings::{Database, Synchronous},
    };

    /// How many locks are held on the files of a database, as the kernel reports.
    fn locks(database: &Path) -> usize {
        let inode =
            |end| fs::metadata(companion_file(database, end).expect("a path")).map(|of| of.ino());
        let inodes = ["", "-shm"].map(|end| inode(end).expect("a file").to_string());
        let told = fs::read_to_string("/proc/locks").expect("the locks");
        let of_line = |line: &str| Some(line.split_whitespace().nth(5)?.rsplit(':').next()?.into());
        let held: Vec<String> = told.lines().filter_map(of_line).collect();
        held.iter().filter(|inode| inodes.contains(inode)).count()
    }

    #[expect(clippy::print_stdout, reason = "a test says what it could not show")]
    #[tokio::test]
    async fn who_reads_the_files_of_a_database_leaves_its_locks() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cms.db");
        let database = Database::Sqlite { path: path.clone(), synchronous: Synchronous::Full };
        let db = Db::open(&database).await.expect("opened");
        let held = locks(&path);
        if held == 0 {
            println!("NOT SHOWN: on this file system the kernel tells locks by other numbers");
            return;
        }
        assert!(held >= 2, "the file and the index of its log: {held}");
        let link = folder.path().join("link.db");
        fs::hard_link(&path, &link).expect("another name");
        for file in [path.clone(), link, companion_file(&path, "-shm").expect("a path")] {
            for _ in 0..2 {
                let mut bytes = Vec::new();
                reader(&file).expect("opened").read_to_end(&mut bytes).expect("read");
                assert_eq!(bytes.len() as u64, fs::metadata(&file).expect("a file").len());
            }
            assert_eq!(locks(&path), held, "{}", file.display());
        }
        // What this guards against.
        drop(File::open(&path).expect("opened"));
        assert!(locks(&path) < held);
        db.close().await;
    }
}
