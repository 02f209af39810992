//! Small pictures made by hand: whole, cut and lengthened.

use std::io::Cursor;

use super::*;

fn judged(media_type: &str, file: &[u8]) -> std::result::Result<Option<Size>, Fault> {
    size(media_type, &mut Cursor::new(file), file.len() as u64).expect("memory is read")
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    file.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
    file.extend([8, 6, 0, 0, 0, 1, 2, 3, 4]);
    file.extend(b"\0\0\0\x02IDAT\x78\x01crc!\0\0\0\0IEND\xae\x42\x60\x82");
    file
}

fn gif() -> Vec<u8> {
    let mut file = b"GIF89a\x07\0\x05\0\x80\0\0\0\0\0\xff\xff\xff".to_vec();
    file.extend(b"\x21\xf9\x04\0\0\0\0\0\x2c\0\0\0\0\x07\0\x05\0\0\x02\x02\x4c\x01\0\x3b");
    file
}

fn jpeg(exif: &[u8]) -> Vec<u8> {
    let mut file = b"\xff\xd8".to_vec();
    if !exif.is_empty() {
        file.extend(b"\xff\xe1");
        file.extend((exif.len() as u16 + 2).to_be_bytes());
        file.extend(exif);
    }
    file.extend(b"\xff\xc0\x00\x0b\x08\x00\x05\x00\x07\x01\x01\x11\x00");
    file.extend(b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00data\xff\x00more\xff\xd0\xff\xd9");
    file
}

fn webp() -> Vec<u8> {
    let mut file = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0".to_vec();
    file.extend([0, 0, 0, 0, 6, 0, 0, 4, 0, 0]);
    file
}

fn avif() -> Vec<u8> {
    let mut file = b"\0\0\0\x14ftypavif\0\0\0\0mif1".to_vec();
    file.extend(b"\0\0\0\x1cmetaispe\0\0\0\0\0\0\0\x07\0\0\0\x05....");
    file
}

#[test]
fn sizes_are_read_from_whole_files() {
    let sideways = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
    let upright = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x01\0\0\0";
    for (media_type, file, expected) in [
        ("image/png", png(7, 5), Some((7, 5))),
        ("image/gif", gif(), Some((7, 5))),
        ("image/jpeg", jpeg(b""), Some((7, 5))),
        ("image/jpeg", jpeg(upright), Some((7, 5))),
        ("image/jpeg", jpeg(sideways), Some((5, 7))),
        ("image/jpeg", jpeg(b"Exif\0\0MM\0*\xff\xff\xff\xff"), Some((7, 5))),
        ("image/webp", webp(), Some((7, 5))),
        ("image/avif", avif(), Some((7, 5))),
        ("image/tiff", b"II*\0\x08\0\0\0".to_vec(), None),
    ] {
        assert_eq!(judged(media_type, &file), Ok(expected), "{media_type}");
        // Every cut is detected, and nothing panics.
        for cut in 8..file.len() {
            let found = judged(media_type, &file[..cut]);
            assert!(expected.is_none() || found == Err(Fault::Broken), "{media_type} {cut}");
        }
        let longer = [file.as_slice(), b"<script>"].concat();
        let told = match media_type {
            "image/jpeg" | "image/tiff" => Ok(expected),
            "image/avif" => Err(Fault::Broken),
            _ => Err(Fault::Longer),
        };
        assert_eq!(judged(media_type, &longer), told, "{media_type}");
    }
}

#[test]
fn pictures_without_size_are_broken() {
    assert_eq!(judged("image/png", &png(0, 5)), Err(Fault::Broken));
    assert_eq!(
        judged("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\0IEND\xae\x42\x60\x82"),
        Err(Fault::Broken)
    );
    assert_eq!(judged("image/gif", b"GIF89a/*<script>*/=1;alert(1)//"), Err(Fault::Broken));
    assert_eq!(judged("image/jpeg", b"\xff\xd8\xff\xd9"), Err(Fault::Broken));
    // A size larger than any file ends the reading.
    let mut far = png(1, 1);
    far.splice(33..37, [0xff; 4]);
    assert_eq!(judged("image/png", &far), Err(Fault::Broken));
}

proptest::proptest! {
    #[test]
    fn nothing_panics(rest in proptest::collection::vec(0u8.., 0..200)) {
        for (media_type, head) in [
            ("image/png", &b"\x89PNG\r\n\x1a\n"[..]),
            ("image/gif", b"GIF89a"),
            ("image/jpeg", b"\xff\xd8\xff"),
            ("image/webp", b"RIFF"),
            ("image/avif", b"\0\0\0\x0cftypavif"),
        ] {
            let _ = judged(media_type, &[head, &rest].concat());
        }
    }
}

/// A film of three boxes, of which the second states its length in 8 bytes.
fn film() -> Vec<u8> {
    let mut file = b"\0\0\0\x14ftypmp42\0\0\0\0mp42".to_vec();
    file.extend(b"\0\0\0\x01mdat\0\0\0\0\0\0\0\x14data");
    file.extend(b"\0\0\0\x0cmoovmoov");
    file
}

fn webm() -> Vec<u8> {
    b"\x1a\x45\xdf\xa3\x84head\x18\x53\x80\x67\x40\x07segment".to_vec()
}

fn ogg() -> Vec<u8> {
    let page = |table: &[u8], data: &[u8]| {
        [&b"OggS"[..], &[0; 22], &[table.len() as u8], table, data].concat()
    };
    [page(&[4], b"head"), page(&[3, 2], b"sound")].concat()
}

fn zip(comment: &[u8]) -> Vec<u8> {
    let end = [&b"PK\x05\x06"[..], &[0; 16], &(comment.len() as u16).to_le_bytes(), comment];
    [&b"PK\x03\x04a file"[..], &end.concat()].concat()
}

#[test]
fn what_is_no_picture_is_cut_off_when_its_lengths_say_so() {
    let wav = b"RIFF\x0c\0\0\0WAVEfmt \0\0\0\0".to_vec();
    for (media_type, file) in [
        ("video/mp4", film()),
        ("video/quicktime", film()),
        ("video/webm", webm()),
        ("audio/ogg", ogg()),
        ("audio/wav", wav),
        ("application/zip", zip(b"")),
        ("application/zip", zip(b"A comment, PK\x05\x06 in it")),
        ("application/vnd.oasis.opendocument.text", zip(b"")),
        ("application/pdf", b"%PDF-1.7\n1 0 obj\n%%EOF".to_vec()),
    ] {
        assert_eq!(judged(media_type, &file), Ok(None), "{media_type}");
        let whole = |cut: &usize| judged(media_type, &file[..*cut]) == Ok(None);
        let told: Vec<_> = (1..file.len()).filter(whole).collect();
        // Between two boxes or pages nothing shows that more follows.
        let between: &[usize] = match media_type {
            "video/mp4" | "video/quicktime" => &[20, 40],
            "audio/ogg" => &[32],
            _ => &[],
        };
        assert_eq!(told, between, "{media_type}");
    }
    // Recorded live: the lengths are not known.
    let live = b"\x1a\x45\xdf\xa3\x84head\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xffs";
    assert_eq!(judged("video/webm", live), Ok(None));
    assert_eq!(judged("audio/wav", b"RIFF\xff\xff\xff\xffWAVEfmt "), Ok(None));
    assert_eq!(judged("video/mp4", b"\0\0\0\x0cftypmp42\0\0\0\0mdatdata"), Ok(None));
    for (media_type, wrong) in [
        ("video/webm", &b"\x1a\x45\xdf\xa3\0\0\0"[..]),
        ("video/webm", b"\x1a\x45\xdf\xa3\x84head\x18\x53\x80\x68\x81s"),
        ("video/mp4", b"\0\0\0\x01ftyp\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("audio/ogg", b"OggS"),
        ("application/zip", b"PK\x03\x04PK\x05\x06"),
    ] {
        assert_eq!(judged(media_type, wrong), Err(Fault::Broken), "{media_type} {wrong:?}");
    }
}
