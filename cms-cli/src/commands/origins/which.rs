//! An origin as people name it: by its address or its id.

use std::{fmt, str::FromStr};

use cms_core::traffic::origins::{Origin, normalise};
use cms_http::{client::Client, wire::origins::Read};

use crate::{
    output::{Done, Exit, Failure},
    reply,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Id(i64),
    /// In its one spelling.
    Address(String),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = || normalise(text).map(Self::Address);
        text.parse().map(Self::Id).ok().or_else(address).ok_or_else(|| {
            "an id, or scheme and host such as https://shop.example.org, is expected".to_owned()
        })
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl Which {
    /// Its id, looked up when the address is given.
    pub(super) async fn id(&self, client: &Client) -> Done<i64> {
        let address = match self {
            Self::Id(id) => return Ok(*id),
            Self::Address(address) => address,
        };
        let same = |known: &Origin| known.origin == *address;
        let found = reply::first::<Read>(client, reply::list_query, same).await?;
        found.map(|origin| origin.id).ok_or_else(|| {
            Failure::new(Exit::NotFound, format!("{address} is not registered"))
                .hint(format!("cms origins add {address}"))
        })
    }
}
