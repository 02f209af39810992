//! From the outbox to a provider: plan (who is tried), claim (lease), a round through the chain,
//! settle (fenced, breaker, log).

mod plan;
mod postman;
mod round;
mod settle;

pub(super) use plan::Route;
pub(super) use postman::LONGEST_END;
pub use postman::Postman;
pub(super) use round::{Round, round};
pub(super) use settle::settle;
