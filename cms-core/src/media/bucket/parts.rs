//! Sends a file part by part. If the upload does not complete, its parts are aborted, because
//! otherwise the store keeps and counts them. `left` finds the parts of a process that was killed.

use std::{
    fs::File,
    io::{Read, Seek as _},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use object_store::{
    MultipartUpload, ObjectStoreExt as _, PutPayload,
    aws::AwsAuthorizer,
    client::{HttpRequest, HttpRequestBody},
    multipart::MultipartStore as _,
    path::Path as Key,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::SemaphorePermit;

use super::{
    Bucket, RESPONSE_TIMEOUT, answered,
    link::{self, unreachable, within},
};
use crate::{
    Error, Millis, Result,
    media::{
        files::{blocking, cannot_keep},
        name::{Name, VARIANTS},
    },
};

/// Minimum size of a part of a large file, in bytes. Smaller files are sent at once.
const PART: u64 = 5 << 20;
/// Bytes of a part in one allocation. The allocator keeps larger ones for every thread that ever
/// read a part: 32 large uploads took 60 MiB more.
const PIECE: usize = 64 << 10;
/// Maximum number of parts of a file.
pub(super) const PARTS: u64 = 10_000;
/// Timeout of a part; a larger part may take longer. Also the timeout of waiting for a turn.
const SLOWEST: Duration = Duration::from_secs(60);
/// An upload that began longer ago is abandoned.
const ABANDONED: Millis = 86_400_000;
/// Characters that a signed query does not encode.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Bucket {
    /// Sends a stored file unless it is already there. Compares the content with the file's name.
    pub(in crate::media) async fn put(&self, file: File, name: &Name) -> Result<()> {
        let length = file.metadata().map_err(cannot_keep)?.len();
        let there = self.about(&self.key(&name.place()), RESPONSE_TIMEOUT).await?;
        match there.is_some_and(|there| there.size == length) {
            true => Ok(()),
            false => self.send(file, &name.place(), Some(name.sha256())).await,
        }
    }

    /// Sends a file to a place. `sha256`: the hash that its content must have.
    pub(in crate::media) async fn send(
        &self,
        file: File,
        place: &Path,
        sha256: Option<&str>,
    ) -> Result<()> {
        let key = self.key(place);
        let begin = move || {
            let mut file = file;
            file.rewind()?;
            Ok((file.metadata()?.len(), Reading { file, hash: Sha256::new() }))
        };
        let (length, reading) = blocking(begin).await?;
        if length <= PART {
            let _turn = self.turn().await?;
            let (reading, part) = reading.part(PART, length).await?;
            same(reading.hash, sha256)?;
            return within(SLOWEST, self.store.put(&key, part)).await.map(drop);
        }
        let _sending = self.sending.begin(&key);
        let mut upload = within(RESPONSE_TIMEOUT, self.store.put_multipart(&key)).await?;
        let sent = self.send_parts(reading, length, sha256, &mut *upload).await;
        if sent.is_err()
            && let Err(error) = within(RESPONSE_TIMEOUT, upload.abort()).await
        {
            tracing::warn!(?error, "parts of an upload were not removed yet");
        }
        sent
    }

    /// Waits for a turn to hold a part in memory.
    async fn turn(&self) -> Result<SemaphorePermit<'_>> {
        let turn = tokio::time::timeout(SLOWEST, self.turns.acquire()).await;
        let late = |_| unreachable("it takes files more slowly than they arrive".to_owned());
        turn.map_err(late)?.map_err(Error::internal)
    }

    async fn send_parts(
        &self,
        mut reading: Reading,
        length: u64,
        sha256: Option<&str>,
        upload: &mut dyn MultipartUpload,
    ) -> Result<()> {
        let size = PART.max(length.div_ceil(PARTS));
        for number in 0..length.div_ceil(size) {
            let _turn = self.turn().await?;
            let part;
            (reading, part) = reading.part(size, length - number * size).await?;
            within(slowest(size), upload.put_part(part)).await?;
        }
        same(reading.hash, sha256)?;
        within(SLOWEST, upload.complete()).await.map(drop)
    }

    /// Returns the number of abandoned uploads of our files, and how many of them were aborted.
    pub(in crate::media) async fn left(&self, now: Millis, remove: bool) -> Result<(u64, u64)> {
        let (mut left, mut removed) = (0, 0);
        let mut after = Some((String::new(), String::new()));
        while let Some(from) = after {
            let page = self.uploads(&from).await?;
            for upload in &page.uploads {
                let Some(key) = broken_off(upload, &self.prefix, now) else { continue };
                if self.sending.has(&key) {
                    continue;
                }
                left += 1;
                if remove {
                    let given_up = self.store.abort_multipart(&key, &upload.upload_id);
                    // An upload that is already gone was ended by the process that began it.
                    removed += u64::from(answered(RESPONSE_TIMEOUT, given_up).await?.is_some());
                }
            }
            let next = (page.next_key_marker, page.next_upload_id_marker);
            after = (page.is_truncated && next != from).then_some(next);
        }
        Ok((left, removed))
    }

    /// A page of the unfinished uploads in parts, after a key and an upload.
    async fn uploads(&self, (key, upload): &(String, String)) -> Result<Uploads> {
        let encoded = |text: &str| utf8_percent_encode(text, PLAIN).to_string();
        let mut url =
            format!("{}/?uploads=&prefix={}", self.address, encoded(self.prefix.as_ref()));
        if !key.is_empty() {
            let (key, upload) = (encoded(key), encoded(upload));
            url = format!("{url}&key-marker={key}&upload-id-marker={upload}");
        }
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = url.parse().map_err(Error::internal)?;
        let credential = self.store.credentials().get_credential();
        let credential = within(RESPONSE_TIMEOUT, credential).await?;
        AwsAuthorizer::new(&credential, "s3", &self.region)
            .try_authorize(&mut request, None)
            .map_err(|fault| link::failed(&fault))?;
        let asked = async {
            let reply = self.client.execute(request).await?;
            let status = reply.status();
            Ok((status, reply.into_body().bytes().await?))
        };
        let reply = tokio::time::timeout(RESPONSE_TIMEOUT, asked).await;
        let reply: Result<_, object_store::client::HttpError> =
            reply.map_err(|_| unreachable(link::late(RESPONSE_TIMEOUT)))?;
        let (status, body) = reply.map_err(|error| unreachable(error.to_string()))?;
        if !status.is_success() {
            return Err(unreachable(format!("it answers {status}")));
        }
        quick_xml::de::from_reader(body.as_ref()).map_err(|error| unreachable(error.to_string()))
    }
}

/// How long a part of this size may take.
pub(super) fn slowest(size: u64) -> Duration {
    SLOWEST * u32::try_from(size.div_ceil(PART)).unwrap_or(u32::MAX)
}

/// The key of an upload of ours that was abandoned.
fn broken_off(upload: &Upload, prefix: &Key, now: Millis) -> Option<Key> {
    let key = Key::parse(&upload.key).ok()?;
    let begun: jiff::Timestamp = upload.initiated.parse().ok()?;
    let parts: Vec<_> = key.prefix_match(prefix)?.collect();
    let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
    let is_ours = match parts[..] {
        [folder, file] => Name::read(folder, file).is_some(),
        [VARIANTS, folder, file] => Name::of_variant(folder, file).is_some(),
        _ => false,
    };
    (is_ours && now - begun.as_millisecond() >= ABANDONED).then_some(key)
}

/// The list of unfinished uploads, as S3 sends it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Uploads {
    #[serde(default, rename = "Upload")]
    uploads: Vec<Upload>,
    #[serde(default)]
    is_truncated: bool,
    #[serde(default)]
    next_key_marker: String,
    #[serde(default)]
    next_upload_id_marker: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Upload {
    key: String,
    upload_id: String,
    initiated: String,
}

/// A file that is read and hashed part by part.
struct Reading {
    file: File,
    hash: Sha256,
}

impl Reading {
    /// Reads the next part, at most `size` bytes, in pieces.
    async fn part(self, size: u64, left: u64) -> Result<(Self, PutPayload)> {
        let Self { mut file, mut hash } = self;
        let mut room = usize::try_from(size.min(left)).map_err(Error::internal)?;
        blocking(move || {
            let mut pieces = Vec::with_capacity(room.div_ceil(PIECE));
            while room > 0 {
                let mut piece = vec![0; room.min(PIECE)];
                file.read_exact(&mut piece)?;
                hash.update(&piece);
                room -= piece.len();
                pieces.push(Bytes::from(piece));
            }
            Ok((Self { file, hash }, PutPayload::from_iter(pieces)))
        })
        .await
    }
}

/// Refuses content that has changed since it was judged.
fn same(hash: Sha256, expected: Option<&str>) -> Result<()> {
    let is = HEXLOWER.encode(&hash.finalize());
    match expected.is_none_or(|expected| expected == is) {
        true => Ok(()),
        false => Err(Error::internal("a file has changed on its way to the store")),
    }
}

/// Keys that this process is sending in parts. Its own sweep leaves them alone, whatever their
/// age: not every store reports when an upload began. Each upload has an entry, because two
/// uploads may have the same key.
#[derive(Default)]
pub(super) struct Sending(Mutex<Vec<Key>>);

/// An upload that is under way until this value is dropped.
struct UnderWay<'a>(&'a Sending, Key);

impl Sending {
    fn begin(&self, key: &Key) -> UnderWay<'_> {
        self.keys().push(key.clone());
        UnderWay(self, key.clone())
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.keys().contains(key)
    }

    fn keys(&self) -> MutexGuard<'_, Vec<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut keys = self.0.keys();
        if let Some(at) = keys.iter().position(|key| *key == self.1) {
            keys.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_uploads_is_read() {
        let listed = "<ListMultipartUploadsResult xmlns=\"http://s3.amazonaws.com/\">\
             <Bucket>b</Bucket><NextKeyMarker>a/b</NextKeyMarker><IsTruncated>true</IsTruncated>\
             <Upload><Key>a/b</Key><UploadId>x&amp;y</UploadId><Owner><ID>1</ID></Owner>\
             <Initiated>2026-11-23T10:00:00.000Z</Initiated></Upload>\
             <Upload><Key>c</Key><UploadId>z</UploadId><Initiated>-</Initiated></Upload>\
             </ListMultipartUploadsResult>";
        let read: Uploads = quick_xml::de::from_str(listed).expect("a list");
        let ids: Vec<_> = read.uploads.iter().map(|upload| upload.upload_id.as_str()).collect();
        assert_eq!((ids, read.is_truncated), (vec!["x&y", "z"], true));
        assert_eq!((&*read.next_key_marker, &*read.next_upload_id_marker), ("a/b", ""));
        let none: Uploads = quick_xml::de::from_str("<ListMultipartUploadsResult/>").expect("none");
        assert!(none.uploads.is_empty() && !none.is_truncated);
    }

    #[test]
    fn an_upload_has_broken_off_after_a_day() {
        let upload = |key: String| Upload {
            key,
            upload_id: "1".to_owned(),
            initiated: "1970-01-01T00:00:01.000Z".to_owned(),
        };
        let rest = "e".repeat(62);
        let is_left = |key: &str, age: Millis| {
            broken_off(&upload(key.to_owned()), &Key::from("site/media"), 1_000 + age).is_some()
        };
        let (file, variant) = (
            format!("site/media/ab/{rest}.png"),
            format!("site/media/.variants/ab/{rest}-160.png"),
        );
        for key in [&file, &variant] {
            assert!(!is_left(key, ABANDONED - 1) && is_left(key, ABANDONED), "{key}");
        }
        for key in ["site/media/ab/notes.txt", &format!("other/ab/{rest}.png")] {
            assert!(!is_left(key, ABANDONED), "{key}");
        }
    }

    #[test]
    fn a_larger_part_takes_longer() {
        assert_eq!(slowest(PART), SLOWEST);
        assert_eq!(slowest(20 * PART + 1), SLOWEST * 21);
    }

    #[test]
    fn a_key_is_left_alone_until_its_last_upload_has_ended() {
        let (sending, key) = (Sending::default(), Key::from("site/media/ab/c.mp4"));
        let (first, second) = (sending.begin(&key), sending.begin(&key));
        drop(first);
        assert!(sending.has(&key));
        drop(second);
        assert!(!sending.has(&key));
    }
}
