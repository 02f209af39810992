//! Recovery codes. Each logs in once a user who lost the authenticator.

use std::fmt;

use data_encoding::{BASE32_NOPAD, HEXLOWER};
use zeroize::Zeroizing;

use crate::{
    Random, Result,
    ground::{Secret, crypto},
};

/// Number of codes in a set.
const RECOVERY_CODES: usize = 8;

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
    pub(super) fn typed(text: &str) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

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
            RecoveryCode::typed(&text.replace('-', " ")).hash(&salt, 1),
            code.hash(&salt, 1)
        );
        assert_ne!(code.hash(&salt, 1), code.hash(&salt, 2), "another user's");
        assert_eq!(format!("{code:?}"), "RecoveryCode(***)");
    }
}
