//! Smaller pictures: made once for each width, one at a time, kept on the disk.

use std::{
    io::{self, BufReader, BufWriter, Seek as _, Write as _},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use image::{
    DynamicImage, ImageDecoder, ImageEncoder, ImageFormat, ImageReader, Limits,
    codecs::{jpeg::JpegEncoder, png::PngEncoder, webp::WebPEncoder},
    metadata::Orientation,
};

use super::{
    Media,
    incoming::blocking,
    name::{INCOMING, Name, VARIANTS},
    serve::{Served, missing, opened},
};
use crate::{Code, Error, Result, ground::private};

/// The widths that are served, in pixels.
pub const WIDTHS: [u32; 7] = [160, 320, 640, 960, 1280, 1920, 2560];

/// Memory for unpacking a picture at most, in bytes. Of larger ones there are no variants.
const MEMORY: u64 = 256 << 20;
/// Of 100.
const QUALITY: u8 = 82;

/// What is at a path.
#[derive(Debug)]
pub enum Found {
    /// A file that can be served.
    Served(Served),
    /// A variant that is not made yet.
    Unmade(Unmade),
}

/// A variant that nobody has asked for yet.
#[derive(Debug)]
pub struct Unmade {
    name: Name,
    width: u32,
}

impl Media {
    /// Opens a file by its folder and its name, the two parts of its path. `width`: the variant of
    /// this width; of files that have none the file itself.
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

    /// A variant, the file itself where it is no wider or cannot be made smaller, or what is to be
    /// made.
    async fn find_variant(&self, name: Name, width: u32) -> Result<Found> {
        if !WIDTHS.contains(&width) {
            let widths = WIDTHS.map(|width| width.to_string()).join(", ");
            return Err(Error::new(Code::BadQuery, format!("w is one of {widths}.")));
        }
        let (media, named) = (self.folder().to_owned(), name.clone());
        let is_smaller = blocking(move || Ok(is_smaller(&media, &named, width))).await?;
        if !is_smaller {
            return self.served(&name, None).await.map(Found::Served);
        }
        let place = self.folder().join(name.variant(width));
        let kept = blocking(move || opened(&place)).await?;
        Ok(match kept {
            Some(file) => Found::Served(Served::new(&name, Some(width), file)?),
            None => Found::Unmade(Unmade { name, width }),
        })
    }

    /// Makes a variant. Requests that wait for the same get what the first has made. A picture
    /// that cannot be unpacked is served as it is.
    ///
    /// # Errors
    /// `not_found` when the file has gone; `unavailable` when the disk is full.
    pub async fn make(&self, unmade: Unmade) -> Result<Served> {
        let Unmade { name, width } = unmade;
        // Held until the work ends, also when nobody waits any longer.
        let turn = self.0.making.clone().lock_owned().await;
        let (media, named) = (self.folder().to_owned(), name.clone());
        let count = self.0.made.clone();
        let is_made = blocking(move || {
            let made = made(&media, &named, width, &count);
            drop(turn);
            made
        });
        match is_made.await? {
            true => self.served(&name, Some(width)).await,
            false => self.served(&name, None).await,
        }
    }
}

fn format(name: &Name) -> Option<ImageFormat> {
    match name.kind()?.media_type {
        "image/png" => Some(ImageFormat::Png),
        "image/jpeg" => Some(ImageFormat::Jpeg),
        "image/webp" => Some(ImageFormat::WebP),
        // Smaller, a GIF would no longer move.
        _ => None,
    }
}

/// A picture whose head was read.
fn decoder(media: &Path, name: &Name) -> Option<(impl ImageDecoder + use<>, Orientation)> {
    let format = format(name)?;
    let (file, ..) = opened(&media.join(name.place())).ok()??;
    let mut reader = ImageReader::with_format(BufReader::new(file), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().ok()?;
    let orientation = decoder.orientation().ok()?;
    Some((decoder, orientation))
}

fn is_turned(orientation: Orientation) -> bool {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    matches!(orientation, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH)
}

/// Whether a picture of this width would be smaller and can be made.
fn is_smaller(media: &Path, name: &Name, width: u32) -> bool {
    let Some((decoder, orientation)) = decoder(media, name) else { return false };
    let (across, down) = decoder.dimensions();
    let shown = if is_turned(orientation) { down } else { across };
    // Turning and smoothing take as much again.
    width < shown && decoder.total_bytes() <= MEMORY / 2
}

/// Makes a variant unless it is there. Returns false when the picture cannot be unpacked.
fn made(media: &Path, name: &Name, width: u32, count: &AtomicU64) -> io::Result<bool> {
    let place = media.join(name.variant(width));
    if opened(&place)?.is_some() {
        return Ok(true);
    }
    let Some((mut decoder, orientation)) = decoder(media, name) else { return Ok(false) };
    let profile = decoder.icc_profile().ok().flatten();
    let Ok(mut picture) = DynamicImage::from_decoder(decoder) else { return Ok(false) };
    let (across, down) = (picture.width(), picture.height());
    let (across, down) = if is_turned(orientation) { (down, across) } else { (across, down) };
    let height = u64::from(down) * u64::from(width) / u64::from(across.max(1));
    let height = u32::try_from(height).unwrap_or(u32::MAX).max(1);
    let (w, h) = if is_turned(orientation) { (height, width) } else { (width, height) };
    picture = picture.thumbnail_exact(w, h);
    picture.apply_orientation(orientation);
    let incoming = media.join(INCOMING);
    private::create_folder(&incoming)?;
    let mut file = tempfile::NamedTempFile::new_in(&incoming)?;
    if !written(&mut file, name, picture, profile)? {
        return Ok(false);
    }
    private::create_folder(&media.join(VARIANTS).join(name.folder()))?;
    file.persist(place).map_err(|refused| refused.error)?;
    count.fetch_add(1, Ordering::Relaxed);
    Ok(true)
}

/// Packs a picture as its file is packed. Returns false when it cannot be.
fn written(
    file: &mut tempfile::NamedTempFile,
    name: &Name,
    picture: DynamicImage,
    profile: Option<Vec<u8>>,
) -> io::Result<bool> {
    let format = format(name);
    let has_alpha = picture.color().has_alpha() && format != Some(ImageFormat::Jpeg);
    let picture: DynamicImage =
        if has_alpha { picture.into_rgba8().into() } else { picture.into_rgb8().into() };
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
    // Without its profile a picture has other colours, but it can be seen.
    let _ = profile.map(|profile| encoder.set_icc_profile(profile));
    picture.write_with_encoder(encoder)
}
