//! What an error of Redis means, and what helps.

use redis::{ErrorKind, RedisError};

use crate::Error;

const REFUSED: (&str, &str) =
    ("Redis refuses the user or password of redis_url.", "correct redis_url");

/// The meaning of an error, and the remedy.
pub(super) fn explain(error: &RedisError) -> (&'static str, &'static str) {
    match error.kind() {
        ErrorKind::AuthenticationFailed => return REFUSED,
        ErrorKind::InvalidClientConfig => {
            return ("redis_url cannot be used.", "correct redis_url");
        }
        ErrorKind::Io if error.is_timeout() => {
            return (
                "Redis answers too slowly.",
                "look for what slows Redis or the network: each answer must come within 40 ms",
            );
        }
        ErrorKind::Io => {
            return (
                "Redis cannot be reached: check redis_url.",
                "start Redis or correct redis_url",
            );
        }
        _ => {}
    }
    // Redis 6 gives errors within a script the code ERR, and the real code in the text.
    let (code, text) = (error.code().unwrap_or_default(), error.to_string());
    let is = |refusal: &str| code == refusal || text.contains(refusal);
    // A script has the rights of its user. Its refusals have no code NOPERM: Redis 6 and 7.0 begin
    // them with the first text, later ones and Valkey with the second.
    let in_script = ["executing the script can't", "ACL failure in script"];
    if is("NOAUTH") || is("WRONGPASS") {
        REFUSED
    } else if is("NOPERM") || in_script.iter().any(|refusal| text.contains(refusal)) {
        (
            "Redis forbids the user of redis_url what this site needs.",
            "give the user in Redis +@scripting +time +hmget +hset +pexpire +del +scan for \
             limiter.store, +get +set for cache.store, and all keys that begin with key_prefix",
        )
    } else if is("OOM") {
        (
            "Redis is full and refuses writes.",
            "raise Redis's maxmemory, or set its maxmemory-policy to allkeys-lru",
        )
    } else if is("READONLY") {
        (
            "Redis is a replica, which only reads.",
            "let redis_url name the primary, or make this server one with REPLICAOF NO ONE",
        )
    } else if is("LOADING") || is("BUSY") || is("MASTERDOWN") {
        ("Redis is busy.", "wait; the site returns by itself")
    } else if error.is_cluster_error() {
        (
            "Redis is a node of a cluster, which this site cannot use.",
            "let redis_url name one server or its primary",
        )
    } else {
        ("Redis refuses this site.", "correct what Redis names, or redis_url")
    }
}

/// A `redis_url` that cannot be used.
pub(super) fn invalid(error: RedisError) -> Error {
    let what = format!(
        "cannot be used ({error}): in a user or password write @ as %40, : as %3A, / as %2F, # as \
         %23, ? as %3F and % as %25"
    );
    Error::invalid_field("redis_url", "format", what)
}

#[cfg(test)]
mod tests {
    use std::io;

    use redis::ServerErrorKind;

    use super::*;

    #[test]
    fn each_fault_has_its_remedy() {
        let io = |kind| RedisError::from(io::Error::from(kind));
        let kind = |kind| RedisError::from((kind, "why"));
        let code = |code: &str| redis::make_extension_error(code.to_owned(), None);
        let in_script = |text: &str| {
            RedisError::from((ServerErrorKind::ResponseError.into(), "x", text.into()))
        };
        for (error, words) in [
            (io(io::ErrorKind::ConnectionRefused), "start Redis"),
            (io(io::ErrorKind::TimedOut), "within 40 ms"),
            (kind(ErrorKind::AuthenticationFailed), "correct redis_url"),
            (kind(ErrorKind::InvalidClientConfig), "correct redis_url"),
            (kind(ServerErrorKind::ReadOnly.into()), "the primary"),
            (kind(ServerErrorKind::NoPerm.into()), "+@scripting"),
            (in_script("The user executing the script can't run this command"), "+hmget"),
            (in_script("ACL failure in script: User cms has no permissions"), "+hmget"),
            (kind(ServerErrorKind::BusyLoading.into()), "returns by itself"),
            (kind(ServerErrorKind::MasterDown.into()), "returns by itself"),
            (code("BUSY"), "returns by itself"),
            (kind(ServerErrorKind::Moved.into()), "one server"),
            (code("OOM"), "maxmemory-policy to allkeys-lru"),
            (code("NOAUTH"), "correct redis_url"),
            (in_script("Error running script: -OOM command not allowed"), "maxmemory-policy"),
        ] {
            assert!(explain(&error).1.contains(words), "{error}");
        }
    }
}
