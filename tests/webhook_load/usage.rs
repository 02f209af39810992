//! What processes use, as Linux tells it.

use std::{fs, time::Duration};

/// Ticks of `/proc/PID/stat` in a second, on every Linux that Rust runs on.
const TICKS: u64 = 100;

/// CPU time so far, and memory.
#[derive(Clone, Copy, Default)]
pub struct Usage {
    pub cpu: Duration,
    /// Proportional set size: what processes share is counted once.
    pub kib: u64,
}

impl Usage {
    /// Of one process.
    pub fn of(pid: u32) -> Self {
        Self { cpu: ticks(pid, &[11, 12]), kib: kib(pid) }
    }

    /// Of a server and its children, those that have ended too.
    pub fn of_family(parent: u32) -> Self {
        let mut all = Self { cpu: ticks(parent, &[11, 12, 13, 14]), kib: kib(parent) };
        let pids = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for child in pids.filter(|pid| self::parent(*pid) == Some(parent)) {
            let one = Self::of(child);
            all.cpu += one.cpu;
            all.kib += one.kib;
        }
        all
    }
}

pub fn parent(pid: u32) -> Option<u32> {
    field(&stat(pid)?, 1)
}

/// What follows the name of the program, which may hold spaces.
fn stat(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ").map(|(_, rest)| rest.to_owned())
}

fn field<T: std::str::FromStr>(stat: &str, index: usize) -> Option<T> {
    stat.split(' ').nth(index)?.parse().ok()
}

fn ticks(pid: u32, fields: &[usize]) -> Duration {
    let Some(stat) = stat(pid) else { return Duration::ZERO };
    let ticks: u64 = fields.iter().filter_map(|index| field::<u64>(&stat, *index)).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}

fn kib(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}
