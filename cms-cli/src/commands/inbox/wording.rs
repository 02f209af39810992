//! A submission as people read it

use cms_core::funnels::{FunnelSubmissionDetail, PassedNode};

/// Answers, the way, files and mails, a line for each; and how long it is kept.
pub(super) fn cell(one: &FunnelSubmissionDetail, column: &str) -> Option<String> {
    let lines: Vec<String> = match column {
        "kept_until" => vec![one.kept_until.clone().unwrap_or_else(|| "for good".to_owned())],
        "answers" => {
            one.answers.iter().map(|answer| format!("{}: {}", answer.field, answer.text)).collect()
        }
        "path_resolved" => one.path_resolved.iter().flat_map(passed).collect(),
        "files" => one
            .files
            .iter()
            .map(|file| {
                format!("{} ({}, {} bytes): {}", file.name, file.media_type, file.size, file.file)
            })
            .collect(),
        "mails" => one
            .mails
            .iter()
            .map(|mail| format!("{} to {}: {} ({})", mail.id, mail.to, mail.subject, mail.status))
            .collect(),
        _ => return None,
    };
    Some(lines.join("\n"))
}

fn passed(node: &PassedNode) -> Vec<String> {
    let answers: Vec<_> =
        node.answers.iter().map(|answer| format!("{}: {}", answer.field, answer.text)).collect();
    let what = if answers.is_empty() { String::new() } else { format!(": {}", answers.join(", ")) };
    let head = format!("{} {}{what}", node.kind, node.name);
    let ways = node.ways.iter().map(|way| format!("  {}", way.words));
    std::iter::once(head).chain(ways).collect()
}
