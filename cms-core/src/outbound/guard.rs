//! Looks up names, so that only allowed addresses are dialled.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{address::AddressRule, local};

/// Looks names up.
pub(super) trait Names: Send + Sync {
    fn look_up(&self, name: String) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>>;
}

pub(super) struct SystemNames;

impl Names for SystemNames {
    fn look_up(&self, name: String) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
    }
}

/// Looks up a name once and lets the connector dial only those addresses. There is no second
/// look-up, because it could return other addresses.
#[derive(Clone)]
pub(super) struct Guarded {
    pub(super) rule: AddressRule,
    pub(super) names: Arc<dyn Names>,
    /// How long a look-up may take.
    pub(super) patience: Duration,
}

impl Guarded {
    /// The addresses of a name, if none is forbidden.
    pub(super) async fn addresses(&self, name: String) -> Result<Vec<SocketAddr>, Refused> {
        let late = |_| {
            let seconds = self.patience.as_secs_f32();
            Refused::Unanswered(format!("no answer from DNS within {seconds} s"))
        };
        let addresses = tokio::time::timeout(self.patience, self.names.look_up(name))
            .await
            .map_err(late)?
            .map_err(|error| match local::says_unknown(&error) {
                true => Refused::Unknown(error.to_string()),
                false => Refused::Unanswered(error.to_string()),
            })?;
        if addresses.is_empty() {
            return Err(Refused::Unknown("the name has no address".to_owned()));
        }
        let ips: Vec<_> = addresses.iter().map(SocketAddr::ip).collect();
        let forbidden =
            |(address, why)| Refused::Forbidden(format!("{address} is not delivered to: {why}"));
        self.rule.check_all(&ips).map_err(forbidden)?;
        Ok(addresses)
    }
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            Ok(Box::new(guard.addresses(name.as_str().to_owned()).await?.into_iter()) as Addrs)
        })
    }
}

/// Why a name is not dialled.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The name has no address.
    Unknown(String),
    /// No resolver said whether the name has an address.
    Unanswered(String),
    Forbidden(String),
}

impl Refused {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "dns",
            Self::Unanswered(_) => local::CODE,
            Self::Forbidden(_) => "refused_address",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unknown(why) | Self::Unanswered(why) | Self::Forbidden(why)) = self;
        f.write_str(why)
    }
}

impl std::error::Error for Refused {}
