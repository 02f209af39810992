//! QR codes of `otpauth` addresses, for pages and for terminals.

use qrcode::{
    QrCode,
    render::{svg, unicode::Dense1x2},
};

use crate::{Error, Result};

/// An SVG picture, at least 200 units wide, dark on light with a quiet zone.
///
/// # Errors
/// `validation_failed` when the text is too long for a code (about 2,900 bytes).
pub fn svg(text: &str) -> Result<String> {
    Ok(code(text)?.render::<svg::Color<'_>>().min_dimensions(200, 200).build())
}

/// Lines of half blocks with a quiet zone. Dark modules are blank and light modules are drawn, so
/// print it white on black whatever the terminal's theme. Without colours it is right on dark
/// themes only.
pub fn terminal(text: &str) -> Result<String> {
    Ok(code(text)?
        .render::<Dense1x2>()
        .dark_color(Dense1x2::Light)
        .light_color(Dense1x2::Dark)
        .build())
}

fn code(text: &str) -> Result<QrCode> {
    QrCode::new(text).map_err(|e| {
        Error::invalid_field("text", "range", format!("the text does not fit in a QR code: {e}"))
    })
}
