//! The inbox on many submissions: rows, keys, filters, idle.

use std::{path::Path, time::Duration};

use super::{IDLE, half_pages, median, ms, said, terminal::Terminal};

/// One step and one end.
pub(crate) const FUNNEL: &str = r#"{"name": "Leads", "slug": "leads", "start_node_id": -1,
    "nodes": [
        {"client_id": -1, "type": "step", "name": "Who", "config_json": {"fields": [
            {"id": "name", "type": "short_text", "label": "Name"},
            {"id": "mail", "type": "email", "label": "Mail"}]}},
        {"client_id": -2, "type": "end", "name": "Thank you", "config_json": {}}],
    "edges": [{"from_node_id": -1, "to_node_id": -2, "branch_label": "default"}]}"#;

/// So many submissions of that funnel, a minute apart, in all states.
pub(crate) const SUBMISSIONS: &str = "insert into cms_formfunnel_submissions (funnel_id, \
     version_id, version, session_uuid, status, path_json, answers_json, last_node_id, \
     end_node_id, end_kind, steps_answered, progress_pct, inbox_status, is_spam, contact_name, \
     contact_email, company, summary, score, started_at, last_activity_at, presented_at, \
     completed_at, expires_at) \
     with recursive c (i) as (select 1 union all select i + 1 from c where i < $1), \
     f as (select v.funnel_id, v.id as version_id, v.version, \
     (select node_id from cms_formfunnel_version_nodes where version_id = v.id \
     and type = 'step') as step, \
     (select node_id from cms_formfunnel_version_nodes where version_id = v.id \
     and type = 'end') as last from cms_formfunnel_versions v order by v.id limit 1) \
     select f.funnel_id, f.version_id, f.version, 'bench-' || i, \
     case when i % 4 = 0 then 'abandoned' else 'completed' end, \
     case when i % 4 = 0 then '[' || f.step || ']' else '[' || f.step || ',' || f.last || ']' end, \
     '{\"name\":\"Person ' || i || '\",\"mail\":\"p' || i || '@example.org\"}', \
     case when i % 4 = 0 then f.step else f.last end, \
     case when i % 4 > 0 then f.last end, case when i % 4 > 0 then 'thank_you' end, \
     case when i % 4 = 0 then 0 else 1 end, case when i % 4 = 0 then 50 else 100 end, \
     case i % 10 when 0 then 'qualified' when 1 then 'contacted' when 2 then 'converted' \
     when 3 then 'rejected' else 'new' end, i % 97 = 0, 'Person ' || i, \
     'p' || i || '@example.org', 'Company ' || i % 5000, 'Person ' || i || ' · note ' || i % 777, \
     i % 100, 1700000000000 + i * 60000, 1700000000000 + i * 60000 + 30000, \
     1700000000000 + i * 60000, case when i % 4 > 0 then 1700000000000 + i * 60000 + 30000 end, \
     1800000000000 + i * 60000 from c cross join f";

pub(crate) fn measure(dir: &Path) {
    let (mut paint, mut rows) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let terminal = Terminal::start(dir, &["inbox"]);
        paint.push(terminal.shows("Inbox") - terminal.started);
        rows.push(terminal.shows("Person ") - terminal.started);
        terminal.leave();
    }
    said("inbox: first paint, from the start of the program", ms(median(paint)), "50 ms");
    said("inbox: rows, from the start", ms(median(rows)), "-");
    let mut terminal = at_inbox(dir);
    terminal.press("1");
    terminal.shows("What needs attention");
    terminal.hides("Person ");
    let pressed = terminal.press("9");
    said("inbox: rows, from the key", ms(terminal.shows("Person ") - pressed), "150 ms");
    // Each filter, from its last key.
    for (name, words, shown) in [
        ("state", "state:qualified", "qualified"),
        ("text", "p4242@", "Person 4242"),
        ("since", "since:90000d state:converted", "converted"),
    ] {
        terminal.press("/\x15");
        std::thread::sleep(Duration::from_millis(300));
        let pressed = terminal.press(words);
        let drawn = terminal.shows_only("Person ", shown) - pressed;
        said(&format!("inbox: rows of a filter by {name}"), ms(drawn), "-");
        terminal.press("\r");
    }
    terminal.press("/\x15\r");
    keys(&mut terminal);
    terminal.leave();
    idle(dir);
}

fn at_inbox(dir: &Path) -> Terminal {
    let terminal = Terminal::start(dir, &["inbox"]);
    terminal.shows("Person ");
    terminal
}

/// Through the list in half pages, as in the list of records.
fn keys(terminal: &mut Terminal) {
    std::thread::sleep(Duration::from_millis(500));
    let (times, ends) = half_pages(terminal);
    if times.is_empty() {
        return;
    }
    said("inbox: keys at the end of the rows that were there, of 400", ends, "-");
    said("inbox: key to frame while rows are read, median", ms(times[times.len() / 2]), "-");
    let p99 = times[times.len() * 99 / 100];
    said("inbox: key to frame while rows are read, p99", ms(p99), "16 ms");
    said("inbox: memory then", format!("{:.0} MiB", terminal.memory_mib()), "60 MiB");
}

fn idle(dir: &Path) {
    let terminal = at_inbox(dir);
    std::thread::sleep(Duration::from_secs(5));
    let (cpu, bytes) = (terminal.cpu(), terminal.bytes());
    std::thread::sleep(IDLE);
    let share = (terminal.cpu() - cpu).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    said("inbox: idle CPU", format!("{share:.3} %"), "0.2 %");
    said("inbox: bytes drawn while idle", terminal.bytes() - bytes, "0");
    terminal.leave();
}
