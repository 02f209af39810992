//! Whether films, sound, archives and documents are complete, judged by the lengths and marks
//! in them.

use std::io::{BufRead as _, BufReader, Read, Result, Seek, SeekFrom};

use super::{Fault, Judged, bytes, skip};

/// The number of last bytes that contain the end of a PDF (PDF 1.7, implementation note 18).
const PDF_END: u64 = 1024;
/// The end of a ZIP archive without its comment, which has at most 64 KiB (APPNOTE, 4.3.16).
const ZIP_END: usize = 22;
const ZIP_TAIL: u64 = ZIP_END as u64 + 65_535;

/// Checks a file that is not a picture. Types without lengths are not checked.
pub(super) fn whole<F: Read + Seek>(
    media_type: &str,
    file: &mut BufReader<F>,
    length: u64,
) -> Judged<()> {
    let is_whole = match media_type {
        "video/mp4" | "video/quicktime" | "image/heic" => boxes(file, length)?,
        "video/webm" => segment(file, length)?,
        "audio/wav" => riff(file, length)?,
        "audio/ogg" => pages(file, length)?,
        "application/pdf" => tail(file, length, PDF_END)?.windows(5).any(|five| five == b"%%EOF"),
        "application/zip" => archive(file, length)?,
        other if other.starts_with("application/vnd.") => archive(file, length)?,
        _ => true,
    };
    Ok(if is_whole { Ok(()) } else { Err(Fault::Broken) })
}

/// Whether boxes fill the file (ISO 14496-12, 4.2).
pub(super) fn boxes<F: Read + Seek>(file: &mut BufReader<F>, length: u64) -> Result<bool> {
    let mut at = 0;
    while at < length {
        let (count, read) = match u32::from_be_bytes(bytes(file)?) {
            0 => (length - at, 4),
            1 => {
                bytes::<4>(file)?;
                (u64::from_be_bytes(bytes(file)?), 16)
            }
            count => (count.into(), 4),
        };
        at = match at.checked_add(count) {
            Some(next) if count >= read.max(8) && next <= length => next,
            _ => return Ok(false),
        };
        // Skips within the buffer: a film may have a million small boxes.
        skip(file, count - read)?;
    }
    Ok(true)
}

/// Whether the file contains its whole segment (RFC 8794, RFC 9559). A live recording may state
/// no length.
fn segment<F: Read + Seek>(file: &mut BufReader<F>, length: u64) -> Result<bool> {
    bytes::<4>(file)?;
    let Some(head) = number(file)? else { return Ok(false) };
    skip(file, head)?;
    if bytes(file)? != [0x18, 0x53, 0x80, 0x67] {
        return Ok(false);
    }
    let count = number(file)?;
    let end = count.map(|count| count.saturating_add(file.stream_position().unwrap_or_default()));
    Ok(end.is_none_or(|end| end <= length))
}

/// An EBML number; `None`: unknown.
fn number(file: &mut impl Read) -> Result<Option<u64>> {
    let [first] = bytes(file)?;
    let more = first.leading_zeros();
    if more > 7 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let mut value = u64::from(first) & (0x7f >> more);
    for _ in 0..more {
        let [next] = bytes(file)?;
        value = value << 8 | u64::from(next);
    }
    let unknown = (1u64 << (7 * (more + 1))) - 1;
    Ok((value != unknown).then_some(value))
}

/// Whether the file has the length that it states. A live recording states none.
fn riff<F: Read + Seek>(file: &mut BufReader<F>, length: u64) -> Result<bool> {
    bytes::<4>(file)?;
    let said = u32::from_le_bytes(bytes(file)?);
    Ok(matches!(said, 0 | u32::MAX) || u64::from(said) + 8 <= length)
}

/// Whether pages fill the file (RFC 3533, 6).
fn pages<F: Read + Seek>(file: &mut BufReader<F>, length: u64) -> Result<bool> {
    while !file.fill_buf()?.is_empty() {
        let head: [u8; 27] = bytes(file)?;
        let mut table = vec![0; usize::from(head[26])];
        file.read_exact(&mut table)?;
        skip(file, table.iter().copied().map(u64::from).sum())?;
        if !head.starts_with(b"OggS") || file.stream_position()? > length {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the file ends with the end of an archive.
fn archive<F: Read + Seek>(file: &mut BufReader<F>, length: u64) -> Result<bool> {
    let tail = tail(file, length, ZIP_TAIL)?;
    let is_end = |at: usize| {
        let rest = &tail[at..];
        let comment = rest.len().checked_sub(ZIP_END);
        let said = rest.get(20..22).map(|two| usize::from(u16::from_le_bytes([two[0], two[1]])));
        rest.starts_with(b"PK\x05\x06") && comment.is_some() && said == comment
    };
    Ok((0..tail.len()).any(is_end))
}

/// The last bytes.
fn tail<F: Read + Seek>(file: &mut BufReader<F>, length: u64, most: u64) -> Result<Vec<u8>> {
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut tail = Vec::new();
    file.take(most).read_to_end(&mut tail)?;
    Ok(tail)
}
