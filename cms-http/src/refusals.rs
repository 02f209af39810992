//! Logs refused logins and keys with the client's address. Programs such as fail2ban read these
//! lines; docs/settings.md documents their form.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use cms_core::{Code, Millis};

/// Length of a window. Its lines are limited, so that a flood of refusals does not fill the disk.
const WINDOW_MS: Millis = 60_000;
/// The most lines in a window.
const MOST_LINES: u32 = 300;
/// The most lines of one address in a window, so that it cannot hide the others.
const MOST_OF_ONE: u32 = 20;

/// Counts the lines of the present window.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<Window>);

#[derive(Default)]
struct Window {
    began: Millis,
    lines: u32,
    by_address: HashMap<IpAddr, u32>,
    /// Refusals since the last line that were not logged.
    unlogged: u64,
}

impl Refusals {
    /// Logs a refusal of a login or a key; ignores all others. The line holds nothing that the
    /// caller has sent, so that nobody can forge one.
    pub(crate) fn note(&self, client: IpAddr, code: Code, now: Millis) {
        let is_guess = matches!(
            code,
            Code::InvalidCredentials
                | Code::InvalidCode
                | Code::LoginLocked
                | Code::ApiKeyInvalid
                | Code::ApiKeyDisabled
                | Code::ApiKeyExpired
        );
        if !is_guess {
            return;
        }
        let Some(unlogged) = self.admit(client, now) else { return };
        let code = code.as_str();
        if unlogged == 0 {
            tracing::warn!(target: "cms_http::refused", %client, %code, "access refused");
        } else {
            tracing::warn!(target: "cms_http::refused", %client, %code, unlogged, "access refused");
        }
    }

    /// How many refusals before this one were not logged; None: this one is not logged either.
    fn admit(&self, client: IpAddr, now: Millis) -> Option<u64> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if (now - window.began).abs() >= WINDOW_MS {
            let unlogged = window.unlogged;
            *window = Window { began: now, unlogged, ..Window::default() };
        }
        let of_one = window.by_address.get(&client).copied().unwrap_or_default();
        if window.lines >= MOST_LINES || of_one >= MOST_OF_ONE {
            window.unlogged += 1;
            return None;
        }
        window.lines += 1;
        window.by_address.insert(client, of_one + 1);
        Some(std::mem::take(&mut window.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_a_bounded_number_of_lines() {
        let refusals = &Refusals::default();
        let address = |n: u32| IpAddr::from(n.to_be_bytes());
        let one = |n, times| (0..times).filter(move |_| refusals.admit(address(n), 1000).is_some());
        assert_eq!(one(1, 1000).count(), 20);
        assert_eq!(one(2, 1).count(), 1, "another address has lines of its own");
        let many = (3..10_000).filter(|n| refusals.admit(address(*n), 1000).is_some());
        assert_eq!(many.count(), 300 - 21);
        // The line of the other address has reported the first 980.
        let unlogged = 9_997 - 279;
        assert_eq!(refusals.admit(address(1), 61_000), Some(unlogged));
        assert_eq!(refusals.admit(address(1), 61_000), Some(0));
    }
}
