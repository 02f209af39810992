//! An archive in a bucket: how it is named, and how it comes back.

use std::fmt;

use super::OnProgress;
#[cfg(feature = "s3")]
use super::{Progress, judge::room};
use crate::{
    Code, Error, Result,
    settings::{Settings, is_bucket, is_key_path},
};
#[cfg(feature = "s3")]
use crate::{ground::private, media::Objects};

/// How the address of an object begins.
const SCHEME: &str = "s3://";

/// An object in the store that `media.endpoint` and the two keys beside it name:
/// `s3://BUCKET/NAME`. The bucket need not be that of the media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub(super) bucket: String,
    pub(super) name: String,
}

impl Object {
    /// Reads an address. None: it names no object.
    ///
    /// # Errors
    /// `validation_failed` for one that begins as such, and goes on as none.
    pub fn parse(address: &str) -> Result<Option<Self>> {
        let Some(rest) = address.strip_prefix(SCHEME) else { return Ok(None) };
        match rest.split_once('/') {
            Some((bucket, name)) if is_bucket(bucket) && is_key_path(name) => {
                Ok(Some(Self { bucket: bucket.to_owned(), name: name.to_owned() }))
            }
            _ => {
                let what = format!(
                    "{address} names no object: write s3://BUCKET/NAME, with letters, digits, -, \
                     _, dots and / in the name."
                );
                Err(Error::new(Code::ValidationFailed, what))
            }
        }
    }

    /// Whether there is one.
    ///
    /// # Errors
    /// `unavailable` when the store does not say.
    pub async fn exists(&self, settings: &Settings) -> Result<bool> {
        #[cfg(feature = "s3")]
        return Objects::of(settings, &self.bucket)?.has(&self.name).await;
        #[cfg(not(feature = "s3"))]
        {
            let _ = settings;
            Err(without_s3())
        }
    }

    /// Removes it, if it is there.
    pub(super) async fn remove(&self, settings: &Settings) -> Result<()> {
        #[cfg(feature = "s3")]
        return Objects::of(settings, &self.bucket)?.remove(&self.name).await;
        #[cfg(not(feature = "s3"))]
        {
            let _ = settings;
            Err(without_s3())
        }
    }

    /// Brings it to the disk of this machine, into the data folder: it is read twice.
    ///
    /// # Errors
    /// `not_found` when there is none, `unavailable` when the store does not answer,
    /// `validation_failed` without room for it.
    pub async fn fetch(
        &self,
        settings: &Settings,
        told: &OnProgress,
    ) -> Result<tempfile::TempPath> {
        #[cfg(feature = "s3")]
        {
            let folder = settings.dirs.data.clone();
            let made = move || {
                private::create_folder(&folder).map_err(Error::internal)?;
                super::beside::within(&folder)
            };
            let made = tokio::task::spawn_blocking(made).await.map_err(Error::internal)??;
            let (file, path) = made.into_parts();
            let (objects, room) = (Objects::of(settings, &self.bucket)?, room(settings));
            let on_read = |done, total| told(Progress { step: "fetch", done, total });
            match objects.read(&self.name, file, room, &on_read).await? {
                true => Ok(path),
                false => Err(Error::new(Code::NotFound, format!("There is no object {self}."))),
            }
        }
        #[cfg(not(feature = "s3"))]
        {
            let _ = (settings, told);
            Err(without_s3())
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{SCHEME}{}/{}", self.bucket, self.name)
    }
}

#[cfg(not(feature = "s3"))]
pub(super) fn without_s3() -> Error {
    let what = "A backup in a bucket needs a program that was built with the feature s3.";
    Error::new(Code::ValidationFailed, what)
}
