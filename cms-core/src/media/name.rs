//! Names of files in the media folder: the SHA-256 of the content and the extension of the type.
//! Pure. Only such names are ever opened, so no path leads out of the folder.

use std::path::PathBuf;

use super::kinds::{self, Kind};

/// The folder of uploads under way, and of those left by a crash.
pub(super) const INCOMING: &str = ".incoming";
/// The folder of smaller pictures.
pub(super) const VARIANTS: &str = ".variants";

/// The name of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// In hex.
    sha256: String,
    extension: &'static str,
}

impl Name {
    pub(super) fn new(sha256: String, kind: &Kind) -> Self {
        Self { sha256, extension: kind.extension }
    }

    /// Parses a folder and the name of a file in it.
    pub(super) fn read(folder: &str, file: &str) -> Option<Self> {
        let is_hex = |text: &str, length| {
            let fits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            text.len() == length && text.bytes().all(fits)
        };
        let (rest, extension) = file.split_once('.')?;
        let kind = kinds::of_extension(extension)?;
        let is_ours = is_hex(folder, 2) && is_hex(rest, 62);
        is_ours.then(|| Self { sha256: format!("{folder}{rest}"), extension: kind.extension })
    }

    /// Parses a folder of variants and the name of one in it. Returns the name of the
    /// original file.
    pub(super) fn of_variant(folder: &str, file: &str) -> Option<Self> {
        let (rest, of_width) = file.split_once('-')?;
        let (_, extension) = of_width.split_once('.')?;
        Self::read(folder, &format!("{rest}.{extension}"))
    }

    /// Parses the path under which a file is served.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let (folder, file) = path.strip_prefix("/media/")?.split_once('/')?;
        Self::read(folder, file)
    }

    pub(crate) fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The hex digits of its name within its folder. Any text that contains the file's path
    /// contains them.
    pub(super) fn digits(&self) -> &str {
        &self.sha256[2..]
    }

    pub(super) fn kind(&self) -> Option<&'static Kind> {
        kinds::of_extension(self.extension)
    }

    /// The name of its folder.
    pub(crate) fn folder(&self) -> &str {
        &self.sha256[..2]
    }

    /// The name within its folder.
    pub(super) fn file(&self) -> String {
        format!("{}.{}", self.digits(), self.extension)
    }

    /// Its path within the media folder.
    pub(crate) fn place(&self) -> PathBuf {
        [self.folder(), &self.file()].iter().collect()
    }

    /// The path of its variant of a width within the media folder.
    pub(super) fn variant(&self, width: u32) -> PathBuf {
        let file = format!("{}-{width}.{}", self.digits(), self.extension);
        [VARIANTS, self.folder(), &file].iter().collect()
    }

    /// The path under which the file is served.
    pub(super) fn path(&self) -> String {
        format!("/media/{}/{}", self.folder(), self.file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_stored_files_are_read() {
        let rest = "b".repeat(62);
        let good = Name::read("ab", &format!("{rest}.png")).expect("a name");
        assert_eq!(good.place(), PathBuf::from(format!("ab/{rest}.png")));
        assert_eq!(good.path(), format!("/media/ab/{rest}.png"));
        assert_eq!(good.variant(320), PathBuf::from(format!(".variants/ab/{rest}-320.png")));
        let variant = format!("{rest}-320.png");
        assert_eq!(Name::of_variant("ab", &variant), Some(good.clone()));
        assert_eq!(Name::of_variant("ab", &good.file()), None);
        assert_eq!(Name::of_path(&good.path()), Some(good));
        for (folder, file) in [
            ("..", format!("{rest}.png")),
            ("AB", format!("{rest}.png")),
            ("a", format!("{rest}.png")),
            ("abc", format!("{rest}.png")),
            ("ab", format!("{rest}.exe")),
            ("ab", format!("{rest}.png.html")),
            ("ab", format!("{rest}.PNG")),
            ("ab", format!("{rest}-320.png")),
            ("ab", rest.clone()),
            ("ab", format!("../{rest}.png")),
            ("ab", format!("{}.png", "b".repeat(61))),
            ("ab", format!("{}\0.png", "b".repeat(61))),
            ("ab", format!("{}é.png", "b".repeat(60))),
            ("", String::new()),
        ] {
            assert_eq!(Name::read(folder, &file), None, "{folder}/{file}");
        }
    }
}
