//! Extracts the program from a release's archive, a ZIP. Only the file named `cms` is read, and
//! nothing is written under its own name. An archive with anything suspicious in it is refused as
//! a whole.

use std::io::{self, Read, Seek, Write};

use sha2::{Digest, Sha256};
use zip::{ZipArchive, read::ZipFile, result::ZipError};

use super::{UpdateError, UpdateFault};

/// The file in the archive that is the program.
const PROGRAM: &str = "cms";
/// Maximum number of files in an archive.
const MAX_FILES: usize = 256;
/// Maximum size of all files together, unpacked, in bytes.
const MAX_UNPACKED_BYTES: u64 = 1 << 30;
/// Maximum ratio of unpacked to packed bytes; a program has three or four.
const MAX_RATIO: u64 = 32;
/// Unpacked bytes allowed beyond the ratio, because small archives may compress better.
const FREE_BYTES: u64 = 1 << 20;
/// The bits of a Unix mode that hold the kind of a file.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

/// Writes the program of an archive of `size` bytes to `to`. Calls `on_bytes` with the number of
/// bytes written so far. Check the archive's digest first.
///
/// # Errors
/// The archive cannot be read, has no program, or contains what a release never contains: absolute
/// names and `..`, links, duplicate names, more bytes than announced. Or `to` cannot be written.
pub fn unpack(
    archive: impl Read + Seek,
    size: u64,
    to: &mut impl Write,
    mut on_bytes: impl FnMut(u64),
) -> Result<u64, UpdateError> {
    let mut archive = ZipArchive::new(archive).map_err(unreadable)?;
    if archive.has_duplicate_names() {
        return Err(refused("it holds a name twice"));
    }
    if archive.len() > MAX_FILES {
        return Err(refused(&format!("it holds more than {MAX_FILES} files")));
    }
    let most = size.saturating_mul(MAX_RATIO).saturating_add(FREE_BYTES).min(MAX_UNPACKED_BYTES);
    let (mut total, mut program) = (0_u64, None);
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index).map_err(unreadable)?;
        if checked(&file)? == PROGRAM {
            program = Some(index);
        }
        total = total.saturating_add(file.size());
    }
    if total > most {
        return Err(refused(&format!("it would unpack to {total} bytes, more than {most}")));
    }
    let Some(program) = program else {
        return Err(refused(&format!("it holds no file named {PROGRAM}")));
    };
    let mut file = archive.by_index(program).map_err(unreadable)?;
    let announced = file.size();
    let (mut written, mut part) = (0, vec![0; 64 << 10]);
    loop {
        // A damaged file fails here, a wrong checksum at its end.
        let read = match file.read(&mut part) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(error.into())),
        };
        written += read as u64;
        if written > announced {
            return Err(refused(&format!(
                "{PROGRAM} is longer than the {announced} bytes it says"
            )));
        }
        to.write_all(&part[..read])
            .map_err(|e| UpdateError::new(UpdateFault::Local, format!("cannot unpack: {e}")))?;
        on_bytes(written);
    }
    if written != announced {
        return Err(refused(&format!("{PROGRAM} has {written} of {announced} bytes")));
    }
    Ok(written)
}

/// The SHA-256 of all bytes of a file, in hexadecimal.
///
/// # Errors
/// The file cannot be read.
pub fn digest(mut file: impl Read) -> io::Result<String> {
    let (mut digest, mut part) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut part) {
            Ok(0) => return Ok(data_encoding::HEXLOWER.encode(&digest.finalize())),
            Ok(read) => digest.update(&part[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The name of a file, if a release may contain it.
fn checked<R: Read>(file: &ZipFile<'_, R>) -> Result<String, UpdateError> {
    let name = file.name().map_err(unreadable)?.into_owned();
    let shown = crate::plain::shown(&name).into_owned();
    let escapes = name.starts_with('/')
        || name.contains(['\\', ':', '\0'])
        || name.split('/').any(|part| part == "..")
        || file.enclosed_name().is_none();
    if escapes {
        return Err(refused(&format!("the name {shown:?} leads out of it")));
    }
    let kind = file.unix_mode().unwrap_or(0) & KIND;
    let is_plain = kind == 0 || kind == REGULAR || (kind == FOLDER && file.is_dir());
    if file.is_symlink() || !is_plain {
        return Err(refused(&format!("{shown:?} is a link or a device, not a file")));
    }
    if file.encrypted() {
        return Err(refused(&format!("{shown:?} is encrypted")));
    }
    Ok(name)
}

fn refused(why: &str) -> UpdateError {
    UpdateError::invalid(format!("the archive is refused: {why}"))
}

fn unreadable(error: ZipError) -> UpdateError {
    refused(&format!("it is damaged ({error})"))
}
