//! The floors of each crate, from the bottom, and the imports that are still wrong.

use super::judge::Floors;

/// Every crate whose imports are judged.
pub(super) const CRATES: [(&str, Floors); 4] =
    [("cms-core", CORE), ("cms-http", HTTP), ("cms-cli", CLI), ("cms-tui", TUI)];

/// Imports that are wrong today: crate, importing module, imported module. This list may only
/// shrink; an entry that is mended fails the test.
pub(super) const ALLOWED: &[(&str, &str, &str)] = &[
    ("cms-core", "accounts::admins", "accounts::sql::groups"),
    ("cms-core", "accounts::attempts", "accounts::sql::attempts"),
    ("cms-core", "accounts::groups", "accounts::admins"),
    ("cms-core", "accounts::groups", "accounts::sql::groups"),
    ("cms-core", "accounts::session", "accounts::sql::sessions"),
    ("cms-core", "accounts::sql::attempts", "accounts::attempts"),
    ("cms-core", "accounts::sql::groups", "accounts::groups"),
    ("cms-core", "accounts::sql::sessions", "accounts::session"),
    ("cms-core", "accounts::sql::users", "accounts::users"),
    ("cms-core", "accounts::users", "accounts::admins"),
    ("cms-core", "accounts::users", "accounts::sql::groups"),
    ("cms-core", "accounts::users", "accounts::sql::logins"),
    ("cms-core", "accounts::users", "accounts::sql::sessions"),
    ("cms-core", "accounts::users", "accounts::sql::users"),
    ("cms-core", "ground::crypto", "ground::random"),
    ("cms-core", "ground::random", "ground::crypto"),
    ("cms-core", "settings::defaults", "settings::layers"),
    ("cms-core", "settings::layers", "settings::defaults"),
    ("cms-core", "webhooks::deliver::claim", "webhooks::subscriptions"),
    ("cms-core", "webhooks::deliver::claim", "webhooks::subscriptions::sql"),
    ("cms-core", "webhooks::deliver::settle", "webhooks::subscriptions"),
    ("cms-core", "webhooks::deliver::settle", "webhooks::subscriptions::sql"),
    ("cms-core", "webhooks::deliver::sql::queue", "webhooks::subscriptions::sql"),
    ("cms-core", "webhooks::deliver::worker", "webhooks::subscriptions"),
    ("cms-core", "webhooks::deliver::worker", "webhooks::subscriptions::sql"),
    ("cms-core", "webhooks::subscriptions", "webhooks::deliver"),
    ("cms-core", "webhooks::subscriptions::catalogue", "webhooks::subscriptions::emit"),
    ("cms-core", "webhooks::subscriptions::catalogue", "webhooks::subscriptions::events"),
    ("cms-core", "webhooks::subscriptions::catalogue", "webhooks::subscriptions::example"),
    ("cms-core", "webhooks::subscriptions::emit", "webhooks::subscriptions::catalogue"),
    ("cms-core", "webhooks::subscriptions::emit", "webhooks::subscriptions::events"),
    ("cms-core", "webhooks::subscriptions::events", "webhooks::subscriptions::catalogue"),
    ("cms-core", "webhooks::subscriptions::example", "webhooks::subscriptions::catalogue"),
    ("cms-http", "kept", "shortcuts"),
    ("cms-http", "shortcuts", "api"),
];

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
    &["content"],
    &["items"],
    &["audit"],
    &["keys"],
    &["accounts"],
    &["traffic"],
    &["plugins"],
    &["pages"],
    &["webhooks"],
    &["site"],
];

const HTTP: Floors = &[
    &["crate"],
    &["metrics"],
    &["request", "body"],
    &["reply"],
    &["replies"],
    &["kept"],
    &["idempotency"],
    &["call"],
    &["handlers"],
    &["routes"],
    &["gate"],
    &["shortcuts"],
    &["api"],
    &["headway"],
    &["lingering"],
    &["server", "client"],
];

const CLI: Floors = &[
    &["output"],
    &["input", "log", "folder", "contexts"],
    &["flags"],
    &["prompt", "target"],
    &["site"],
    &["reply"],
    &["commands::*"],
    &["commands"],
    &["args"],
    &["crate"],
];

const TUI: Floors = &[&["model"], &["keys"], &["view"], &["crate"]];
