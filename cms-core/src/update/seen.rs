//! The highest version that was ever offered. A server that offers less has gone back, or somebody
//! plays an old reply again.

use serde::{Deserialize, Serialize};

use super::{
    error::{UpdateError, UpdateFault},
    release::{Release, Version},
};
use crate::Millis;

const DAY: Millis = 86_400_000;
/// Days after which a description without a change is old.
const OLD_DAYS: Millis = 180;

/// What was offered so far; kept as JSON between two looks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The highest version, with a good signature.
    highest: Option<String>,
    /// When it was offered first.
    since: Millis,
}

impl Seen {
    /// Compares a release with what was offered before and notes it. `modified` is when the server
    /// says that it wrote the description. Returns a warning about an old description: somebody may
    /// keep newer ones away.
    ///
    /// # Errors
    /// A higher version was offered before.
    pub fn note(
        &mut self,
        release: &Release,
        modified: Option<Millis>,
        now: Millis,
    ) -> Result<Option<String>, UpdateError> {
        let version = &release.version;
        let highest = self.highest.as_deref().and_then(|text| text.parse::<Version>().ok());
        match highest {
            Some(highest) if *version < highest => {
                let why = format!(
                    "the update server offers {version}, and it offered {highest} before: an old \
                     release is not taken"
                );
                return Err(UpdateError::new(UpdateFault::Refused, why));
            }
            Some(highest) if *version == highest => {}
            _ => *self = Self { highest: Some(version.to_string()), since: now },
        }
        let age = (now - self.since.min(modified.unwrap_or(now))) / DAY;
        Ok((age >= OLD_DAYS).then(|| {
            format!(
                "the update server has offered {version} for {age} days. If there must be a newer \
                 release, somebody keeps it away"
            )
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(version: &str) -> Release {
        Release {
            version: version.parse().expect("a version"),
            file: "cms.zip".to_owned(),
            sha256: String::new(),
            size: 1,
            notes: String::new(),
        }
    }

    #[test]
    fn a_server_goes_forward_only_and_an_old_offer_is_doubted() {
        let mut seen = Seen::default();
        let mut note = |version: &str, modified, day: Millis| {
            let noted = seen.note(&offered(version), modified, day * DAY);
            noted.map(|doubt| doubt.is_some()).map_err(|error| error.to_string())
        };
        assert_eq!(note("3.1.0", None, 1), Ok(false));
        assert_eq!(note("3.1.0", Some(2 * DAY), 100), Ok(false));
        assert_eq!(note("3.1.0", None, 181), Ok(true), "known for 180 days");
        assert_eq!(note("3.2.0", Some(DAY), 190), Ok(true), "written 189 days ago");
        assert_eq!(note("3.2.0", Some(999 * DAY), 190), Ok(false), "a time to come");
        let why = note("3.1.9", None, 191).expect_err("an older one");
        assert!(why.contains("it offered 3.2.0 before"), "{why}");
        assert_eq!(note("3.2.1", None, 192), Ok(false));
    }
}
