//! A new secret, shown once.

use crate::{calls::Reply, step::Step, widgets::viewer::Viewer};

/// Shows a secret that will not be shown again.
pub(super) fn shown(name: &str, done: &str, reply: &Reply) -> Step {
    let secret = reply.data["secret"].as_str().unwrap_or_default().to_owned();
    let about = "The receiver checks signatures with this secret.";
    let mut steps = vec![
        Step::did(format!("{name} {done}")),
        Step::View(Viewer::once(format!("Secret of {name}"), about, secret)),
    ];
    let warnings = reply.data["meta"]["warnings"].as_array().into_iter().flatten();
    let warnings: Vec<_> = warnings.filter_map(|one| one["message"].as_str()).collect();
    if !warnings.is_empty() {
        steps.push(Step::Tell(format!("Saved, but: {}", warnings.join("; "))));
    }
    Step::Several(steps)
}
