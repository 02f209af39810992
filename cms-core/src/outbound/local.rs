//! Faults of this machine, which say nothing about a receiver: no descriptor, memory, port or route
//! is left, or no resolver answers.

use std::io;

use rustix::io::Errno;

/// The code of an attempt that failed here.
pub(super) const CODE: &str = "local";

/// Errors of the kernel that mean that this machine, not the receiver, lacks something.
const FAULTS: [Errno; 7] = [
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOMEM,
    Errno::NOBUFS,
    Errno::ADDRNOTAVAIL,
    Errno::NETDOWN,
    Errno::NETUNREACH,
];

/// How resolvers say that a name has no address: glibc, musl, macOS. The standard library passes
/// on their text without its number. Any other text means that no resolver answered, or that the
/// servers of the name itself failed.
const UNKNOWN: [&str; 6] = [
    "Name or service not known",
    "No address associated with",
    "No such host is known",
    "Name does not resolve",
    "Name has no usable address",
    "nodename nor servname provided",
];

/// Whether a connection failed on this side.
pub(super) fn is_fault(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
        || Errno::from_io_error(error).is_some_and(|errno| FAULTS.contains(&errno))
}

/// Whether the kernel has no route to the address. Either this machine is cut off, or the receiver
/// has only addresses of a family that this machine does not support.
pub(super) fn has_no_route(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NETUNREACH)
}

/// Whether a failed look-up says that the name has no address.
pub(super) fn says_unknown(error: &io::Error) -> bool {
    let text = error.to_string();
    let unknown =
        error.kind() == io::ErrorKind::NotFound || UNKNOWN.iter().any(|known| text.contains(known));
    unknown && has_descriptor()
}

/// Without a free descriptor glibc cannot ask and reports the name as unknown.
fn has_descriptor() -> bool {
    std::fs::File::open("/dev/null").is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_this_machine_are_told_from_those_of_receivers() {
        for (errno, local) in [
            (Errno::MFILE, true),
            (Errno::NFILE, true),
            (Errno::NOMEM, true),
            (Errno::NOBUFS, true),
            (Errno::ADDRNOTAVAIL, true),
            (Errno::NETDOWN, true),
            (Errno::NETUNREACH, true),
            (Errno::CONNREFUSED, false),
            (Errno::CONNRESET, false),
            (Errno::HOSTUNREACH, false),
            (Errno::TIMEDOUT, false),
            (Errno::PIPE, false),
        ] {
            assert_eq!(is_fault(&errno.into()), local, "{errno}");
        }
    }

    #[test]
    fn only_an_answer_makes_a_name_unknown() {
        let prefix = "failed to lookup address information: ";
        for (text, unknown) in [
            ("Name or service not known", true),
            ("No address associated with hostname", true),
            ("nodename nor servname provided, or not known", true),
            ("Name does not resolve", true),
            ("Temporary failure in name resolution", false),
            ("Non-recoverable failure in name resolution", false),
            ("Try again", false),
            ("Memory allocation failure", false),
        ] {
            let error = io::Error::other(format!("{prefix}{text}"));
            assert_eq!(says_unknown(&error), unknown, "{text}");
        }
        assert!(!says_unknown(&Errno::MFILE.into()));
    }
}
