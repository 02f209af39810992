//! Whether an address gets an automatic reply (RFC 3834, 2): never robots, never ourselves. Pure.

use super::MailAddress;
use crate::fields;

/// Names of mailboxes that nobody reads, or that answer by themselves.
const ROBOTS: [&str; 14] = [
    "abuse",
    "bounce",
    "bounces",
    "do-not-reply",
    "donotreply",
    "hostmaster",
    "listserv",
    "mailer-daemon",
    "majordomo",
    "no-reply",
    "nobody",
    "noreply",
    "postmaster",
    "root",
];
/// How such names begin and end.
const BEGINNINGS: [&str; 3] = ["owner-", "bounce-", "bounces-"];
const ENDS: [&str; 6] = ["-owner", "-request", "-bounces", "-noreply", "-no-reply", "-admin"];

/// Why an address gets no automatic reply.
///
/// `own` are the domains of the site. At a domain of a free provider only the sender itself is our
/// own.
pub(super) fn refused(
    to: &MailAddress,
    sender: Option<&MailAddress>,
    own: &[&str],
) -> Option<String> {
    let mailbox = to.mailbox();
    if sender.is_some_and(|sender| sender.mailbox() == mailbox) {
        return Some("the address is this site's own".to_owned());
    }
    let (local, domain) = mailbox.rsplit_once('@').unwrap_or((&mailbox, ""));
    let is_robot = ROBOTS.contains(&local)
        || BEGINNINGS.iter().any(|beginning| local.starts_with(beginning))
        || ENDS.iter().any(|end| local.ends_with(end));
    if is_robot {
        return Some(format!("no automatic reply to {local}@: nobody reads it"));
    }
    let is_own = |own: &&str| own.eq_ignore_ascii_case(domain) && !fields::is_free(domain);
    own.iter().any(is_own).then(|| format!("no automatic reply to {domain}: it is this site's own"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_and_ourselves_get_none() {
        let sender = MailAddress::parse("shop@example.org").expect("an address");
        let free = MailAddress::parse("shop@gmail.com").expect("an address");
        for (to, sender, gets) in [
            ("ana@example.com", &sender, true),
            ("owner@example.com", &sender, true),
            ("MAILER-DAEMON@example.com", &sender, false),
            ("No-Reply+7@example.com", &sender, false),
            ("owner-list@example.com", &sender, false),
            ("list-request@example.com", &sender, false),
            ("list-bounces@example.com", &sender, false),
            ("Shop+1@example.org", &sender, false),
            ("ana@example.org", &sender, false),
            ("ana@sub.example.org", &sender, true),
            ("ana@www.example.net", &sender, false),
            ("ana@gmail.com", &free, true),
            ("shop@gmail.com", &free, false),
        ] {
            let to = MailAddress::parse(to).expect("an address");
            let own = [sender.parts().1, "www.example.net"];
            assert_eq!(refused(&to, Some(sender), &own).is_none(), gets, "{to}");
        }
    }
}
