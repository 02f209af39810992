//! Bodies of which one part is read first: whoever answers can refuse them by that part, before the
//! rest takes memory or is read at all. [`Deferred`] is a form whose files come in only when they
//! are asked for, [`Early`] a JSON object whose subject is looked up first.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use cms_core::{Code, Error, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

use super::{
    Body, BodyKind, Content, File, Multipart,
    multipart::{Coming, Reading},
    typed,
};
use crate::body::Unparsed;

const ONE: &str = "one file is expected, after all other fields";
const UNNAMED: &str = "this part has no filename: send it as a file, with one";

/// As [`Multipart`]. Of files that come after all fields nothing is read before
/// [`Deferred::files`].
#[derive(Serialize, Deserialize)]
pub struct Deferred<T> {
    /// Parts without a file name.
    #[serde(flatten)]
    pub fields: T,
    #[serde(skip)]
    files: Vec<File>,
    #[serde(skip)]
    rest: Option<Box<(Reading, Coming)>>,
}

impl<T: DeserializeOwned> Deferred<T> {
    /// Reads the files.
    ///
    /// # Errors
    /// What is wrong with the rest of the form.
    pub async fn files(self) -> Result<Vec<File>> {
        let Self { mut files, rest, .. } = self;
        if let Some(rest) = rest {
            let (mut reading, first) = *rest;
            let mut next = Some(first);
            while let Some(coming) = next {
                files.push(reading.save(coming).await?);
                next = reading.next_file().await?;
            }
            // Fields that came after the files must fit as well.
            reading.fields::<T>()?;
        }
        Ok(files)
    }
}

/// The one file of a form, as it comes in.
pub struct Arriving {
    reading: Reading,
    coming: Coming,
}

impl<T> Deferred<T> {
    /// The one file of the form, part by part: nothing of it is kept here.
    ///
    /// # Errors
    /// `validation_failed` when there is none, or it is not named `file`.
    pub fn one(self) -> Result<Arriving> {
        match (self.rest, self.files.is_empty()) {
            (Some(rest), true) => {
                let (reading, coming) = *rest;
                match coming.field() {
                    "file" => Ok(Arriving { reading, coming }),
                    other => Err(Error::invalid_field(other, "unknown", "name the file `file`")),
                }
            }
            _ => Err(Error::invalid_field("file", "required", ONE)),
        }
    }
}

impl Arriving {
    /// The name that the sender gave it. It may hold anything.
    #[must_use]
    pub fn name(&self) -> &str {
        self.coming.name()
    }

    /// The next bytes; None at the end of the file.
    ///
    /// # Errors
    /// When the form breaks off, is too large or too slow.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        self.reading.part_of(&mut self.coming).await
    }

    /// Reads the end of the form.
    ///
    /// # Errors
    /// `validation_failed` when more than the file comes: fields stand before it.
    pub async fn end(self) -> Result<()> {
        let Self { mut reading, coming } = self;
        // The parser goes on only when nobody holds the part before.
        drop(coming);
        let before = reading.field_count();
        let more = reading.next_file().await?.is_some();
        if more || reading.field_count() > before {
            return Err(Error::invalid_field("file", "required", ONE));
        }
        Ok(())
    }
}

impl fmt::Debug for Arriving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arriving").finish_non_exhaustive()
    }
}

impl<T: fmt::Debug> fmt::Debug for Deferred<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deferred").field("fields", &self.fields).finish_non_exhaustive()
    }
}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send> Body for Deferred<T> {
    const KIND: BodyKind = BodyKind::Multipart;

    async fn receive(content: Content) -> Result<Self> {
        let (mut reading, mut files) = (Reading::begin(content)?, Vec::new());
        while let Some(coming) = reading.next_file().await? {
            match reading.fields() {
                Ok(fields) => {
                    let rest = Some(Box::new((reading, coming)));
                    return Ok(Self { fields, files, rest });
                }
                // The fields stand behind it.
                Err(_) => files.push(reading.save(coming).await?),
            }
        }
        let fields = reading.fields().map_err(|error| match reading.has("file") {
            true => Error::invalid_field("file", "format", UNNAMED),
            false => error,
        })?;
        Ok(Self { fields, files, rest: None })
    }
}

impl<T: JsonSchema> JsonSchema for Deferred<T> {
    fn schema_name() -> Cow<'static, str> {
        Multipart::<T>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Multipart::<T>::json_schema(generator);
        let file = json!({"type": "string", "format": "binary"});
        let document = schema.ensure_object();
        document.entry("properties").or_insert_with(|| json!({}))["file"] = file;
        match document.entry("required").or_insert_with(|| json!([])) {
            Json::Array(required) => required.push("file".into()),
            _ => debug_assert!(false, "a list of names"),
        }
        schema
    }
}

/// A body `T`, and the members `K` of it that say what it is about.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Early<K, T> {
    /// None: it is still to be parsed.
    parsed: Option<T>,
    #[serde(skip)]
    about: K,
    #[serde(skip)]
    rest: Option<Unparsed>,
}

impl<K, T: Body> Early<K, T> {
    /// Finds what it is about, and only then parses the rest.
    ///
    /// # Errors
    /// Those of `find`; else what is wrong with the body.
    pub async fn find<V>(self, find: impl AsyncFnOnce(K) -> Result<V>) -> Result<(V, T)> {
        let found = find(self.about).await?;
        let body = match (self.parsed, self.rest) {
            (Some(parsed), _) => parsed,
            (None, rest) => T::read(rest.map(Unparsed::parse).transpose()?)?,
        };
        Ok((found, body))
    }
}

impl<K, T> Body for Early<K, T>
where
    K: DeserializeOwned + Send,
    T: Body,
{
    const MOST_VALUES: usize = T::MOST_VALUES;
    const IS_EARLY: bool = true;

    async fn receive(content: Content) -> Result<Self> {
        if let Content::Unparsed(rest) = content {
            if let Some(about) = rest.first() {
                return Ok(Self { parsed: None, about, rest: Some(rest) });
            }
            // The whole says what is wrong. A name that comes twice is not: the last one counts.
            return Self::read(Some(rest.parse()?));
        }
        content.json().and_then(Self::read)
    }

    fn read(json: Option<Json>) -> Result<Self> {
        let about = json.as_ref().map(typed::read);
        let parsed = Some(T::read(json)?);
        let empty = || Error::new(Code::ValidationFailed, "The body does not fit: it is empty.");
        Ok(Self { parsed, about: about.ok_or_else(empty)??, rest: None })
    }
}

impl<'de, K: DeserializeOwned, T: DeserializeOwned> Deserialize<'de> for Early<K, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let about = K::deserialize(&json).map_err(serde::de::Error::custom)?;
        let parsed = T::deserialize(json).map_err(serde::de::Error::custom)?;
        Ok(Self { parsed: Some(parsed), about, rest: None })
    }
}

impl<K, T> fmt::Debug for Early<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Early").finish_non_exhaustive()
    }
}

impl<K, T: JsonSchema> JsonSchema for Early<K, T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
