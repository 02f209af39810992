//! The second factor: time-based one-time codes (RFC 6238: SHA-1, 6 digits, 30 s steps, one step of
//! tolerance), and recovery codes for users who lost the authenticator. Pure.

use std::fmt;

use data_encoding::{BASE32_NOPAD, HEXLOWER};
use totp_rs::{Builder, Totp};
use zeroize::Zeroizing;

use crate::{
    Error, Millis, Random, Result,
    ground::{Secret, crypto},
};

/// Length of a step, in seconds.
pub const STEP_S: i64 = 30;
/// Number of codes in a set.
const RECOVERY_CODES: usize = 8;

/// The secret shared with a user's authenticator: 160 bits (RFC 4226, section 4, R6).
pub struct TotpSecret(Zeroizing<Vec<u8>>);

impl TotpSecret {
    pub(super) fn new(random: &Random) -> Result<Self> {
        Ok(Self(Zeroizing::new(random.bytes::<20>()?.to_vec())))
    }

    pub(super) fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Base32, for typing.
    #[must_use]
    pub fn base32(&self) -> Zeroizing<String> {
        BASE32_NOPAD.encode(&self.0).into()
    }

    /// The address to scan with an authenticator (Google's Key Uri Format).
    ///
    /// # Errors
    /// `internal_error`; no cause is known.
    pub fn otpauth_url(&self, issuer: &str, account: &str) -> Result<Zeroizing<String>> {
        // A colon separates issuer and account.
        let (issuer, account) = (issuer.replace(':', " "), account.replace(':', " "));
        let totp = self.builder().with_issuer(Some(issuer)).with_account_name(account).build();
        totp.and_then(|totp| totp.to_url())
            .map(Into::into)
            .map_err(|e| Error::internal(e.to_string()))
    }

    /// The step that `code` belongs to, at most one step away from `now`. The comparison takes the
    /// same time for every code.
    pub(super) fn step_of(&self, code: &str, now: Millis) -> Option<i64> {
        let digits: Zeroizing<String> =
            code.chars().filter(|c| *c != ' ').collect::<String>().into();
        if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let seconds = u64::try_from(now / 1000).ok()?;
        self.totp()?.check(&digits, seconds).and_then(|step| i64::try_from(step).ok())
    }

    fn totp(&self) -> Option<Totp> {
        self.builder().build().ok()
    }

    fn builder(&self) -> Builder {
        Builder::new().with_secret(totp_rs::Secret::new(self.0.as_slice().into()))
    }
}

impl std::fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TotpSecret(***)")
    }
}

/// A recovery code, shown once. It has 80 random bits, so its digest needs no slow hash.
pub struct RecoveryCode(Zeroizing<String>);

impl RecoveryCode {
    /// A fresh set.
    pub(super) fn set(random: &Random) -> Result<Vec<Self>> {
        (0..RECOVERY_CODES)
            .map(|_| Ok(Self(BASE32_NOPAD.encode(&random.bytes::<10>()?).into())))
            .collect()
    }

    /// Reads typed text. Case, blanks and dashes do not count.
    pub(super) fn from_text(text: &str) -> Self {
        let text: String = text
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '-')
            .map(|c| c.to_ascii_uppercase())
            .collect();
        Self(text.into())
    }

    /// `ABCD-EFGH-IJKL-MNOP`, for people.
    #[must_use]
    pub fn expose(&self) -> Zeroizing<String> {
        let groups: Vec<_> = self.0.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
        groups.join("-").into()
    }

    /// The stored digest: HMAC-SHA256, keyed with the password salt and bound to the user.
    pub(super) fn hash(&self, salt: &Secret, user: i64) -> String {
        let message: Zeroizing<String> = format!("recovery:{user}:{}", *self.0).into();
        HEXLOWER.encode(&crypto::hmac_sha256(salt.expose().as_bytes(), message.as_bytes()))
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCode(***)")
    }
}

/// QR codes of `otpauth` addresses, for pages and for terminals.
pub mod qr {
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

    /// Lines of half blocks with a quiet zone. Dark modules are blank and light modules are drawn,
    /// so print it white on black whatever the terminal's theme. Without colours it is right on
    /// dark themes only.
    pub fn terminal(text: &str) -> Result<String> {
        Ok(code(text)?
            .render::<Dense1x2>()
            .dark_color(Dense1x2::Light)
            .light_color(Dense1x2::Dark)
            .build())
    }

    fn code(text: &str) -> Result<QrCode> {
        QrCode::new(text).map_err(|e| {
            Error::invalid_field(
                "text",
                "range",
                format!("the text does not fit in a QR code: {e}"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rfc() -> TotpSecret {
        TotpSecret::from_bytes(b"12345678901234567890".to_vec())
    }

    /// RFC 4226, appendix D. The counter is the step.
    #[test]
    fn vectors_of_rfc_4226() {
        let codes = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583",
            "399871", "520489",
        ];
        for (step, code) in codes.iter().enumerate() {
            let step = step as i64;
            assert_eq!(rfc().step_of(code, step * 30_000 + 15_000), Some(step), "{code}");
        }
    }

    /// RFC 6238, appendix B. Its codes have eight digits; the last six are compared.
    #[test]
    fn vectors_of_rfc_6238() {
        for (seconds, code) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            assert_eq!(rfc().step_of(&code[2..], seconds * 1000), Some(seconds / 30), "{code}");
        }
    }

    #[test]
    fn one_step_of_tolerance_and_no_more() {
        // The code of step 100.
        let at = |seconds: i64| seconds * 1000;
        let code = rfc().totp().expect("totp").generate(3000).to_string();
        for (seconds, found) in [
            (2969, false),
            (2970, true),
            (3000, true),
            (3029, true),
            (3030, true),
            (3059, true),
            (3060, false),
        ] {
            assert_eq!(rfc().step_of(&code, at(seconds)).is_some(), found, "{seconds}");
        }
        let spaced = format!("{} {}", &code[..3], &code[3..]);
        assert_eq!(rfc().step_of(&spaced, at(3000)), Some(100));
        for wrong in ["", "12345", "1234567", "12345a", "１２３４５６"] {
            assert_eq!(rfc().step_of(wrong, at(3000)), None, "{wrong}");
        }
        assert_eq!(rfc().step_of(&code, -1), None, "a clock before 1970 is no reason to panic");
    }

    #[test]
    fn the_address_is_what_authenticators_read() {
        let url = rfc().otpauth_url("My: CMS", "ana@example.org").expect("url");
        assert_eq!(
            *url,
            "otpauth://totp/My%20%20CMS:ana%40example.org\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=My%20%20CMS"
        );
        assert_eq!(format!("{:?}", rfc()), "TotpSecret(***)");
    }

    #[test]
    fn codes_differ_and_are_read_as_people_write_them() {
        let salt = Secret::new("salt");
        let set = RecoveryCode::set(&Random::seeded(3)).expect("codes");
        let shown: std::collections::BTreeSet<String> =
            set.iter().map(|code| code.expose().to_string()).collect();
        assert_eq!(shown.len(), RECOVERY_CODES);
        let (code, text) = (&set[0], set[0].expose().to_lowercase());
        assert_eq!(text.len(), 19);
        assert_eq!(
            RecoveryCode::from_text(&text.replace('-', " ")).hash(&salt, 1),
            code.hash(&salt, 1)
        );
        assert_ne!(code.hash(&salt, 1), code.hash(&salt, 2), "another user's");
        assert_eq!(format!("{code:?}"), "RecoveryCode(***)");
    }
}
