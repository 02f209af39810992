//! A form with files: `multipart/form-data` (RFC 7578).

use std::{
    borrow::Cow,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use bytes::Bytes;
use cms_core::{Code, Error, Result};
use futures_util::{Stream, StreamExt as _, stream};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};

use super::{Body, BodyKind, Content, fields};
use crate::body::{Memory, Parts, Upload};

/// Most parts of one form.
const MAX_PARTS: usize = 100;
/// Most files among them: each is a file on the disk, open until the reply.
const MAX_FILES: usize = 10;
/// Bytes of the name of a field, and of a file's name.
const MAX_NAME: usize = 1024;
/// Most bytes of all fields together.
const MAX_FIELDS: usize = 1 << 20;
/// Most bytes that come in while a part is looked for: headers, and what senders put before them.
const MAX_BETWEEN: usize = 64 << 10;

/// Fields, and files that lie on disk until they are dropped.
#[derive(Debug, Serialize, Deserialize)]
pub struct Multipart<T> {
    /// Parts without a file name, read as those of a [`Form`](super::Form).
    #[serde(flatten)]
    pub fields: T,
    /// Parts with a file name, in their order.
    #[serde(skip)]
    pub files: Vec<File>,
}

/// A file that was sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct File {
    /// Name of its field.
    pub field: String,
    /// The name that the sender gave it. It may hold anything.
    pub name: String,
    /// The kind that the sender declared.
    pub content_type: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Its content, from the start. It has no name on disk and is gone when this is dropped.
    pub content: tokio::fs::File,
}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send> Body for Multipart<T> {
    const KIND: BodyKind = BodyKind::Multipart;

    async fn receive(content: Content) -> Result<Self> {
        let (mut reading, mut files) = (Reading::begin(content)?, Vec::new());
        while let Some(coming) = reading.next_file().await? {
            files.push(reading.save(coming).await?);
        }
        Ok(Self { fields: reading.fields()?, files })
    }
}

/// A form that comes in.
pub(super) struct Reading {
    form: multer::Multipart<'static>,
    between: Arc<AtomicUsize>,
    folder: PathBuf,
    memory: Memory,
    pairs: Vec<(String, String)>,
    /// Bytes that further fields may have.
    room: usize,
    /// Parts so far, and files among them.
    count: usize,
    files: usize,
}

/// A file whose content was not read yet.
pub(super) struct Coming {
    field: String,
    name: String,
    part: multer::Field<'static>,
}

impl Coming {
    pub(super) fn field(&self) -> &str {
        &self.field
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Reading {
    /// The next bytes of a file; None at its end.
    pub(super) async fn part_of(&self, coming: &mut Coming) -> Result<Option<Bytes>> {
        next(&mut coming.part, &self.between).await
    }

    /// Whether a field of this name has come.
    pub(super) fn has(&self, field: &str) -> bool {
        self.pairs.iter().any(|(name, _)| name == field)
    }

    /// How many fields have come.
    pub(super) fn field_count(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn begin(content: Content) -> Result<Self> {
        let Content::Upload(Upload { parts, content_type, folder, memory }) = content else {
            return Err(Error::internal("the gate has read a form with files"));
        };
        let boundary = multer::parse_boundary(&content_type).map_err(refused)?;
        let between = Arc::new(AtomicUsize::new(0));
        let form = multer::Multipart::new(paced(parts, between.clone()), boundary);
        Ok(Self {
            form,
            between,
            folder,
            memory,
            pairs: Vec::new(),
            room: MAX_FIELDS,
            count: 0,
            files: 0,
        })
    }

    /// The fields that came so far.
    pub(super) fn fields<T: DeserializeOwned>(&self) -> Result<T> {
        fields(&self.pairs)
    }

    /// Keeps fields until a file comes; None at the end of the form.
    pub(super) async fn next_file(&mut self) -> Result<Option<Coming>> {
        while let Some(mut part) = self.form.next_field().await.map_err(refused)? {
            self.count += 1;
            if self.count > MAX_PARTS {
                return Err(bad(&format!("it has more than {MAX_PARTS} parts")));
            }
            let field = unescaped(part.name().ok_or_else(|| bad("a part has no name"))?);
            let name = part.file_name().map(unescaped);
            if field.len().max(name.as_ref().map_or(0, String::len)) > MAX_NAME {
                return Err(bad(&format!("a name is longer than {MAX_NAME} bytes")));
            }
            if let Some(name) = name {
                self.files += 1;
                if self.files > MAX_FILES {
                    return Err(bad(&format!("it has more than {MAX_FILES} files")));
                }
                return Ok(Some(Coming { field, name, part }));
            }
            if self.pairs.iter().any(|(known, _)| *known == field) {
                return Err(bad(&format!("the field {field:?} is sent more than once")));
            }
            let mut value = Vec::new();
            while let Some(bytes) = next(&mut part, &self.between).await? {
                self.room = self.room.checked_sub(bytes.len()).ok_or_else(|| {
                    let why = format!("The fields are larger than {MAX_FIELDS} bytes together.");
                    Error::new(Code::PayloadTooLarge, why)
                })?;
                // The field, and what it is read into.
                self.memory.take(2 * bytes.len() as u64)?;
                value.extend_from_slice(&bytes);
            }
            let value = String::from_utf8(value).map_err(|_| bad("a field is not UTF-8"))?;
            if value.contains('\0') {
                return Err(bad("a field holds the character U+0000"));
            }
            self.pairs.push((field, value));
        }
        Ok(None)
    }

    /// Writes a file to the disk.
    pub(super) async fn save(&self, coming: Coming) -> Result<File> {
        let Coming { field, name, mut part } = coming;
        let content_type = part.content_type().map(ToString::to_string);
        let (size, content) = save(&mut part, &self.between, &self.folder).await?;
        Ok(File { field, name, content_type, size, content })
    }
}

/// A name as it was before browsers escaped it (HTML, 4.10.21.8); they leave `%` as it is.
fn unescaped(name: &str) -> String {
    name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}

/// The next bytes of a part.
async fn next(part: &mut multer::Field<'static>, between: &AtomicUsize) -> Result<Option<Bytes>> {
    let bytes = part.chunk().await.map_err(refused)?;
    between.store(0, Ordering::Relaxed);
    Ok(bytes)
}

/// Writes a part to a file without a name.
async fn save(
    part: &mut multer::Field<'static>,
    between: &AtomicUsize,
    folder: &std::path::Path,
) -> Result<(u64, tokio::fs::File)> {
    let kept = |error: std::io::Error| {
        let why = "The file cannot be kept: the disk may be full.";
        Error::new(Code::Unavailable, why).caused_by(error)
    };
    let place = folder.to_owned();
    let opened = tokio::task::spawn_blocking(move || {
        std::fs::create_dir_all(&place)?;
        tempfile::tempfile_in(place)
    });
    let mut file = tokio::fs::File::from_std(opened.await.map_err(Error::internal)?.map_err(kept)?);
    let mut size = 0;
    while let Some(bytes) = next(part, between).await? {
        size += bytes.len() as u64;
        file.write_all(&bytes).await.map_err(kept)?;
    }
    file.flush().await.map_err(kept)?;
    file.rewind().await.map_err(kept)?;
    Ok((size, file))
}

/// One part of the body at a time. The parser reads as long as something is there, and would else
/// take a whole file into memory, or headers without an end.
fn paced(mut parts: Parts, between: Arc<AtomicUsize>) -> impl Stream<Item = Result<Bytes>> + Send {
    let mut rests = false;
    stream::poll_fn(move |context| {
        if std::mem::take(&mut rests) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = parts.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(part))) = &polled {
            rests = true;
            // What came before this part was looked through already.
            if between.fetch_add(part.len(), Ordering::Relaxed) > MAX_BETWEEN {
                let why = format!("More than {MAX_BETWEEN} bytes stand between two parts.");
                return Poll::Ready(Some(Err(Error::new(Code::PayloadTooLarge, why))));
            }
        }
        polled
    })
}

/// The refusal of the body's own limits, else that the form cannot be read.
fn refused(error: multer::Error) -> Error {
    match error {
        multer::Error::StreamReadFailed(cause) => match cause.downcast::<Error>() {
            Ok(error) => *error,
            Err(cause) => bad("it broke off").caused_by(cause),
        },
        error => bad(&error.to_string()),
    }
}

fn bad(why: &str) -> Error {
    Error::new(Code::BadJson, format!("The form with files cannot be read: {why}."))
}

impl<T: JsonSchema> JsonSchema for Multipart<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}WithFiles", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let file = json_schema!({"type": "string", "format": "binary"});
        schema.insert("additionalProperties".to_owned(), file.to_value());
        schema
    }
}
