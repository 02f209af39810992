//! What a failure of an engine means: unavailable for now, damaged, or a fault of the service.

use std::io;

use super::reach::{Fault, fault_of};
use crate::{Code, Error};

/// PostgreSQL finds no schema to work in. It passes over schemas that the user may not use.
pub(super) const NO_SCHEMA: &str = "PostgreSQL has none of the schemas that search_path names, or \
                                    its user may not use them: `create schema NAME authorization \
                                    USER`, or correct search_path.";

impl From<sqlx::Error> for Error {
    fn from(cause: sqlx::Error) -> Self {
        if matches!(cause, sqlx::Error::PoolClosed) {
            let what = "The site was closed: nothing was changed.";
            return Error::new(Code::Unavailable, what).caused_by(cause);
        }
        let what = match fault_of(&cause) {
            Some(Fault::Forbidden) => {
                "The database's user lacks a right; nothing was changed. The cause names what it \
                 needs."
            }
            _ if is_unavailable(&cause) => {
                "The database cannot be reached, is busy or full; nothing was changed. Try again."
            }
            _ => return Error::internal(cause),
        };
        Error::new(Code::Unavailable, what).caused_by(cause)
    }
}

/// Whether the database cannot do this now but may do it later.
fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::Io(_)
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(e) => e.code().is_some_and(|code| is_temporary(&code)),
        _ => false,
    }
}

/// Makes every failure to open a session count as unavailable, whatever the driver calls it. A
/// proxy without a server behind it may answer something that is not PostgreSQL; a server that is
/// being replaced may refuse the user or the database.
pub(super) fn no_session(error: sqlx::Error) -> sqlx::Error {
    match error {
        known if is_unavailable(&known) => known,
        other => io::Error::new(io::ErrorKind::NotConnected, other).into(),
    }
}

/// Whether a connection that looked alive has ended, so that another one may work. Before
/// PostgreSQL closes a connection it reports a shutdown, an administrator's command or a
/// transaction that was idle for too long.
#[cfg(feature = "postgres")]
pub(super) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(cause) => cause.kind() != io::ErrorKind::TimedOut,
        sqlx::Error::Database(e) => {
            e.code().is_some_and(|code| code.starts_with("57P0") || code == "25P03")
        }
        _ => false,
    }
}

/// Whether a database error is temporary. PostgreSQL: connection (08), resources (53), shutdown
/// (57), deadlock and serialization (40), a lock that others held for too long (55P03),
/// read-only, as a standby is (25006), a transaction that a stalled service left idle (25P03).
/// SQLite: busy 5, locked 6, out of memory 7, read-only 8, input/output 10, full 13, a file that
/// cannot be opened 14, in the low byte of its extended codes.
fn is_temporary(code: &str) -> bool {
    if code.len() == 5 {
        return ["08", "53", "57", "40", "55P03", "25006", "25P03"]
            .iter()
            .any(|class| code.starts_with(class));
    }
    code.parse::<u32>().is_ok_and(|code| [5, 6, 7, 8, 10, 13, 14].contains(&(code & 0xff)))
}

impl Error {
    /// Whether PostgreSQL refused to wait any longer for a lock.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        let code = match self.database() {
            Some(sqlx::Error::Database(e)) => e.code(),
            _ => None,
        };
        code.as_deref() == Some("55P03")
    }

    /// Whether the database itself is damaged. PostgreSQL: XX001 data, XX002 an index. SQLite:
    /// corrupt 11, not a database 26.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        let code = match self.database() {
            Some(sqlx::Error::Database(e)) => e.code(),
            _ => None,
        };
        code.is_some_and(|code| match code.parse::<u32>() {
            Ok(code) => [11, 26].contains(&(code & 0xff)),
            Err(_) => ["XX001", "XX002"].contains(&&*code),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_session_from_being_opened_is_unavailable() {
        let garbled = || sqlx::Error::Protocol("unexpected response from SSLRequest: 0x00".into());
        assert_eq!(Error::from(garbled()).code(), Code::Internal, "within a session it is a fault");
        for error in [
            garbled(),
            sqlx::Error::Tls("no certificate".into()),
            sqlx::Error::PoolTimedOut,
            io::Error::from(io::ErrorKind::ConnectionReset).into(),
        ] {
            let error = Error::from(no_session(error));
            assert_eq!(error.code(), Code::Unavailable, "{error:?}");
        }
    }

    #[test]
    fn codes_of_both_engines_are_told_apart() {
        for code in ["57P01", "25P03", "25006", "53300", "08006", "40P01", "55P03", "5", "261"] {
            assert!(is_temporary(code), "{code}");
        }
        for code in ["23505", "22001", "25001", "42P01", "28P01", "1", "19", "2067"] {
            assert!(!is_temporary(code), "{code}");
        }
    }
}
