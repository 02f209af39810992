//! The floors of each crate, from the bottom, and the imports that are still wrong.

use super::judge::Floors;

/// Every crate whose imports are judged.
pub(super) const CRATES: [(&str, Floors); 4] =
    [("cms-core", CORE), ("cms-http", HTTP), ("cms-cli", CLI), ("cms-tui", TUI)];

/// Crates without floors: a list of files, programs of one file, and tests.
pub(super) const FLAT: [&str; 3] = ["migrations", "examples", "tests"];

/// Imports that are wrong today: crate, importing module, imported module. This list may only
/// shrink; an entry that is mended fails the test.
pub(super) const ALLOWED: &[(&str, &str, &str)] = &[];

const CORE: Floors = &[
    &["crate"],
    &["ground"],
    &["settings"],
    &["db"],
    &["events"],
    &["change"],
    &["base"],
    &["access"],
    &["outbound"],
    &["jobs"],
    &["fields"],
    &["conditions"],
    &["content"],
    &["items"],
    &["audit"],
    &["keys"],
    &["accounts"],
    &["traffic"],
    &["plugins"],
    &["scripts"],
    &["pages"],
    &["media"],
    &["tasks"],
    &["mail"],
    &["forms"],
    &["funnels"],
    &["webhooks"],
    &["erasure"],
    &["theme"],
    &["backup"],
    &["update"],
    &["site"],
    &["testing"],
];

const HTTP: Floors = &[
    &["crate"],
    &["metrics", "budget", "mount", "request_id"],
    &["body"],
    &["wire"],
    &["request"],
    &["caller"],
    &["demand"],
    &["reply"],
    &["success"],
    &["describe"],
    &["refusals", "replies", "reply_budget", "streams"],
    &["kept"],
    &["idempotency"],
    &["call"],
    &["reauthorizer"],
    &["openapi"],
    &["handlers"],
    &["routes"],
    &["gate"],
    &["api"],
    &["connection_limits"],
    &["idle_reaper"],
    &["lingering_close"],
    &["connection"],
    &["server", "client", "testing"],
];

const CLI: Floors = &[
    &["environment", "output", "shop"],
    &["log"],
    &["input", "folder", "contexts"],
    &["flags"],
    &["loopback", "prompt", "signals", "target"],
    &["site"],
    &["reply"],
    &["commands::*"],
    &["commands"],
    &["args"],
    &["crate"],
];

const TUI: Floors = &[
    &["text", "theme", "moment"],
    &["keys"],
    &["actions"],
    &["calls"],
    &["widgets"],
    &["step"],
    &["screens"],
    &["model"],
    &["view"],
    &["run"],
    &["crate"],
];
