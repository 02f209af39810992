//! The first login: a secret for the authenticator, recovery codes for the user

use cms_core::{Millis, accounts::qr};
use cms_http::wire::auth::Setup;
use serde_json::Value as Json;

use crate::output::{Done, Output, SecretFile};

/// The largest difference of two clocks without a warning. A code is valid for its half minute,
/// the one before and the one after.
const CLOCK_GAP_MS: Millis = 20_000;

/// Shows the secret on standard error: it is no data of the command.
pub(super) fn show(out: &Output, setup: &Setup) -> Done {
    out.always("This is the first login. From now on you need an authenticator app on a phone.");
    if out.live {
        let lines = qr::terminal(&setup.otpauth_url)?;
        let wide = lines.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if wide > out.width() {
            out.always(&format!(
                "A QR code needs a terminal of {wide} columns. Type the secret instead."
            ));
        } else {
            out.always("Scan this with the app, or type the secret:\n");
            lines.lines().for_each(|line| out.white_on_black(line));
            out.always("");
        }
    }
    out.always(&format!("secret   {}", setup.secret));
    out.always(&format!("address  {}", setup.otpauth_url));
    Ok(())
}

/// Writes the recovery codes into the file, or prints them. With `--json` returns them for the
/// document. They are shown only this once.
pub(super) fn keep_codes(
    out: &Output,
    codes: &[String],
    file: Option<SecretFile>,
) -> Done<Option<Json>> {
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    if let Some(mut file) = file {
        file.write(&codes)?;
        out.note(&format!(
            "The recovery codes are in {}; they are shown nowhere else.",
            file.path().display()
        ));
        return Ok(None);
    }
    out.note(
        "Recovery codes, shown this once. Each replaces one code of the authenticator: keep them \
         apart from the phone.",
    );
    if out.json {
        return Ok(Some(codes.into()));
    }
    out.raw(&codes.iter().map(|code| format!("{code}\n")).collect::<String>())?;
    Ok(None)
}

/// Warns when the clocks of service and machine are too far apart.
pub(super) fn clock_warning(service: Millis, here: Millis) -> Option<String> {
    // The service sends full seconds.
    let gap = here - service;
    let side = if gap > 0 { "ahead of" } else { "behind" };
    (gap.abs() > CLOCK_GAP_MS).then(|| {
        let seconds = gap.abs() / 1000;
        format!(
            "warning: this machine's clock is {seconds} s {side} the service's. Codes fail with a \
             wrong clock: set it first."
        )
    })
}

/// Whether others can read what is sent there: no TLS, and another machine.
pub(super) fn is_readable_on_the_way(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    !(host == "localhost" || host.starts_with("127.") || rest.starts_with("[::1]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_are_far_apart_are_told() {
        for (here, told) in [
            (0, None),
            (20_000, None),
            (-20_000, None),
            (21_500, Some("21 s ahead of")),
            (-60_000, Some("60 s behind")),
        ] {
            let warning = clock_warning(1_000_000, 1_000_000 + here);
            match told {
                Some(words) => {
                    assert!(warning.is_some_and(|warning| warning.contains(words)), "{here}")
                }
                None => assert_eq!(warning, None, "{here}"),
            }
        }
    }

    #[test]
    fn only_this_machine_is_safe_without_tls() {
        for (url, readable) in [
            ("https://cms.example.org", false),
            ("http://127.0.0.1:8080", false),
            ("http://localhost", false),
            ("http://[::1]:80", false),
            ("http://cms.example.org", true),
            ("http://10.0.0.7:8080", true),
        ] {
            assert_eq!(is_readable_on_the_way(url), readable, "{url}");
        }
    }
}
