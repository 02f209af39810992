//! Whether a file is complete, and the size of a picture, judged by its structure. Nothing is
//! decoded, and memory does not grow with the file.

mod whole;

use std::io::{BufRead, BufReader, Read, Result, Seek, SeekFrom};

/// Pixels from left to right and from top to bottom, as the picture is shown.
pub(super) type Size = (u32, u32);

/// Why a file does not match the type that its first bytes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It ends too early, or its structure is broken.
    Broken,
    /// It goes on after its end.
    Longer,
}

type Judged<T> = Result<std::result::Result<T, Fault>>;

/// Bytes read at once.
const STEP: usize = 64 << 10;
/// The number of first bytes that contain the size of an AVIF picture.
const AVIF_HEAD: u64 = 64 << 10;

/// Checks a file of this type and length. `None`: the type has no size.
pub(super) fn size(
    media_type: &str,
    file: &mut (impl Read + Seek),
    length: u64,
) -> Judged<Option<Size>> {
    file.rewind()?;
    let file = &mut BufReader::with_capacity(STEP, file);
    let judged = match media_type {
        "image/png" => some(png(file, length)),
        "image/gif" => some(gif(file, length)),
        "image/webp" => some(webp(file, length)),
        "image/jpeg" => some(jpeg(file)),
        "image/avif" => some(avif(file, length)),
        _ => whole::whole(media_type, file, length).map(|judged| judged.map(|()| None)),
    };
    match judged {
        Ok(Ok(Some((0, _) | (_, 0)))) => Ok(Err(Fault::Broken)),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(Err(Fault::Broken)),
        judged => judged,
    }
}

fn some(judged: Judged<Size>) -> Judged<Option<Size>> {
    judged.map(|judged| judged.map(Some))
}

fn bytes<const N: usize>(file: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Skips `count` bytes, possibly beyond the end: the next read then reports the end.
fn skip<F: Read + Seek>(file: &mut BufReader<F>, count: u64) -> Result<()> {
    match i64::try_from(count) {
        Ok(count) => file.seek_relative(count),
        Err(_) => file.seek(SeekFrom::End(0)).map(drop),
    }
}

fn u16_le(bytes: [u8; 2]) -> u32 {
    u32::from(u16::from_le_bytes(bytes))
}

/// Chunks up to IEND (PNG, third edition, 5).
fn png<F: Read + Seek>(file: &mut BufReader<F>, length: u64) -> Judged<Size> {
    bytes::<8>(file)?;
    let mut size = None;
    loop {
        let (count, name) = (u64::from(u32::from_be_bytes(bytes(file)?)), bytes::<4>(file)?);
        match (&name, size) {
            (b"IHDR", None) if count == 13 => {
                let width = u32::from_be_bytes(bytes(file)?);
                size = Some((width, u32::from_be_bytes(bytes(file)?)));
                skip(file, 9)?;
            }
            (b"IEND", Some(size)) if count == 0 => {
                bytes::<4>(file)?;
                let is_end = file.stream_position()? == length;
                return Ok(if is_end { Ok(size) } else { Err(Fault::Longer) });
            }
            (_, Some(_)) => skip(file, count + 4)?,
            (_, None) => return Ok(Err(Fault::Broken)),
        }
    }
}

/// Blocks up to the trailer (GIF89a, 17 to 27).
fn gif<F: Read + Seek>(file: &mut BufReader<F>, length: u64) -> Judged<Size> {
    bytes::<6>(file)?;
    let size = (u16_le(bytes(file)?), u16_le(bytes(file)?));
    let [flags, _, _] = bytes(file)?;
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3u64 << ((flags & 7) + 1) };
    skip(file, table(flags))?;
    loop {
        match bytes(file)? {
            [0x21] => {
                bytes::<1>(file)?;
            }
            [0x2c] => {
                let place: [u8; 9] = bytes(file)?;
                skip(file, table(place[8]) + 1)?;
            }
            [0x3b] => {
                let is_end = file.stream_position()? == length;
                return Ok(if is_end { Ok(size) } else { Err(Fault::Longer) });
            }
            _ => return Ok(Err(Fault::Broken)),
        }
        loop {
            match bytes(file)? {
                [0] => break,
                [count] => skip(file, count.into())?,
            }
        }
    }
}

/// The first chunk of RIFF (RFC 9649, 2).
fn webp<F: Read + Seek>(file: &mut BufReader<F>, length: u64) -> Judged<Size> {
    bytes::<4>(file)?;
    let said = u64::from(u32::from_le_bytes(bytes(file)?)) + 8;
    if said != length {
        return Ok(Err(if said < length { Fault::Longer } else { Fault::Broken }));
    }
    bytes::<4>(file)?;
    let (name, _): ([u8; 4], [u8; 4]) = (bytes(file)?, bytes(file)?);
    let head: [u8; 10] = bytes(file)?;
    let short = |at: usize| u16_le([head[at], head[at + 1]]);
    let long = |at: usize| short(at) | u32::from(head[at + 2]) << 16;
    Ok(match &name {
        b"VP8X" => Ok((long(4) + 1, long(7) + 1)),
        b"VP8L" if head[0] == 0x2f => {
            let bits = short(1) | short(3) << 16;
            Ok(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " if head[3..6] == [0x9d, 0x01, 0x2a] => Ok((short(6) & 0x3fff, short(8) & 0x3fff)),
        _ => Err(Fault::Broken),
    })
}

/// Boxes that fill the file, and the largest `ispe` among them (HEIF, 6.5.3): tiles and previews
/// have smaller ones.
fn avif<F: Read + Seek>(file: &mut BufReader<F>, length: u64) -> Judged<Size> {
    if !whole::boxes(file, length)? {
        return Ok(Err(Fault::Broken));
    }
    file.rewind()?;
    let mut head = Vec::new();
    file.take(AVIF_HEAD).read_to_end(&mut head)?;
    let number = |at: usize| {
        let bytes = head.get(at..at + 4)?;
        bytes.try_into().ok().map(u32::from_be_bytes)
    };
    let places = head.windows(4).enumerate().filter(|(_, four)| *four == b"ispe");
    let sizes = places.filter_map(|(at, _)| Some((number(at + 8)?, number(at + 12)?)));
    let largest = sizes.max_by_key(|(width, height)| u64::from(*width) * u64::from(*height));
    Ok(largest.ok_or(Fault::Broken))
}

/// Skips up to and including the next byte of this value.
fn seek_byte(file: &mut impl BufRead, byte: u8) -> Result<()> {
    loop {
        let held = file.fill_buf()?;
        if held.is_empty() {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match held.iter().position(|one| *one == byte) {
            Some(at) => {
                file.consume(at + 1);
                return Ok(());
            }
            None => {
                let count = held.len();
                file.consume(count);
            }
        }
    }
}

/// Maximum size of a segment in bytes.
const SEGMENT: usize = 1 << 16;

/// Segments up to the end (ITU-T T.81, annex B). Data after the end is ignored, because cameras
/// and phones append some.
fn jpeg<F: Read + Seek>(file: &mut BufReader<F>) -> Judged<Size> {
    bytes::<2>(file)?;
    let (mut size, mut is_turned) = (None, false);
    loop {
        // After a scan this skips its data; between segments the next byte is already 0xff.
        seek_byte(file, 0xff)?;
        let mut marker = 0xff;
        while marker == 0xff {
            [marker] = bytes(file)?;
        }
        match marker {
            // Data of a scan, restarts, and markers without content.
            0x00 | 0x01 | 0xd0..=0xd7 => continue,
            0xd9 => {
                let turned =
                    |(width, height)| if is_turned { (height, width) } else { (width, height) };
                return Ok(size.map(turned).ok_or(Fault::Broken));
            }
            0xd8 => return Ok(Err(Fault::Broken)),
            _ => {}
        }
        let Some(count) = u16::from_be_bytes(bytes(file)?).checked_sub(2) else {
            return Ok(Err(Fault::Broken));
        };
        match marker {
            0xc0..=0xcf if ![0xc4, 0xc8, 0xcc].contains(&marker) && count >= 6 => {
                let [_, h1, h0, w1, w0]: [u8; 5] = bytes(file)?;
                let pixels = |bytes| u32::from(u16::from_be_bytes(bytes));
                size = size.or(Some((pixels([w1, w0]), pixels([h1, h0]))));
                skip(file, u64::from(count) - 5)?;
            }
            0xe1 => is_turned |= turned(file, count)?,
            _ => skip(file, count.into())?,
        }
    }
}

/// Whether EXIF swaps width and height (values 5 to 8 of tag 0x0112).
fn turned(file: &mut impl Read, count: u16) -> Result<bool> {
    let mut segment = Vec::with_capacity(SEGMENT.min(count.into()));
    file.take(count.into()).read_to_end(&mut segment)?;
    Ok(orientation(&segment).is_some_and(|value| (5..=8).contains(&value)))
}

fn orientation(segment: &[u8]) -> Option<u32> {
    let tiff = segment.strip_prefix(b"Exif\0\0")?;
    let is_little = tiff.starts_with(b"II");
    let number = |at: usize, count: usize| {
        let bytes = tiff.get(at..at.checked_add(count)?)?;
        let push = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
        let number =
            if is_little { bytes.iter().rev().fold(0, push) } else { bytes.iter().fold(0, push) };
        Some(number)
    };
    let first = usize::try_from(number(4, 4)?).ok()?;
    let entries = usize::try_from(number(first, 2)?).ok()?;
    let entry = |at: usize| first.checked_add(2)?.checked_add(12 * at);
    let at = (0..entries).map_while(entry).find(|at| number(*at, 2) == Some(0x0112))?;
    number(at + 8, 2)
}

#[cfg(test)]
mod tests;
