//! A first login: the authenticator gets its secret, the user his recovery codes.

use cms_core::{Millis, accounts::qr, settings::Secret};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::output::{Done, Output, SecretFile};

/// Clocks that differ by more make codes fail: each is good for its half minute and the ones beside
/// it.
const CLOCK_GAP_MS: Millis = 20_000;

/// What an authenticator needs to know.
#[derive(Deserialize)]
pub(super) struct Setup {
    secret: Secret,
    otpauth_url: Secret,
}

impl Setup {
    /// Shows it to whoever sits there; it is no data, so it is not printed with the data.
    pub(super) fn show(&self, out: &Output) -> Done {
        out.always("This is the first login: an authenticator app on a phone must make the codes from now on.");
        if out.live {
            let lines = qr::terminal(self.otpauth_url.expose())?;
            let wide = lines.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            if wide > out.width() {
                out.always(&format!(
                    "A terminal of {wide} columns could show a QR code; type the secret instead."
                ));
            } else {
                out.always("Scan this with it, or type the secret:\n");
                lines.lines().for_each(|line| out.always(&out.white_on_black(line)));
                out.always("");
            }
        }
        out.always(&format!("secret   {}", self.secret.expose()));
        out.always(&format!("address  {}", self.otpauth_url.expose()));
        Ok(())
    }
}

/// Hands the recovery codes out, this once: into the file, or printed. Returns them for the reply
/// of `--json`.
pub(super) fn keep_codes(
    out: &Output,
    codes: &[Secret],
    file: Option<SecretFile>,
) -> Done<Option<Json>> {
    let codes: Vec<&str> = codes.iter().map(Secret::expose).collect();
    if let Some(mut file) = file {
        file.write(&codes)?;
        out.note(&format!(
            "The recovery codes are in {}; they are shown nowhere else.",
            file.path().display()
        ));
        return Ok(None);
    }
    out.note("Recovery codes, shown this once. Each replaces one code of the authenticator: keep them where the phone is not.");
    if out.json {
        return Ok(Some(codes.into()));
    }
    out.raw(&codes.iter().map(|code| format!("{code}\n")).collect::<String>())?;
    Ok(None)
}

/// A warning when the service's clock and this machine's are too far apart.
pub(super) fn clock_warning(service: Millis, here: Millis) -> Option<String> {
    // The service tells full seconds.
    let gap = here - service;
    let side = if gap > 0 { "ahead of" } else { "behind" };
    (gap.abs() > CLOCK_GAP_MS).then(|| {
        let seconds = gap.abs() / 1000;
        format!("warning: this machine's clock is {seconds} s {side} the service's. Codes fail where the clock is wrong: set it first.")
    })
}

/// Without TLS, and not within this machine.
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
