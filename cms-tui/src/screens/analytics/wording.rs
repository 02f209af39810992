//! Figures in words, and bars.

use crate::screens::prelude::*;

/// Parts of a cell, an eighth each.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar of a share of so many cells.
pub(super) fn bar(share: f64, cells: usize) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * cells as f64 * 8.0).round() as usize;
    // A share above zero shows at least a sliver.
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

pub(crate) fn count(value: &Json) -> String {
    value.as_i64().map_or_else(|| "—".to_owned(), number)
}

/// A percentage; `—` when there is none.
pub(crate) fn percent(value: &Json) -> String {
    value.as_f64().map_or_else(|| "—".to_owned(), |value| format!("{value:.0} %"))
}

/// A rate between 0 and 1 as a percentage.
fn rate(value: &Json) -> String {
    value.as_f64().map_or_else(|| "—".to_owned(), |value| format!("{:.0} %", value * 100.0))
}

/// Seconds in words.
pub(super) fn span(value: &Json) -> String {
    value.as_f64().map_or_else(|| "—".to_owned(), |s| moment::span(s.round() as i64))
}

/// By how much a number is more or less than the one before.
fn against(now: &Json, before: &Json) -> String {
    match (now.as_f64(), before.as_f64()) {
        (Some(now), Some(before)) if before > 0.0 && now > before => {
            format!(" ▲{:.0} %", (now - before) / before * 100.0)
        }
        (Some(now), Some(before)) if before > 0.0 && now < before => {
            format!(" ▼{:.0} %", (before - now) / before * 100.0)
        }
        _ => String::new(),
    }
}

/// All of it in two lines.
pub(super) fn totals(told: &Json) -> Lines {
    let (now, before) = (&told["totals"], &told["previous"]["totals"]);
    let of = |name: &str| format!("{}{}", count(&now[name]), against(&now[name], &before[name]));
    let first = format!(
        "started {}   completed {} ({})   abandoned {}   under way {}",
        of("started"),
        of("completed"),
        rate(&now["completion_rate"]),
        of("abandoned"),
        count(&now["in_progress"]),
    );
    let range = &told["previous"]["range"];
    let second = format!(
        "answered at least once {}   median {}   spam {}   ▲▼ against {} to {}",
        of("engaged"),
        span(&now["median_duration_s"]),
        count(&now["spam"]),
        range["from"].as_str().unwrap_or("—"),
        range["to"].as_str().unwrap_or("—"),
    );
    vec![(Role::Title, first), (Role::Quiet, second)]
}

/// A step: its name, who came, as a bar, who left.
pub(super) fn step(step: &Json, most: f64, cells: usize) -> (String, String) {
    let name = step["node_name"].as_str().unwrap_or_default();
    let name = fitted(&safe(name), (cells / 4).clamp(8, 20));
    let came = format!("{:>7}", count(&step["entered"]));
    let entered = step["entered"].as_f64().unwrap_or(0.0);
    let left = step["exited"].as_i64().filter(|left| *left > 0);
    let left = left.map(|left| format!(" −{} ({})", number(left), percent(&step["dropoff_pct"])));
    let tail = format!(" {:>5}{}", percent(&step["reach_pct"]), left.unwrap_or_default());
    let room = cells.saturating_sub(width(&name) + came.len() + 2 + 20).max(4);
    let share = if most > 0.0 { entered / most } else { 0.0 };
    (format!("{name} {came} {}", fitted(&bar(share, room), room)), tail)
}

/// Which way visits went on.
pub(super) fn branches(told: &Json, cells: usize) -> Lines {
    let mut lines = Vec::new();
    let labelled = |one: &&Json| one["branch_label"] != "default";
    for one in items(&told["branches"]).iter().filter(labelled) {
        let from = safe(one["from_name"].as_str().unwrap_or_default()).into_owned();
        let branch = if one["branch_label"] == "true" { "yes" } else { "no" };
        let share = one["share_pct"].as_f64().unwrap_or(0.0) / 100.0;
        let room = (cells / 8).clamp(3, 12);
        let said = format!("{from} {branch}");
        let said = fitted(&said, cells.saturating_sub(room + 16).max(8));
        let bar = fitted(&bar(share, room), room);
        let line = format!(
            "{said} {bar} {:>6} {:>5}",
            count(&one["sessions"]),
            percent(&one["share_pct"])
        );
        lines.push((Role::Plain, line));
    }
    lines
}

/// Where visits came from: the largest first, as the service tells them.
pub(super) fn sources(told: &Json, cells: usize) -> Lines {
    let all = items(&told["sources"]);
    let most = all.iter().filter_map(|one| one["started"].as_f64()).fold(0.0, f64::max);
    let line = |one: &Json| {
        let name = one["utm_source"].as_str().filter(|name| !name.is_empty()).unwrap_or("direct");
        let room = (cells / 8).clamp(3, 12);
        let share = if most > 0.0 { one["started"].as_f64().unwrap_or(0.0) / most } else { 0.0 };
        let name = fitted(&safe(name), cells.saturating_sub(room + 26).max(8));
        let done = rate(&one["completion_rate"]);
        let bar = fitted(&bar(share, room), room);
        (Role::Plain, format!("{name} {bar} {:>6} completed {done:>5}", count(&one["started"])))
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths_and_show_what_is_there() {
        for (share, cells, expected) in [
            (0.0, 4, ""),
            (1.0, 4, "████"),
            (2.0, 4, "████"),
            (0.5, 3, "█▌"),
            (0.001, 4, "▏"),
            (f64::NAN, 4, ""),
        ] {
            assert_eq!(bar(share, cells), expected, "{share}");
        }
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        let empty = json!({"totals": {"started": 0, "completion_rate": null}, "steps": []});
        let said = totals(&empty);
        assert!(said[0].1.contains("started 0") && said[0].1.contains("(—)"), "{said:?}");
        let more = json!({"totals": {"started": 15}, "previous": {"totals": {"started": 10}}});
        assert!(totals(&more)[0].1.contains("started 15 ▲50 %"));
    }
}
