//! Passwords: Argon2id (RFC 9106) with the site's `password_salt` as its secret key.

use std::sync::Arc;

use argon2::{
    Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version,
    password_hash::Error as HashError,
};
use data_encoding::HEXLOWER;
use tokio::sync::Semaphore;

use crate::{
    Code, Error, Random, Result,
    ground::{Secret, crypto},
    plain,
};

/// Shortest password in characters (NIST SP 800-63B, 3.1.1.2, beside a second factor).
pub const MIN_PASSWORD_CHARS: usize = 8;
/// Longest password in bytes. Hashing longer ones would only help an attacker to cause load.
pub const MAX_PASSWORD_BYTES: usize = 1024;

/// Most hashes that wait for their turn. More would hold connections for too long.
const MAX_WAITING: usize = 512;

/// A hash that no password matches, with the cost of a real one, so that an unknown user takes as
/// long as a wrong password.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$\
                      AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Hashes and checks passwords, a few at a time. Each takes 19 MiB and about 15 ms of a core, so a
/// flood of logins must not take all cores from other requests.
pub(crate) struct Passwords {
    salt: Option<Secret>,
    turns: Arc<Semaphore>,
    slots: Semaphore,
}

impl Passwords {
    pub(crate) fn new(salt: Option<Secret>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            salt,
            turns: Arc::new(Semaphore::new((cores / 2).max(1))),
            slots: Semaphore::new(MAX_WAITING),
        }
    }

    /// Identifies the salt without revealing it. Users whose password was hashed with another salt
    /// cannot log in.
    pub(crate) fn salt_id(&self) -> Result<String> {
        Ok(HEXLOWER.encode(&crypto::hmac_sha256(self.salt()?.expose().as_bytes(), b"salt_id")[..4]))
    }

    /// The salt. It also keys the digests of recovery codes.
    pub(super) fn salt(&self) -> Result<&Secret> {
        self.salt.as_ref().ok_or_else(|| {
            Error::new(
                Code::Unavailable,
                "No password_salt is configured, so nobody can log in: put cms.local.toml back \
                 from a backup; a new site gets one by `cms init`.",
            )
        })
    }

    /// The hash to store, as a PHC string. Passwords are composed first (NIST SP 800-63B), so that
    /// every keyboard writes the same.
    pub(crate) async fn hash(&self, password: &Secret, random: &Random) -> Result<String> {
        let nonce = random.bytes::<16>()?;
        let password = composed(password);
        self.work(move |argon| {
            argon
                .hash_password_with_salt(password.expose().as_bytes(), &nonce)
                .map(|hash| hash.to_string())
        })
        .await?
        .map_err(|e| Error::internal(e.to_string()))
    }

    /// Whether `hash` was made from `password`, composed or, before passwords were composed, as it
    /// was sent. None stands for an unknown user: it takes as long and is never right.
    pub(crate) async fn verify(&self, password: &Secret, hash: Option<String>) -> Result<bool> {
        if password.expose().len() > MAX_PASSWORD_BYTES {
            return Ok(false);
        }
        let composed = composed(password);
        if self.matches(&composed, hash.clone()).await? {
            return Ok(true);
        }
        Ok(composed.expose() != password.expose() && self.matches(password, hash).await?)
    }

    async fn matches(&self, password: &Secret, hash: Option<String>) -> Result<bool> {
        let (password, known) = (password.clone(), hash.is_some());
        let hash = hash.unwrap_or_else(|| NOBODY.to_owned());
        match self
            .work(move |argon| argon.verify_password(password.expose().as_bytes(), hash.as_str()))
            .await?
        {
            Ok(()) => Ok(known),
            Err(HashError::PasswordInvalid) => Ok(false),
            Err(error) => Err(Error::internal(error.to_string())),
        }
    }

    /// Runs `job` on a blocking thread when its turn comes. The turn ends with the work, so a
    /// caller that stops waiting delays nobody.
    async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(Argon2<'_>) -> T + Send + 'static,
    ) -> Result<T> {
        let salt = self.salt()?.clone();
        let busy = || {
            Error::new(Code::Unavailable, "Too many logins at this moment: try again.")
                .retry_after(5)
        };
        let _slot = self.slots.try_acquire().map_err(|_| busy())?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(Error::internal)?;
        let run = move || {
            let _turn = turn;
            Argon2::new_with_secret(
                salt.expose().as_bytes(),
                Algorithm::Argon2id,
                Version::V0x13,
                Params::DEFAULT,
            )
            .map(job)
        };
        tokio::task::spawn_blocking(run)
            .await
            .map_err(Error::internal)?
            .map_err(|e| Error::internal(e.to_string()))
    }
}

fn composed(password: &Secret) -> Secret {
    Secret::new(plain::composed(password.expose()))
}

/// The fault of a new password, if any.
#[must_use]
pub fn problem(username: &str, password: &str) -> Option<String> {
    if password.chars().count() < MIN_PASSWORD_CHARS || password.len() > MAX_PASSWORD_BYTES {
        return Some(format!(
            "{MIN_PASSWORD_CHARS} characters or more, {MAX_PASSWORD_BYTES} bytes or less"
        ));
    }
    // Many passwords contain a name of one or two letters by chance.
    let telling =
        username.chars().count() > 2 && password.to_lowercase().contains(&username.to_lowercase());
    telling.then(|| "a password must not contain the user's name".to_owned())
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::phc::PasswordHash;

    use super::*;

    fn passwords(salt: &str) -> Passwords {
        Passwords::new(Some(Secret::new(salt)))
    }

    #[tokio::test]
    async fn a_password_matches_only_with_the_salt_it_was_hashed_with() {
        let (ours, secret) = (passwords("salt"), Secret::new("correct horse"));
        let hash = ours.hash(&secret, &Random::seeded(1)).await.expect("hash");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(ours.verify(&secret, Some(hash.clone())).await.expect("verified"));
        assert!(
            !ours.verify(&Secret::new("correct hors"), Some(hash.clone())).await.expect("verified")
        );
        assert!(!passwords("other").verify(&secret, Some(hash)).await.expect("verified"));
        assert!(!ours.verify(&secret, None).await.expect("verified"), "nobody has no password");
        assert_ne!(ours.salt_id().expect("id"), passwords("other").salt_id().expect("id"));
        assert_eq!(Passwords::new(None).salt_id().expect_err("no salt").code(), Code::Unavailable);
    }

    #[tokio::test]
    async fn both_spellings_of_a_password_match_and_what_was_hashed_as_sent_does_too() {
        let ours = passwords("salt");
        let (apart, whole) = (Secret::new("pa\u{308}sswort"), Secret::new("p\u{e4}sswort"));
        let verify = async |password: &Secret, hash: &str| {
            ours.verify(password, Some(hash.to_owned())).await.expect("verified")
        };
        let hash = ours.hash(&apart, &Random::seeded(1)).await.expect("hash");
        let hash = hash.as_str();
        assert!(verify(&apart, hash).await && verify(&whole, hash).await);
        let sent = apart.clone();
        let older = ours.work(move |argon| {
            argon.hash_password_with_salt(sent.expose().as_bytes(), &[7; 16]).map(|h| h.to_string())
        });
        let older = older.await.expect("a turn").expect("hash");
        let older = older.as_str();
        assert!(verify(&apart, older).await && !verify(&whole, older).await);
        assert!(!ours.verify(&apart, None).await.expect("verified"));
    }

    #[test]
    fn the_hash_of_nobody_costs_as_much_as_a_real_one() {
        let hash = PasswordHash::new(NOBODY).expect("a PHC string");
        let params = Params::try_from(&hash).expect("params");
        let real = Params::DEFAULT;
        assert_eq!(
            (params.m_cost(), params.t_cost(), params.p_cost()),
            (real.m_cost(), real.t_cost(), real.p_cost())
        );
        assert_eq!(
            params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN),
            Params::DEFAULT_OUTPUT_LEN
        );
    }

    #[test]
    fn short_long_and_telling_passwords_are_refused() {
        for (password, fine) in [
            ("1234567", false),
            ("12345678", true),
            ("äöüßäöüß", true),
            ("xxAnaxxxx", false),
            (" eight s ", true),
        ] {
            assert_eq!(problem("ana", password).is_none(), fine, "{password}");
        }
        assert!(problem("ana", &"x".repeat(1025)).is_some() && problem("x", "xxxxxxxx").is_none());
    }
}
