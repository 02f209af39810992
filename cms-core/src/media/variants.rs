//! Smaller pictures: each width is made once, one at a time, and kept where the files lie.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::Duration,
};

use data_encoding::HEXLOWER;
use image::{
    ColorType, DynamicImage, ImageBuffer, ImageDecoder, ImageEncoder, ImageFormat, ImageReader,
    Limits, Luma, LumaA, Rgb, Rgba,
    codecs::{
        jpeg::JpegEncoder,
        png::{PngDecoder, PngEncoder},
        webp::{WebPDecoder, WebPEncoder},
    },
    imageops,
    metadata::Orientation,
};
use memmap2::MmapMut;
use sha2::{Digest as _, Sha256};
use tempfile::{NamedTempFile, TempPath};
use tokio::time::timeout;

use super::{
    Media,
    files::{Content, Served, blocking, missing, opened},
    name::{INCOMING, Name},
};
use crate::{Code, Error, Result, ground::private};

/// The widths that are served, in pixels.
pub const WIDTHS: [u32; 7] = [160, 320, 640, 960, 1280, 1920, 2560];

/// Maximum size of a decoded picture in bytes: 25 million pixels of three colours. Larger pictures
/// have no variants.
const UNPACKED: u64 = 72 << 20;
/// Maximum memory for decoding, in bytes.
const AT_WORK: u64 = 108 << 20;
/// Maximum size of the data before the pixels of a PNG, decoded: a colour profile, texts.
const HEAD: u64 = 16 << 20;
/// How long a visitor waits for the turn to make a variant.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long fetching a picture from a bucket may take: all others wait meanwhile.
const FETCH: Duration = Duration::from_secs(60);
/// `retry_after` in seconds, after either of these timeouts.
const AGAIN_S: u64 = 10;
/// Quality of encoded variants, out of 100.
const QUALITY: u8 = 82;

/// The result of opening a path.
#[derive(Debug)]
pub enum Found {
    /// A file that can be served.
    Served(Served),
    /// A variant that has not been made yet.
    Unmade(Unmade),
}

/// A variant that has not been made yet.
#[derive(Debug)]
pub struct Unmade {
    name: Name,
    width: u32,
}

impl Media {
    /// Opens a file by its folder and its name, the two parts of its path. With `width`, opens the
    /// variant of this width, or the file itself if its type has no variants.
    ///
    /// # Errors
    /// `not_found`; `bad_query` for a width that is none of [`WIDTHS`];
    /// `unavailable` when the folder cannot be read.
    pub async fn open(&self, folder: &str, file: &str, width: Option<u32>) -> Result<Found> {
        let name = Name::read(folder, file).ok_or_else(missing)?;
        match width {
            None => self.served(&name, None).await.map(Found::Served),
            Some(width) => self.find_variant(name, width).await,
        }
    }

    /// Finds a variant. Returns the file itself if it is no wider or cannot be made smaller, and
    /// `Unmade` if the variant must be made.
    async fn find_variant(&self, name: Name, width: u32) -> Result<Found> {
        if !WIDTHS.contains(&width) {
            let widths = WIDTHS.map(|width| width.to_string()).join(", ");
            return Err(Error::new(Code::BadQuery, format!("w is one of {widths}.")));
        }
        if format(&name).is_none() {
            return self.served(&name, None).await.map(Found::Served);
        }
        // The picture itself is not read here, so any number of requests may do this at once.
        Ok(match self.opened(&name.variant(width)).await? {
            // An empty variant means that none can be made.
            Some((_, 0, _)) => Found::Served(self.served(&name, None).await?),
            Some(file) => Found::Served(Served::new(&name, Some(width), file)?),
            None => {
                self.opened(&name.place()).await?.ok_or_else(missing)?;
                Found::Unmade(Unmade { name, width })
            }
        })
    }

    /// Makes a variant. Requests that wait for the same variant get the one that the first has
    /// made. A picture that cannot be decoded is served as it is.
    ///
    /// # Errors
    /// `not_found` when the file is gone; `unavailable` when the disk is full, the store does not
    /// answer, or other variants take too long.
    pub async fn make(&self, unmade: Unmade) -> Result<Served> {
        let Unmade { name, width } = unmade;
        let late = |_| {
            let detail = "Many smaller pictures are being made: try again.";
            Error::new(Code::Unavailable, detail).retry_after(AGAIN_S)
        };
        let turn = self.0.making.clone().lock_owned();
        let turn = timeout(QUEUE_TIMEOUT, turn).await.map_err(late)?;
        let (media, named) = (self.clone(), name.clone());
        // The lock is held until the work ends, even if the caller stops waiting.
        let work = tokio::spawn(async move {
            let made = media.make_unless_there(&named, width).await;
            drop(turn);
            made
        });
        match work.await.map_err(Error::internal)?? {
            true => self.served(&name, Some(width)).await,
            false => self.served(&name, None).await,
        }
    }

    /// Returns false when there is no variant of this width.
    async fn make_unless_there(&self, name: &Name, width: u32) -> Result<bool> {
        if let Some((_, length, _)) = self.opened(&name.variant(width)).await? {
            return Ok(length > 0);
        }
        let (source, fetched) = self.at_hand(name).await?;
        let (incoming, named) = (self.folder().join(INCOMING), name.clone());
        let made = blocking(move || {
            // A file fetched from a bucket has already been compared. A damaged file gets no mark,
            // because it may be repaired.
            let is_whole = match fetched {
                Some(_) => Ok(true),
                None => is_whole(&source, &named),
            };
            let made = is_whole.and_then(|is_whole| match is_whole {
                true => made(&incoming, &source, &named, width).map(Some),
                false => Ok(None),
            });
            match made {
                Ok(Some(Some(made))) => Ok((Some(made), true)),
                // The picture was refused, or its variant is no smaller. An empty file records
                // that permanently; if there is no room for it, the next request finds out again.
                Ok(Some(None)) => Ok((in_folder(&incoming).ok(), false)),
                Ok(None) => Ok((None, false)),
                // The file was deleted meanwhile; serving it reports that.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((None, false)),
                Err(error) => Err(error),
            }
        });
        let (Some(file), is_made) = made.await? else { return Ok(false) };
        match self.keep_variant(file, name, width).await {
            Err(_) if !is_made => return Ok(false),
            kept => kept?,
        }
        // A deletion of the file in the meantime looked for variants before this one existed.
        if self.opened(&name.place()).await?.is_none() {
            self.remove_at(name.variant(width)).await?;
            return Err(missing());
        }
        self.0.made.fetch_add(u64::from(is_made), Ordering::Relaxed);
        Ok(is_made)
    }

    /// The path of a file on this machine. A fetched file is removed when the second value
    /// is dropped.
    async fn at_hand(&self, name: &Name) -> Result<(PathBuf, Option<TempPath>)> {
        if self.0.store.is_folder() {
            return Ok((self.folder().join(name.place()), None));
        }
        let late = |_| {
            let detail = "The picture does not come from its store in time: try again.";
            Error::new(Code::Unavailable, detail).retry_after(AGAIN_S)
        };
        let place = timeout(FETCH, self.fetch(name)).await.map_err(late)??;
        Ok((place.to_path_buf(), Some(place)))
    }
}

/// How a picture is decoded and encoded; `None`: its type has no variants.
pub(super) fn format(name: &Name) -> Option<ImageFormat> {
    match name.kind()?.media_type {
        "image/png" => Some(ImageFormat::Png),
        "image/jpeg" => Some(ImageFormat::Jpeg),
        "image/webp" => Some(ImageFormat::WebP),
        // A smaller GIF would no longer be animated.
        _ => None,
    }
}

/// Whether a picture is animated, as a WebP or PNG can be. A picture that cannot be read is
/// refused when it is decoded.
fn is_moving(file: &File, format: ImageFormat) -> bool {
    let reader = BufReader::new(file);
    let moving = match format {
        ImageFormat::WebP => WebPDecoder::new(reader).map(|decoder| decoder.has_animation()),
        ImageFormat::Png => {
            PngDecoder::with_limits(reader, limits(HEAD)).and_then(|decoder| decoder.is_apng())
        }
        _ => Ok(false),
    };
    moving.unwrap_or(false)
}

fn limits(bytes: u64) -> Limits {
    let mut limits = Limits::default();
    limits.max_alloc = Some(bytes);
    limits
}

/// A picture whose header was read.
struct Read<D> {
    decoder: D,
    orientation: Orientation,
    /// Bytes that decoding takes.
    at_work: u64,
}

/// Reads the header of a picture. `None`: the picture is animated, or it cannot be decoded and
/// never will be. A failing disk or a missing file is an error, because it says nothing about
/// the picture.
fn read(source: &Path, name: &Name) -> io::Result<Option<Read<impl ImageDecoder + use<>>>> {
    let Some(format) = format(name) else { return Ok(None) };
    let (file, length, _) = opened(source)?.ok_or(io::ErrorKind::NotFound)?;
    let Content::File(mut file) = file else { return Ok(None) };
    if is_moving(&file, format) {
        return Ok(None);
    }
    file.rewind()?;
    let is_progressive = format == ImageFormat::Jpeg && is_progressive(&file);
    file.rewind()?;
    let mut reader = ImageReader::with_format(BufReader::new(file), format);
    reader.limits(limits(if format == ImageFormat::Png { HEAD } else { 2 * UNPACKED }));
    let read = reader.into_decoder().and_then(|mut decoder| {
        let orientation = decoder.orientation()?;
        let pixels = decoder.total_bytes();
        let at_work = match format {
            ImageFormat::Png => pixels,
            // Two bytes for each colour of a pixel are kept until the last pass.
            ImageFormat::Jpeg if is_progressive => 3 * pixels + length,
            ImageFormat::Jpeg => pixels + length,
            // Another copy with four channels.
            _ => pixels + pixels.div_ceil(3) * 4 + length,
        };
        Ok(Read { decoder, orientation, at_work })
    });
    unless_refused(read)
}

/// Whether a JPEG is progressive. A picture that cannot be read is refused when it is decoded.
fn is_progressive(file: &File) -> bool {
    let mut decoder = zune_jpeg::JpegDecoder::new(BufReader::new(file));
    let _ = decoder.decode_headers();
    decoder.info().is_some_and(|info| info.sof.is_progressive())
}

/// `None`: the picture was refused. Errors of the system stay errors; a premature end is a fault
/// of the picture.
fn unless_refused<T>(outcome: image::ImageResult<T>) -> io::Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(image::ImageError::IoError(error)) if error.raw_os_error().is_some() => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether the content of a file matches its name.
fn is_whole(source: &Path, name: &Name) -> io::Result<bool> {
    let (file, ..) = opened(source)?.ok_or(io::ErrorKind::NotFound)?;
    let Content::File(mut file) = file else { return Ok(false) };
    let (mut hash, mut part) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(HEXLOWER.encode(&hash.finalize()) == name.sha256()),
            length => hash.update(&part[..length]),
        }
    }
}

fn is_turned(orientation: Orientation) -> bool {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    matches!(orientation, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH)
}

impl<D: ImageDecoder> Read<D> {
    /// Whether a variant of this width would be smaller and can be made.
    fn is_larger(&self, width: u32) -> bool {
        let (across, down) = self.decoder.dimensions();
        let shown = if is_turned(self.orientation) { down } else { across };
        width < shown && self.decoder.total_bytes() <= UNPACKED && self.at_work <= AT_WORK
    }
}

/// A new file of ours, in the folder of uploads under way.
fn in_folder(incoming: &Path) -> io::Result<NamedTempFile> {
    private::create_folder(incoming)?;
    NamedTempFile::new_in(incoming)
}

/// Makes a variant of a file. `None`: the picture cannot be decoded, is no wider, or its variant
/// would have no fewer bytes.
fn made(
    incoming: &Path,
    source: &Path,
    name: &Name,
    width: u32,
) -> io::Result<Option<NamedTempFile>> {
    let Some(read) = read(source, name)?.filter(|read| read.is_larger(width)) else {
        return Ok(None);
    };
    let Read { mut decoder, orientation, .. } = read;
    let profile = decoder.icc_profile().ok().flatten();
    let size @ (across, down) = decoder.dimensions();
    let color = decoder.color_type();
    // Mapped memory: an allocator would keep this much, and abort the process without room.
    let bytes = usize::try_from(decoder.total_bytes()).unwrap_or(usize::MAX);
    let mut pixels = MmapMut::map_anon(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    if unless_refused(decoder.read_image(&mut pixels))?.is_none() {
        return Ok(None);
    }
    let (across, down) = if is_turned(orientation) { (down, across) } else { (across, down) };
    let height = u64::from(down) * u64::from(width) / u64::from(across.max(1));
    let height = u32::try_from(height).unwrap_or(u32::MAX).max(1);
    let to = if is_turned(orientation) { (height, width) } else { (width, height) };
    let Some(mut picture) = shrunk(&mut pixels, color, size, to) else { return Ok(None) };
    drop(pixels);
    picture.apply_orientation(orientation);
    let mut file = in_folder(incoming)?;
    let is_written = written(&mut file, name, picture, profile)?;
    let is_smaller = file.as_file().metadata()?.len() < std::fs::metadata(source)?.len();
    Ok((is_written && is_smaller).then_some(file))
}

/// Makes a smaller picture from pixels. `None`: no type of ours has this colour format.
fn shrunk(
    pixels: &mut [u8],
    color: ColorType,
    (across, down): (u32, u32),
    (width, height): (u32, u32),
) -> Option<DynamicImage> {
    macro_rules! of {
        ($pixel:ty) => {{
            let pixels = bytemuck::try_cast_slice(pixels).ok()?;
            let whole = ImageBuffer::<$pixel, &[_]>::from_raw(across, down, pixels)?;
            imageops::thumbnail(&whole, width, height)
        }};
        // Otherwise the colours of invisible pixels would darken the edges.
        ($pixel:ty, $part:ty) => {{
            let most = u64::from(<$part>::MAX);
            let parts: &mut [$part] = bytemuck::try_cast_slice_mut(pixels).ok()?;
            weigh(parts, color, |part, alpha| (part * alpha + most / 2) / most);
            let mut small = of!($pixel);
            weigh(&mut small, color, |part, alpha| {
                (part * most + alpha / 2).checked_div(alpha).unwrap_or(0).min(most)
            });
            small
        }};
    }
    Some(match color {
        ColorType::L8 => of!(Luma<u8>).into(),
        ColorType::La8 => of!(LumaA<u8>, u8).into(),
        ColorType::Rgb8 => of!(Rgb<u8>).into(),
        ColorType::Rgba8 => of!(Rgba<u8>, u8).into(),
        ColorType::L16 => of!(Luma<u16>).into(),
        ColorType::La16 => of!(LumaA<u16>, u16).into(),
        ColorType::Rgb16 => of!(Rgb<u16>).into(),
        ColorType::Rgba16 => of!(Rgba<u16>, u16).into(),
        _ => return None,
    })
}

/// Weights each part of a pixel's colour by its alpha, which is the last part.
fn weigh<T: Copy + Into<u64> + TryFrom<u64>>(
    parts: &mut [T],
    color: ColorType,
    weighed: impl Fn(u64, u64) -> u64,
) {
    for pixel in parts.chunks_exact_mut(usize::from(color.channel_count())) {
        let Some((alpha, parts)) = pixel.split_last_mut() else { continue };
        for part in parts {
            *part = T::try_from(weighed((*part).into(), (*alpha).into())).unwrap_or(*part);
        }
    }
}

/// Encodes a picture in the format of its file. Returns false when that is not possible.
fn written(
    file: &mut NamedTempFile,
    name: &Name,
    picture: DynamicImage,
    profile: Option<Vec<u8>>,
) -> io::Result<bool> {
    let format = format(name);
    let has_alpha = picture.color().has_alpha() && format != Some(ImageFormat::Jpeg);
    let picture: DynamicImage = match (picture.color().has_color(), has_alpha) {
        (true, true) => picture.into_rgba8().into(),
        (true, false) => picture.into_rgb8().into(),
        (false, true) => picture.into_luma_alpha8().into(),
        (false, false) => picture.into_luma8().into(),
    };
    let mut packed = BufWriter::new(&mut *file);
    let outcome = match format {
        Some(ImageFormat::Jpeg) => {
            packs(JpegEncoder::new_with_quality(&mut packed, QUALITY), &picture, profile)
        }
        Some(ImageFormat::Png) => packs(PngEncoder::new(&mut packed), &picture, profile),
        Some(ImageFormat::WebP) => packs(WebPEncoder::new_lossless(&mut packed), &picture, profile),
        _ => return Ok(false),
    };
    match outcome {
        Ok(()) => {
            packed.flush()?;
            drop(packed);
            file.as_file_mut().rewind()?;
            Ok(true)
        }
        Err(image::ImageError::IoError(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

fn packs(
    mut encoder: impl ImageEncoder,
    picture: &DynamicImage,
    profile: Option<Vec<u8>>,
) -> image::ImageResult<()> {
    // A picture without its profile shows other colours, but it can be seen.
    let _ = profile.map(|profile| encoder.set_icc_profile(profile));
    picture.write_with_encoder(encoder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_disk_says_nothing_of_a_picture() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = Name::read("ab", &format!("{}.png", "c".repeat(62))).expect("a name");
        let source = folder.path().join("a.png");
        let made = || made(folder.path(), &source, &name, 160);
        let gone = made().expect_err("no file");
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        std::fs::write(&source, b"no picture").expect("a file");
        assert!(made().expect("refused for ever").is_none());
        for (error, passes) in [
            (io::Error::from_raw_os_error(5), true),
            (io::Error::from(io::ErrorKind::UnexpectedEof), false),
        ] {
            let refused = unless_refused::<()>(Err(image::ImageError::IoError(error)));
            assert_eq!(refused.is_err(), passes);
        }
    }

    #[test]
    fn pictures_of_all_colours_are_made_smaller() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = Name::read("ab", &format!("{}.png", "c".repeat(62))).expect("a name");
        let source = folder.path().join("a.png");
        use ColorType::{L8, L16, La8, La16, Rgb8, Rgb16, Rgba8, Rgba16};
        for color in [L8, La8, Rgb8, Rgba8, L16, La16, Rgb16, Rgba16] {
            let mut noise = 7_u32;
            let noise = (0..641 * 400 * usize::from(color.bytes_per_pixel())).map(|_| {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                noise.to_be_bytes()[0]
            });
            let noise: Vec<u8> = noise.collect();
            image::save_buffer(&source, &noise, 641, 400, color).expect("a picture");
            let made = made(folder.path(), &source, &name, 320).expect("no fault");
            let made = made.unwrap_or_else(|| panic!("none of {color:?}"));
            let smaller = ImageReader::with_format(BufReader::new(made), ImageFormat::Png);
            let smaller = smaller.decode().expect("a picture");
            let has = |color: ColorType| (color.has_color(), color.has_alpha());
            assert_eq!((smaller.width(), smaller.height()), (320, 199), "{color:?}");
            assert_eq!(has(smaller.color()), has(color));
        }
    }

    #[test]
    fn what_is_transparent_does_not_darken_the_edges() {
        // Each pixel of the smaller picture is made of one white and three invisible pixels.
        let mut pixels = [[255, 255, 255, 255], [0; 4], [0; 4], [0; 4]].as_flattened().to_vec();
        let small = shrunk(&mut pixels, ColorType::Rgba8, (2, 2), (1, 1)).expect("a picture");
        let [red, green, blue, alpha] = small.into_rgba8().get_pixel(0, 0).0;
        assert_eq!([red, green, blue], [255; 3]);
        assert!((62..=66).contains(&alpha), "{alpha}");
    }

    #[test]
    fn a_variant_has_fewer_bytes_than_its_picture() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = Name::read("ab", &format!("{}.jpg", "c".repeat(62))).expect("a name");
        let source = folder.path().join("a.jpg");
        // Low quality: the picture made of this one has a better quality.
        let noise = |x: u32, y: u32| Luma([((x * x * 31 + y * y * 17 + x * y) % 251) as u8]);
        let file = File::create(&source).expect("a file");
        let worst = JpegEncoder::new_with_quality(file, 1);
        DynamicImage::from(ImageBuffer::from_fn(330, 330, noise))
            .write_with_encoder(worst)
            .expect("a picture");
        assert!(made(folder.path(), &source, &name, 320).expect("no fault").is_none());
    }

    #[test]
    fn pictures_that_move_have_no_variants() {
        let folder = tempfile::tempdir().expect("a folder");
        let still = |format| {
            let mut bytes = io::Cursor::new(Vec::new());
            DynamicImage::new_rgba8(400, 2).write_to(&mut bytes, format).expect("a picture");
            bytes.into_inner()
        };
        let png = still(ImageFormat::Png);
        // After the signature and the header: an animation of one frame, with its checksum.
        let control = [0, 0, 0, 8, b'a', b'c', b'T', b'L', 0, 0, 0, 1, 0, 0, 0, 0];
        let apng = [&png[..33], &control, &0xb42d_e9a0_u32.to_be_bytes(), &png[33..]].concat();
        let webp = still(ImageFormat::WebP);
        let chunk = |kind: &[u8], data: &[u8]| {
            let length = u32::try_from(data.len()).expect("few").to_le_bytes();
            [kind, &length, data].concat()
        };
        // 400 pixels wide and 2 high; the flag 2 means animated.
        let extended = chunk(b"VP8X", &[2, 0, 0, 0, 143, 1, 0, 1, 0, 0]);
        let frame = [&[0, 0, 0, 0, 0, 0, 143, 1, 0, 1, 0, 0, 100, 0, 0, 0][..], &webp[12..]];
        let (control, frame) = (chunk(b"ANIM", &[0; 6]), chunk(b"ANMF", &frame.concat()));
        let moving = chunk(b"RIFF", &[b"WEBP", &extended[..], &control, &frame].concat());
        for (ending, format, bytes, moves) in [
            ("png", ImageFormat::Png, png, false),
            ("png", ImageFormat::Png, apng, true),
            ("webp", ImageFormat::WebP, webp, false),
            ("webp", ImageFormat::WebP, moving, true),
        ] {
            let name = Name::read("ab", &format!("{}.{ending}", "c".repeat(62))).expect("a name");
            let source = folder.path().join("a");
            std::fs::write(&source, bytes).expect("a file");
            let file = File::open(&source).expect("a file");
            assert_eq!(is_moving(&file, format), moves, "{format:?}");
            assert_eq!(read(&source, &name).expect("no fault").is_none(), moves, "{format:?}");
        }
    }

    #[test]
    fn a_jpeg_in_passes_takes_more_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = Name::read("ab", &format!("{}.jpg", "c".repeat(62))).expect("a name");
        let source = folder.path().join("a.jpg");
        let of = |frame: u8, down: u16| {
            let [high, low] = down.to_be_bytes();
            let colors = [3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0];
            let frame = [&[0xff, frame, 0, 17, 8, high, low, 0x10, 0][..], &colors].concat();
            let scan = [0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0];
            [&[0xff, 0xd8][..], &frame, &scan].concat()
        };
        // 4,096 pixels wide: the limits are 12.6 and 25 million pixels.
        for (frame, down, fits) in
            [(0xc0, 6_100, true), (0xc0, 6_200, false), (0xc2, 3_000, true), (0xc2, 3_100, false)]
        {
            std::fs::write(&source, of(frame, down)).expect("a file");
            let read = read(&source, &name).expect("no fault").expect("a head");
            assert_eq!(read.is_larger(160), fits, "{frame:x} {down}");
        }
    }

    #[cfg(feature = "sqlite")]
    #[tokio::test]
    async fn nobody_waits_for_ever_for_the_pictures_of_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = crate::settings::Settings::default();
        settings.dirs.data = folder.path().to_owned();
        let cms = crate::Cms::builder(settings).open().await.expect("opened");
        let media = cms.media().clone();
        let name = Name::read("ab", &format!("{}.png", "c".repeat(62))).expect("a name");
        let _others = media.0.making.clone().lock_owned().await;
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        let late = media.make(Unmade { name, width: 160 }).await.expect_err("no turn");
        assert_eq!(late.code(), Code::Unavailable);
        assert!(
            (QUEUE_TIMEOUT..QUEUE_TIMEOUT * 2).contains(&began.elapsed()),
            "{:?}",
            began.elapsed()
        );
    }
}
