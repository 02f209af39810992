//! Who sends mails, in which order, and who rests.

use cms_http::wire::{health::Readyz, mail::Providers, parameters::NoQuery};
use serde_json::Value as Json;

use crate::{
    moment,
    screens::{browser::Above, cells::plain_text},
    step::get,
    theme::Role,
};

pub(super) static ABOVE: Above = Above {
    title: "Providers",
    asks: &[|| get::<Providers>(&NoQuery {}), || get::<Readyz>(&Default::default())],
    height: 4,
    lines,
};

fn lines(known: &[Json], now: i64) -> Vec<(Role, String)> {
    let (Some(Json::Array(providers)), ready) = (known.first(), known.get(1)) else {
        return vec![(Role::Quiet, "Loading …".to_owned())];
    };
    let mut lines: Vec<_> = providers.iter().map(|one| line(one, now)).collect();
    if lines.is_empty() {
        let why = "None is set: mails wait. Set mail.smtp_url or another provider.";
        lines.push((Role::Bad, why.to_owned()));
    }
    let sends = ready.is_some_and(|ready| ready["mail"] == "running");
    lines.push(match sends {
        true => (Role::Good, "● the process that answers sends".to_owned()),
        false => (Role::Quiet, "○ the process that answers sends none; others may".to_owned()),
    });
    lines
}

fn line(provider: &Json, now: i64) -> (Role, String) {
    let [name, kind, server, reason] =
        ["name", "kind", "server", "reason"].map(|name| plain_text(&provider[name]));
    let until = provider["rests_until"].as_str().map(|at| moment::clock(at, now));
    let (role, state) = match (provider["state"].as_str(), until) {
        (Some("resting"), Some(until)) => (Role::Bad, format!("✗ rests until {until}: {reason}")),
        (Some("probing"), _) => (Role::Warn, format!("◐ the next mail tries it: {reason}")),
        _ => (Role::Good, "✓ ready".to_owned()),
    };
    let place = &provider["place"];
    (role, format!("{place} {name:<13} {kind:<9} {server:<28} {state}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_provider_has_a_line_and_none_is_told() {
        let smtp = json!({"name": "smtp", "place": 1, "kind": "smtp", "state": "resting",
                          "server": "mail.example.org:25", "reason": "hung up",
                          "rests_until": "2026-11-21T12:00:00Z"});
        let said = lines(&[json!([smtp]), json!({"mail": "running"})], 0);
        assert!(said[0].0 == Role::Bad && said[0].1.contains("hung up"), "{said:?}");
        assert_eq!((said.len(), said[1].0), (2, Role::Good));
        assert_eq!(lines(&[json!([])], 0)[0].0, Role::Bad);
        assert_eq!(lines(&[], 0)[0].0, Role::Quiet);
    }
}
