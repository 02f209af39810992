//! An event as code that follows events gets it.

use serde::de::DeserializeOwned;

use crate::{Code, Error, Result};

/// An event that was committed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedEvent {
    /// Its id; deliveries send the same.
    pub id: String,
    /// Its name, such as `item.orders.created`.
    pub event: String,
    /// The JSON of its data, as deliveries send it.
    pub data: String,
    pub(crate) row: i64,
    pub(crate) place: i64,
    /// How many handlers led to it.
    pub(crate) depth: i64,
}

impl RecordedEvent {
    /// Its data as a value. Members that the type leaves out are not read.
    ///
    /// # Errors
    /// `validation_failed` when the data does not fit the type.
    pub fn data_as<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.data).map_err(|why| {
            let what = format!("The data of the event {} does not fit: {why}.", self.event);
            Error::new(Code::ValidationFailed, what)
        })
    }
}
