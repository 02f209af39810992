//! What a client shows to a site that runs elsewhere.

use cms_core::Secret;
use http::{HeaderName, HeaderValue, header};

use super::ClientError;

/// Who the caller is. `Debug` hides the values.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Credential {
    /// An API key, in the header `X-Api-Key`.
    Key(Secret),
    /// The token of a login, as `Authorization: Bearer` (RFC 6750, 2.1).
    Session(Secret),
    /// Nothing: enough to log in, and for what everybody may read.
    None,
}

impl Credential {
    /// The header that shows it.
    pub(super) fn header(&self) -> Result<Option<(HeaderName, HeaderValue)>, ClientError> {
        let (name, value) = match self {
            Self::Key(key) => (HeaderName::from_static("x-api-key"), key.clone()),
            Self::Session(token) => {
                (header::AUTHORIZATION, Secret::new(format!("Bearer {}", token.expose().trim())))
            }
            Self::None => return Ok(None),
        };
        let mut value = HeaderValue::from_str(value.expose().trim()).map_err(|_| {
            ClientError::Unexpected(
                "the API key or token holds characters that none has".to_owned(),
            )
        })?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_header_and_none_is_printed() {
        let shown = |credential: Credential| {
            assert!(!format!("{credential:?}").contains("opensesame"), "{credential:?}");
            credential.header().expect("a header").map(|(name, value)| {
                assert!(value.is_sensitive());
                format!("{name}: {}", value.to_str().expect("text"))
            })
        };
        let secret = || Secret::new("opensesame\n");
        assert_eq!(shown(Credential::Key(secret())).as_deref(), Some("x-api-key: opensesame"));
        assert_eq!(
            shown(Credential::Session(secret())).as_deref(),
            Some("authorization: Bearer opensesame")
        );
        assert_eq!(shown(Credential::None), None);
        assert!(Credential::Key(Secret::new("a\nb")).header().is_err());
    }
}
