//! How full the queue is, and whether somebody works on it.

use cms_http::wire::{health::Readyz, webhooks::Stats};

use crate::screens::{browser::Above, prelude::*};

/// Cells of the longest bar.
const LONGEST: usize = 24;
/// Seconds of delay behind which something is wrong.
const LATE_S: i64 = 60;

pub(super) static ABOVE: Above = Above {
    title: "Queue and workers",
    asks: &[|| get::<Stats>(&NoQuery {}), || get::<Readyz>(&Default::default())],
    height: 5,
    lines,
};

fn lines(known: &[Json], _: i64) -> Lines {
    let (Some(stats), ready) = (known.first().filter(|stats| !stats.is_null()), known.get(1))
    else {
        return vec![loading()];
    };
    let of = |status: &str| stats["by_status"][status].as_i64().unwrap_or(0);
    let late = stats["oldest_due_ms"].as_i64().unwrap_or(0) / 1000;
    let most = ["pending", "retry", "sending"].map(of).into_iter().max().unwrap_or(0);
    let line = |status: &str, beside: String| {
        format!(
            "{status:<9}{:>9} {:<LONGEST$}  {beside}",
            number(of(status)),
            bar(of(status), most)
        )
    };
    let rest = format!("held {} · failed {}", number(of("held")), number(of("failed")));
    let done = format!("delivered {}", number(of("delivered")));
    let due = if late > 0 { format!("late by {}", moment::span(late)) } else { String::new() };
    let is_late = if late > LATE_S { Role::Bad } else { Role::Plain };
    vec![
        (is_late, line("pending", due)),
        (Role::Plain, line("retry", rest)),
        (Role::Plain, line("sending", done)),
        (Role::Plain, String::new()),
        worker(
            ready.map_or("", |ready| ready["worker"].as_str().unwrap_or("")),
            of("sending"),
            late,
        ),
    ]
}

/// Workers have no names: the queue tells what is under way, and a process whether it has one.
fn worker(here: &str, sending: i64, late: i64) -> (Role, String) {
    let (role, say) = match here {
        "running" => (Role::Good, "● a worker runs in the process that answers"),
        _ if sending > 0 => (Role::Good, "● a worker of another process is sending"),
        _ if late > LATE_S => (Role::Bad, "✗ nobody sends what is due"),
        _ => (Role::Quiet, "○ none in the process that answers; others show when they send"),
    };
    (role, format!("{say} · D runs one pass"))
}

/// A bar in eighths of a cell.
fn bar(value: i64, most: i64) -> String {
    let eighths = (value * 8 * LONGEST as i64).checked_div(most).unwrap_or(0);
    let eighths = usize::try_from(eighths).unwrap_or(0).max(usize::from(value > 0));
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{part}", "█".repeat(eighths / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_share_one_scale_and_a_late_queue_is_told() {
        assert_eq!(bar(10, 10).chars().count(), LONGEST);
        assert_eq!(
            (bar(0, 10).as_str(), bar(1, 100_000).as_str(), bar(0, 0).as_str()),
            ("", "▏", "")
        );
        let stats = |late| json!({"by_status": {"pending": 3}, "oldest_due_ms": late});
        let said = |late, worker: &str| lines(&[stats(late), json!({"worker": worker})], 0);
        assert_eq!(said(0, "none")[4].0, Role::Quiet);
        assert_eq!(said(61_000, "none")[4].0, Role::Bad);
        assert_eq!(said(61_000, "running")[4].0, Role::Good);
        assert!(said(61_000, "none")[0].1.contains("late by 61s"));
        assert_eq!(lines(&[], 0).len(), 1);
    }
}
