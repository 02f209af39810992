//! `/api/openapi.json`

use cms_core::Result;

use crate::{
    call::Call,
    openapi,
    wire::{openapi::Document, pages::Anything},
};

pub(crate) async fn read(call: &Call<'_>, _: Anything) -> Result<Document> {
    Ok(Document(openapi::document(call)))
}
