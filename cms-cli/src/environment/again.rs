//! Starts the program again without secrets in its environment and, for `serve`, with an option
//! of the allocator. The secrets and the real standard input wait in a socket that takes the
//! place of standard input.

use std::{
    env,
    ffi::OsString,
    io::{IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::Command,
};

use rustix::{
    io::{Errno, Result},
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
        SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
        sendmsg, socketpair,
    },
    stdio::dup2_stdin,
};

use super::is_secret;

/// Holds the id of the process that was started again, so that its child processes ignore it.
const SIGN: &str = "_CMS_STARTED_AGAIN";
/// The most bytes of all secrets together; sockets hold more.
const MOST_BYTES: usize = 128 << 10;
/// An option that the allocator reads before `main`: the number of slow allocations after which a
/// thread returns its freed memory; 1,000 is the minimum. Idle workers reach the default of
/// 10,000 late, and would keep the memory of a burst of bodies (docs/speed.md).
const ALLOCATOR: (&str, &str) = ("MIMALLOC_GENERIC_COLLECT", "1000");

/// The secrets, if this program was started again without them.
pub(super) fn received() -> Option<Vec<(String, String)>> {
    if env::var(SIGN).ok()?.parse() != Ok(std::process::id()) {
        return None;
    }
    // Otherwise the process would be named after the path that it was started by, `exe`.
    let _ = rustix::thread::set_name(c"cms");
    let mut secrets = vec![0; MOST_BYTES];
    match receive(&mut secrets) {
        Ok(length) => serde_json::from_slice(&secrets[..length]).ok(),
        // The id is that of an earlier process.
        Err(Errno::NOTSOCK) => None,
        // Without its secrets the program would use another database.
        Err(error) => lost(error),
    }
}

#[expect(clippy::print_stderr, reason = "nothing else is there yet")]
fn lost(error: Errno) -> ! {
    eprintln!("cms: the second start did not get the environment: {error}");
    std::process::exit(1)
}

/// Starts this program again without its secrets and with the allocator's option. Returns when
/// there is nothing to remove or to add, or when the start fails. A failed start changes nothing
/// but SIGPIPE, which [`Signals`](crate::signals::Signals) sets right.
pub(super) fn start() -> Option<Vec<(String, String)>> {
    let secrets: Vec<_> = cms_core::settings::environment()
        .filter(|(name, value)| is_secret(name) && !value.is_empty())
        .collect();
    let serves = env::args_os().any(|argument| argument == "serve");
    // Keeps a value that the operator has set. The allocator ignores the case of names.
    let is_option = |(name, _): (OsString, _)| name.eq_ignore_ascii_case(ALLOCATOR.0);
    let option = (serves && !env::vars_os().any(is_option)).then_some(ALLOCATOR);
    if secrets.is_empty() && option.is_none() {
        return None;
    }
    let text = serde_json::to_vec(&secrets).ok().filter(|text| text.len() <= MOST_BYTES)?;
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
    hand_over(&text, &stdin).ok()?;
    let mut args = env::args_os();
    let mut again = Command::new("/proc/self/exe");
    if let Some(name) = args.next() {
        again.arg0(name);
    }
    again.args(args).env(SIGN, std::process::id().to_string()).envs(option);
    for (name, _) in &secrets {
        again.env_remove(name);
    }
    // Returns only when it fails.
    let _ = again.exec();
    let _ = dup2_stdin(&stdin);
    None
}

/// Removes from a program's environment what a second start has added.
pub(super) fn forget(command: &mut Command) {
    command.env_remove(SIGN);
    if env::var(ALLOCATOR.0).is_ok_and(|value| value == ALLOCATOR.1) {
        command.env_remove(ALLOCATOR.0);
    }
}

/// Replaces standard input by a socket that holds the text and the real standard input.
fn hand_over(text: &[u8], stdin: &OwnedFd) -> Result<()> {
    let (near, far) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let passed = [stdin.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(&passed));
    let sent = sendmsg(&near, &[IoSlice::new(text)], &mut beside, SendFlags::NOSIGNAL)?;
    if sent < text.len() {
        return Err(Errno::MSGSIZE);
    }
    dup2_stdin(far)
}

/// Reads the text that [`hand_over`] has sent, and restores the real standard input. Returns the
/// length of the text.
fn receive(text: &mut [u8]) -> Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let own = std::io::stdin();
    let got = recvmsg(&own, &mut [IoSliceMut::new(text)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    let files = beside.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let stdin = files.flatten().next().ok_or(Errno::BADMSG)?;
    if got.flags.contains(ReturnFlags::TRUNC) {
        return Err(Errno::MSGSIZE);
    }
    dup2_stdin(stdin)?;
    Ok(got.bytes)
}
