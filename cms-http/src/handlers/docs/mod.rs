//! `/api/docs`: the OpenAPI document in Swagger UI, to be read and tried.

use cms_core::{Code, Error, Result};

use crate::{
    call::Call,
    success::Success,
    wire::{Text, docs::WhichFile, parameters::NoQuery},
};

/// The viewer sets styles on its elements and draws its arrows from `data:` URLs.
#[cfg(feature = "docs")]
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

#[cfg(feature = "docs")]
mod viewer;

/// The page.
pub(crate) async fn page(call: &Call<'_>, _: NoQuery) -> Result<Success<Text>> {
    expect_shown(call)?;
    #[cfg(feature = "docs")]
    return Ok(Success::from(Text(include_str!("page.html").to_owned()))
        .with(http::header::CONTENT_SECURITY_POLICY, POLICY));
    #[cfg(not(feature = "docs"))]
    Err(absent())
}

/// A file of the page.
pub(crate) async fn file(call: &Call<'_>, which: WhichFile) -> Result<Success<Text>> {
    expect_shown(call)?;
    #[cfg(feature = "docs")]
    return viewer::file(&which.file).ok_or_else(absent);
    #[cfg(not(feature = "docs"))]
    {
        let WhichFile { file: _ } = which;
        Err(absent())
    }
}

/// Refuses callers to whom the site does not show the page.
fn expect_shown(call: &Call<'_>) -> Result<()> {
    match call.cms.settings().docs.enabled.unwrap_or_else(|| call.is_from_here()) {
        true => Ok(()),
        false => Err(absent()),
    }
}

fn absent() -> Error {
    Error::new(
        Code::NotFound,
        "There is nothing at this address. See docs.enabled for the page of the API.",
    )
}
