//! `/api/openapi.json`

use cms_core::Result;

use crate::{
    call::Call,
    openapi,
    wire::{openapi::Document, parameters::NoQuery},
};

pub(crate) async fn read(call: &Call<'_>, _: NoQuery) -> Result<Document> {
    Ok(Document(openapi::document(call)))
}
