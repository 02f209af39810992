//! Events: names.

use super::Check;
use crate::events::{OWN, known};

impl Check<'_> {
    pub(super) fn events(&mut self) {
        let events = &self.manifest.webhook_events;
        let names = events.iter().enumerate();
        self.doubles(
            names.map(|(i, event)| (format!("/webhook_events/{i}/name"), event.name.as_str())),
            "is declared twice",
        );
        for (i, event) in events.iter().enumerate() {
            let (name, at) = (event.name.as_str(), format!("/webhook_events/{i}/name"));
            let is_name = (1..=200).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
            if !is_name {
                let remedy = format!(
                    "letters, digits, `.`, `_` and `-` are expected, such as \"{}.paid\"",
                    self.manifest.id
                );
                self.fault(at, remedy);
            } else if let Some(own) = OWN.iter().find(|own| name.starts_with(**own)) {
                let remedy = format!(
                    "names that begin with {own} are the service's own: write \"{}.{}\"",
                    self.manifest.id,
                    name.rsplit('.').next().unwrap_or_default()
                );
                self.fault(at, remedy);
            } else if known(name).is_some() {
                self.fault(at, format!("the service declares {name} already: leave it out"));
            }
        }
    }
}
