//! QR codes in half blocks: two modules a cell, black on white whatever the terminal's colours.

use qrcode::{Color, EcLevel, QrCode};
use ratatui::{
    style::{self, Style},
    text::Line,
};

/// Light modules around the code. The standard says four; scanners of phones are content with two.
const QUIET: usize = 2;

/// The code's lines; None when the text is too long for a code that fits a screen.
pub(crate) fn lines(text: &str) -> Option<Vec<Line<'static>>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let (size, colors) = (code.width(), code.to_colors());
    let dark = |x: usize, y: usize| {
        let inside = x >= QUIET && y >= QUIET && x - QUIET < size && y - QUIET < size;
        inside && colors[(y - QUIET) * size + x - QUIET] == Color::Dark
    };
    let side = size + 2 * QUIET;
    let style = Style::new().fg(style::Color::Black).bg(style::Color::White);
    let cell = |x, y| match (dark(x, y), dark(x, y + 1)) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    };
    let line = |y| Line::styled((0..side).map(|x| cell(x, y)).collect::<String>(), style);
    Some((0..side).step_by(2).map(line).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_code_of_a_login_fits_a_small_screen() {
        let url = "otpauth://totp/CMS:ana.maria@example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP\
                   &issuer=CMS";
        let lines = super::lines(url).expect("a code");
        assert!(
            lines.len() <= 22 && lines[0].width() <= 45,
            "{} × {}",
            lines[0].width(),
            lines.len()
        );
    }
}
