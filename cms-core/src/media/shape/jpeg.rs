//! Segments of a JPEG file up to its end (ITU-T T.81, annex B). Cameras and phones append to it, so
//! what follows the end is let be.

use std::io::{BufReader, Read, Result, Seek};

use super::{Fault, Judged, Size, bytes, seek_byte, skip};

/// Most bytes of a segment.
const SEGMENT: usize = 1 << 16;

pub(super) fn size<F: Read + Seek>(file: &mut BufReader<F>) -> Judged<Size> {
    bytes::<2>(file)?;
    let (mut size, mut is_turned) = (None, false);
    loop {
        // Behind a scan this skips its data; between segments the next byte is one.
        seek_byte(file, 0xff)?;
        let mut marker = 0xff;
        while marker == 0xff {
            [marker] = bytes(file)?;
        }
        match marker {
            // Data of a scan, restarts, and marks without content.
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

/// Whether EXIF says that width and height change places (values 5 to 8 of tag 0x0112).
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
