//! The clipboard of the terminal (OSC 52): it works over SSH and asks no other program.

use std::io::{Write, stdout};

use data_encoding::BASE64;

/// Terminals drop longer ones.
const LONGEST: usize = 74_994;

pub(super) fn copy(text: &str) {
    let encoded = BASE64.encode(text.as_bytes());
    if encoded.len() > LONGEST {
        return;
    }
    let in_tmux = std::env::var_os("TMUX").is_some();
    let _ = stdout().write_all(sequence(&encoded, in_tmux).as_bytes());
    let _ = stdout().flush();
}

/// tmux passes a sequence on when it is wrapped, its escapes doubled.
fn sequence(encoded: &str, in_tmux: bool) -> String {
    let plain = format!("\x1b]52;c;{encoded}\x07");
    if in_tmux {
        let wrapped = format!("\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b"));
        return format!("{plain}{wrapped}");
    }
    plain
}

#[cfg(test)]
mod tests {
    #[test]
    fn tmux_gets_it_wrapped_too() {
        assert_eq!(super::sequence("YQ==", false), "\x1b]52;c;YQ==\x07");
        assert!(super::sequence("YQ==", true).ends_with("\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\"));
    }
}
