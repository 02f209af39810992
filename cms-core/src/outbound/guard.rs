//! Look-up of names: only allowed addresses are dialled.

use std::{fmt, net::SocketAddr, sync::Arc};

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::AddressRule;

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

/// Looks a name up once and lets the connector dial only those addresses. A second look-up could
/// answer differently, so there is none.
#[derive(Clone)]
pub(super) struct Guarded {
    pub(super) rule: AddressRule,
    pub(super) names: Arc<dyn Names>,
}

impl Guarded {
    /// The addresses of a name, if none is forbidden.
    pub(super) async fn addresses(&self, name: String) -> Result<Vec<SocketAddr>, Refused> {
        let addresses =
            self.names.look_up(name).await.map_err(|error| Refused::Unknown(error.to_string()))?;
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
    Unknown(String),
    Forbidden(String),
}

impl Refused {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "dns",
            Self::Forbidden(_) => "refused_address",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unknown(why) | Self::Forbidden(why)) = self;
        f.write_str(why)
    }
}

impl std::error::Error for Refused {}
