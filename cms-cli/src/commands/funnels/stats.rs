//! `cms funnels stats`: the numbers of a funnel, as tables with bars

use clap::Args;
use cms_core::funnels::{Analytics, AnalyticsTotals};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        funnels::{List, WhichFunnels},
        inbox::{FunnelNumbers, Numbers},
        parameters::{Limit, ListQuery},
    },
};
use serde_json::json;

use crate::{
    output::{Done, Output, counted, table},
    reply,
};

/// The most funnels that are shown when none is named.
const FUNNELS: u32 = 50;
/// The longest bar, in characters.
const BAR: f64 = 24.0;
/// The most rows of the tables of sources and answers.
const ROWS: usize = 10;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms funnels stats leads
  cms funnels stats leads --from 2026-11-01 --to 2026-11-15 --version 3")]
pub(crate) struct StatsArgs {
    /// Id or slug of the funnel; without it, a line for each
    funnel: Option<String>,
    /// The first day; thirty days without it
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// The last day; today without it
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    /// Only visits of this version
    #[arg(long, value_name = "NUMBER")]
    version: Option<i64>,
    /// The time zone that the days must be in: another than the funnel's is refused
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
}

pub(super) async fn run(out: &Output, client: &Client, args: &StatsArgs) -> Done {
    let Some(funnel) = &args.funnel else { return all(out, client, args).await };
    let asked = asked(args, funnel);
    reply::printed::<Numbers>(out, client, &asked, &NoBody, |told| shown(out, &told.data)).await
}

fn asked(args: &StatsArgs, funnel: &str) -> FunnelNumbers {
    FunnelNumbers {
        funnel_id: funnel.to_owned(),
        from: args.from.clone(),
        to: args.to.clone(),
        version: args.version,
        tz: args.tz.clone(),
    }
}

/// A line for each funnel.
async fn all(out: &Output, client: &Client, args: &StatsArgs) -> Done {
    let which = WhichFunnels {
        language: Some("*".to_owned()),
        list: ListQuery::page(Limit(FUNNELS), None),
        ..WhichFunnels::default()
    };
    let (_, page) = reply::call::<List>(client, &which, &NoBody).await?;
    let mut found = Vec::new();
    for funnel in page.data {
        let asked = asked(args, &funnel.id.to_string());
        let told = reply::data::<Numbers>(client, &asked, &NoBody).await?;
        found.push((funnel.slug, funnel.language_short, told));
    }
    if out.json {
        let data: Vec<_> = found.iter().map(|(.., told)| told).collect();
        return Ok(out.data(&json!(data))?);
    }
    let columns = [
        "funnel", "started", "completed", "rate", "abandoned", "under way", "started before",
        "language_short", "id",
    ];
    let rows: Vec<_> = found
        .iter()
        .map(|(slug, language, told)| {
            let AnalyticsTotals { started, completed, abandoned, in_progress, .. } = told.totals;
            vec![
                slug.clone(),
                started.to_string(),
                completed.to_string(),
                rate(told.totals.completion_rate),
                abandoned.to_string(),
                in_progress.to_string(),
                told.previous.totals.started.to_string(),
                language.clone(),
                told.funnel_id.to_string(),
            ]
        })
        .collect();
    Ok(table::rows(out, &columns, &rows)?)
}

fn shown(out: &Output, told: &Analytics) -> Done {
    let range = &told.range;
    let days = counted(range.days.unsigned_abs(), "day");
    out.line(&format!("{} to {} ({days}, {})", range.from, range.to, range.tz))?;
    totals(out, told)?;
    title(out, "Steps")?;
    let columns = ["step", "entered", "answered", "left", "waiting", "left %", "median", "reach"];
    let rows: Vec<_> = told
        .steps
        .iter()
        .map(|step| {
            vec![
                step.node_name.clone(),
                step.entered.to_string(),
                step.answered.to_string(),
                step.exited.to_string(),
                step.waiting.to_string(),
                percent(step.dropoff_pct),
                seconds(step.median_dwell_s),
                bar(step.reach_pct),
            ]
        })
        .collect();
    table::rows(out, &columns, &rows)?;
    if !told.branches.is_empty() {
        title(out, "Branches")?;
        let columns = ["from", "to", "branch", "visits", "share %", "completed %"];
        let rows: Vec<_> = told
            .branches
            .iter()
            .map(|one| {
                let (label, visits) = (one.branch_label.clone(), one.sessions.to_string());
                let (from, to) = (one.from_name.clone(), one.to_name.clone());
                vec![from, to, label, visits, percent(one.share_pct), percent(one.conversion_pct)]
            })
            .collect();
        table::rows(out, &columns, &rows)?;
    }
    if !told.sources.is_empty() {
        title(out, "Sources")?;
        let rows: Vec<_> = told
            .sources
            .iter()
            .take(ROWS)
            .map(|one| {
                let name = one.utm_source.clone().unwrap_or_else(|| "(none)".to_owned());
                let (started, completed) = (one.started.to_string(), one.completed.to_string());
                vec![name, started, completed, rate(one.completion_rate)]
            })
            .collect();
        table::rows(out, &["source", "started", "completed", "rate"], &rows)?;
        if let Some(more) = more(told.sources.len()) {
            out.note(&more);
        }
    }
    let answered: Vec<_> = told
        .fields
        .iter()
        .flat_map(|field| field.top.iter().map(move |one| (field, one)))
        .map(|(field, one)| {
            let value = one.label.clone().unwrap_or_else(|| one.value.clone());
            vec![field.field.clone(), value, one.count.to_string()]
        })
        .collect();
    if !answered.is_empty() {
        title(out, "Answers")?;
        table::rows(out, &["field", "answer", "visits"], &answered)?;
    }
    Ok(())
}

/// What the table of sources leaves out.
fn more(sources: usize) -> Option<String> {
    let more = sources.checked_sub(ROWS).filter(|more| *more > 0)?;
    Some(format!("... and {} (--json shows them)", counted(more as u64, "more source")))
}

/// The totals beside those of the period before.
fn totals(out: &Output, told: &Analytics) -> Done {
    let (now, before) = (&told.totals, &told.previous.totals);
    let number = |name: &str, of: fn(&AnalyticsTotals) -> i64| {
        vec![name.to_owned(), of(now).to_string(), of(before).to_string()]
    };
    let other =
        |name: &str, of: fn(&AnalyticsTotals) -> String| vec![name.to_owned(), of(now), of(before)];
    let rows = [
        number("started", |all| all.started),
        number("engaged", |all| all.engaged),
        number("completed", |all| all.completed),
        number("abandoned", |all| all.abandoned),
        number("under way", |all| all.in_progress),
        number("spam", |all| all.spam),
        other("completion rate", |all| rate(all.completion_rate)),
        other("median duration", |all| seconds(all.median_duration_s)),
    ];
    Ok(table::rows(out, &["visits", "now", "before"], &rows)?)
}

fn title(out: &Output, text: &str) -> Done {
    Ok(out.line(&format!("\n{text}"))?)
}

/// A percentage, or `–` when there is nothing to divide by.
fn percent(percent: Option<f64>) -> String {
    percent.map_or_else(|| "–".to_owned(), |percent| format!("{percent:.1}"))
}

fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "–".to_owned(), |rate| format!("{:.1} %", 100.0 * rate))
}

fn seconds(seconds: Option<f64>) -> String {
    match seconds {
        None => "–".to_owned(),
        Some(seconds) if seconds < 120.0 => format!("{seconds:.0} s"),
        Some(seconds) if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        Some(seconds) => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A bar: the share of all visits that come this far.
fn bar(percent: Option<f64>) -> String {
    let eighths = (percent.unwrap_or_default().clamp(0.0, 100.0) / 100.0 * BAR * 8.0).round();
    let eighths = eighths as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_part() {
        for (percent, width) in [(None, 0), (Some(0.0), 0), (Some(100.0), 24), (Some(50.0), 12)] {
            assert_eq!(bar(percent).chars().count(), width, "{percent:?}");
        }
        assert_eq!(bar(Some(2.0)), "▌");
    }

    #[test]
    fn what_the_table_of_sources_leaves_out_is_told() {
        assert_eq!((more(0), more(ROWS)), (None, None));
        let told = [1, 5].map(|left| more(ROWS + left).expect("some"));
        let expected = ["1 more source", "5 more sources"];
        assert_eq!(told, expected.map(|what| format!("... and {what} (--json shows them)")));
    }

    #[test]
    fn what_cannot_be_divided_is_a_dash() {
        assert_eq!(
            (percent(None), rate(None), seconds(None)),
            ("–".into(), "–".into(), "–".into())
        );
        assert_eq!((rate(Some(0.375)), seconds(Some(61.5))), ("37.5 %".into(), "62 s".into()));
        assert_eq!(
            (seconds(Some(600.0)), seconds(Some(9000.0))),
            ("10 min".into(), "2.5 h".into())
        );
    }
}
