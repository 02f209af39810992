//! What is found out about a request whatever becomes of it: replies tell it, refusals too.

use cms_core::traffic::limiter::bucket::Quota;
use http::{HeaderValue, header};

use super::{limit, origin, origin::Sharing};
use crate::{caller::Caller, reply::Reply};

pub(crate) struct Findings {
    pub(crate) caller: Caller,
    pub(super) quota: Option<Quota>,
    pub(super) sharing: Sharing,
    /// The methods that the route takes.
    pub(super) allow: Option<String>,
}

impl Findings {
    /// Before anything is known.
    pub(crate) fn of(operator: bool) -> Self {
        let caller = if operator { Caller::Operator } else { Caller::Anonymous };
        Self { caller, quota: None, sharing: Sharing::None, allow: None }
    }

    /// The reply, with the headers that tell what was found.
    pub(crate) fn told(&self, mut reply: Reply) -> Reply {
        if let Some(quota) = &self.quota {
            limit::headers(quota, &mut reply.headers);
        }
        origin::headers(&self.sharing, &mut reply.headers);
        match self.allow.as_deref().map(HeaderValue::from_str) {
            Some(Ok(allow)) => {
                reply.headers.insert(header::ALLOW, allow);
                reply
            }
            _ => reply,
        }
    }
}
