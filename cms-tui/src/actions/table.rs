//! Every action, one line each: name, keys, help; then the command line that does the same, what
//! the action needs, who may run it, and the states that do not allow it. The help begins with a
//! short label, which the footer shows. The file is longer than usual because it is one table.

use serde_json::Value as Json;

use super::{Action, Needs, Needs::*, Right, Right::*};

const fn act(name: &'static str, keys: &'static str, help: &'static str) -> Action {
    let (cli, also, needs, right) = ("", &[], Nothing, Free);
    Action { name, keys, help, cli, also, needs, right, changes: false, state: None }
}

/// An action that changes the site: not in a read-only session.
const fn write(name: &'static str, keys: &'static str, help: &'static str) -> Action {
    Action { changes: true, ..act(name, keys, help) }
}

impl Action {
    const fn cli(mut self, cli: &'static str) -> Self {
        self.cli = cli;
        self
    }

    const fn also(mut self, also: &'static [&'static str]) -> Self {
        self.also = also;
        self
    }

    const fn on(mut self, needs: Needs, right: Right) -> Self {
        (self.needs, self.right) = (needs, right);
        self
    }

    const fn unless(mut self, state: fn(&Json) -> Option<&'static str>) -> Self {
        self.state = Some(state);
        self
    }
}

const HOOKS: Right = Holds("webhooks_subscriptions_edit");
const HOOKS_SEEN: Right = Holds("webhooks_subscriptions_view");
const KEYS: Right = Holds("keys_keys_edit");
const KEYS_SEEN: Right = Holds("keys_keys_view");

const INBOX: Right = Holds("formfunnel_inbox_edit");
const INBOX_SEEN: Right = Holds("formfunnel_inbox_view");
const FUNNELS: Right = Holds("formfunnel_funnels_edit");
const FUNNELS_SEEN: Right = Holds("formfunnel_funnels_view");
const FORMS: Right = Holds("forms_forms_edit");
const FORMS_SEEN: Right = Holds("forms_forms_view");
const MEDIA: Right = Holds("media_media_edit");
const MEDIA_SEEN: Right = Holds("media_media_view");
const PAGES: Right = Holds("pages_pages_edit");
const PAGES_SEEN: Right = Holds("pages_pages_view");

fn is_on(row: &Json) -> Option<&'static str> {
    (row["active"] == true).then_some("it is active already")
}

fn is_settled(row: &Json) -> Option<&'static str> {
    match row["status"].as_str() {
        Some("delivered") => Some("it is delivered"),
        Some("cancelled") => Some("it is cancelled"),
        Some("failed") => Some("it was given up; r on its delivery sends it again"),
        Some("sending") => Some("it is being sent"),
        _ => None,
    }
}

fn is_not_waiting(row: &Json) -> Option<&'static str> {
    match row["status"].as_str() {
        Some("held") => Some("it is held until its webhook is on; press 2, then t"),
        _ => is_settled(row),
    }
}

fn is_sent(row: &Json) -> Option<&'static str> {
    match row["status"].as_str() {
        Some("sent") => Some("it was sent"),
        Some("sending") => Some("it is being sent"),
        Some("dropped") => Some(
            "it was dropped: an automatic reply to an address of a role or a program, to this site \
             itself, or beyond the daily number",
        ),
        _ => None,
    }
}

fn is_hidden(row: &Json) -> Option<&'static str> {
    (row["published"] == false).then_some("it is not published")
}

fn holds_nothing(node: &Json) -> Option<&'static str> {
    let holds = node["kind"] == "widget" || node["kind"] == "item";
    (!holds).then_some("rows, columns and the page hold no values here")
}

fn is_page(node: &Json) -> Option<&'static str> {
    (node["kind"] == "page").then_some("the page is a record: press 6, open the table pages")
}

fn has_members(row: &Json) -> Option<&'static str> {
    row["members"].as_i64().filter(|n| *n > 0).map(|_| "it has members")
}

pub(crate) static ACTIONS: &[Action] = &[
    act("app.help", "?", "All keys; type to search, Enter runs"),
    act("app.palette", "Ctrl-p", "Search all actions"),
    act("app.command", ":", "Type a command"),
    act("app.back", "Esc", "One step back"),
    act("app.undo", "u", "Undo: take the last change back").also(&["inbox undo"]),
    act("app.redo", "U", "Redo: do again what was taken back"),
    act("app.copy", "y", "Copy the equal command line"),
    act("app.copy_id", "Y", "Copy the id").on(Row, Free),
    act("app.reload", "Ctrl-r F5", "Read again"),
    act("app.previous", "[", "The screen before"),
    act("app.next", "]", "The screen after"),
    act("app.last", "-", "The screen you came from"),
    act("app.context", "", "Go to another site").cli("tui --context NAME"),
    act("app.login", "", "Log in").cli("login"),
    act("app.logout", "", "End the session").cli("logout"),
    act("app.quit", "q Ctrl-c", "Leave"),
    act("go.home", "1", "Home: what needs attention"),
    act("go.webhooks", "2", "Webhooks").cli("webhooks list").on(Nothing, HOOKS_SEEN),
    act("go.deliveries", "3", "Deliveries").cli("webhooks deliveries list").on(Nothing, HOOKS_SEEN),
    act("go.queue", "4", "Queue and workers").cli("queue list").on(Nothing, HOOKS_SEEN),
    act("go.keys", "5", "API keys").cli("keys list").on(Nothing, KEYS_SEEN),
    act("go.content", "6", "Content tables").cli("tables list"),
    act("go.users", "7", "Users").cli("users list").on(Nothing, Admin),
    act("go.system", "8", "System: readiness, versions"),
    act("go.inbox", "9", "Inbox: what visitors of funnels sent")
        .cli("inbox list")
        .also(&["inbox watch"])
        .on(Nothing, INBOX_SEEN),
    act("go.groups", "0", "Groups and their rights").cli("groups list").on(Nothing, Admin),
    act("go.origins", "", "Origins").cli("origins list").on(Nothing, Admin),
    act("go.cache", "", "Response cache").cli("cache status").on(Nothing, Admin),
    act("go.limits", "", "Limits: buckets that are not full")
        .cli("limits show")
        .also(&["limits list"])
        .on(Nothing, Admin),
    act("go.attempts", "", "Wrong logins").cli("auth attempts").on(Nothing, Admin),
    act("go.audit", "", "Audit log").cli("audit list").also(&["auth audit"]).on(Nothing, Admin),
    act("go.events", "", "Known events").cli("events list").on(Nothing, HOOKS_SEEN),
    act("go.messages", "", "Recorded events").cli("events tail").on(Nothing, HOOKS_SEEN),
    act("go.mail", "", "Mails and their providers")
        .cli("mail log")
        .also(&["mail providers"])
        .on(Nothing, Admin),
    act("go.forms", "", "Forms and submissions").cli("forms list").on(Nothing, FORMS_SEEN),
    act("go.funnels", "", "Funnels, drawn as graphs").cli("funnels list").on(Nothing, FUNNELS_SEEN),
    act("go.media", "", "Media: uploaded files").cli("media list").on(Nothing, MEDIA_SEEN),
    act("go.pages", "", "Pages: their drafts").cli("pages list").on(Nothing, PAGES_SEEN),
    act("go.tasks", "", "Tasks of plugins").cli("tasks list").on(Nothing, Admin),
    act("go.plugins", "", "Plugins and their problems").cli("plugins list"),
    act("go.widgets", "", "Widgets that pages are made of")
        .cli("widgets list")
        .on(Nothing, PAGES_SEEN),
    act("list.down", "j Down", "Down"),
    act("list.up", "k Up", "Up"),
    act("list.half_down", "Ctrl-d PageDown", "Half a page down"),
    act("list.half_up", "Ctrl-u PageUp", "Half a page up"),
    act("list.first", "g Home", "First row"),
    act("list.last", "G End", "Last row that is loaded"),
    act("list.open", "Enter", "Open"),
    act("list.mark", "Space", "Mark, and down"),
    act("list.range", "v", "Mark from here to the next v"),
    act("list.mark_all", "*", "Mark all loaded rows"),
    act("list.filter", "/", "Filter"),
    act("list.sort", "o", "Sort"),
    act("list.reverse", "O", "Reverse the order"),
    act("list.columns", "=", "Columns: their order and widths"),
    act("list.pane", "Tab", "To the other pane"),
    act("list.zoom", "z", "Preview large or small"),
    write("webhooks.new", "n", "New: a webhook")
        .cli("webhooks create --name NAME --url URL --event EVENT")
        .on(Nothing, HOOKS),
    write("webhooks.edit", "e", "Edit").cli("webhooks edit {id} --name NAME").on(Row, HOOKS),
    act("webhooks.deliveries", "d", "Deliveries: its attempts")
        .cli("webhooks deliveries list --webhook {id}")
        .on(Row, HOOKS_SEEN),
    act("webhooks.queue", "w", "Jobs: its own in the queue")
        .cli("queue list --webhook {id}")
        .on(Row, HOOKS_SEEN),
    act("webhooks.show", "", "Show").cli("webhooks show {id}").on(Row, HOOKS_SEEN),
    write("webhooks.ping", "p", "Test: send one").cli("webhooks ping {id}").on(Row, HOOKS),
    write("webhooks.rotate", "S", "Secret…: give it a new one")
        .cli("webhooks rotate-secret {id} --grace 1h")
        .on(Row, HOOKS),
    write("webhooks.activate", "A", "Switch on; held jobs are sent or dropped…")
        .cli("webhooks activate {id}")
        .on(Row, HOOKS)
        .unless(is_on),
    write("webhooks.toggle", "t", "On/off: pause or switch on")
        .cli("webhooks pause {id}")
        .also(&["webhooks activate {id}"])
        .on(Rows, HOOKS),
    act("webhooks.explain", "", "Who would get an event")
        .cli("webhooks explain EVENT")
        .on(Nothing, HOOKS_SEEN),
    write("webhooks.delete", "x", "Delete…").cli("webhooks delete {id}").on(Row, HOOKS),
    act("deliveries.show", "", "Request and response")
        .cli("webhooks deliveries show {id}")
        .on(Row, HOOKS_SEEN),
    write("deliveries.redeliver", "r", "Send again")
        .cli("webhooks deliveries redeliver {id}")
        .on(Rows, HOOKS),
    write("deliveries.redeliver_all", "R", "Failed again…: send all that failed once more")
        .cli("webhooks deliveries redeliver --status failed --expected N")
        .on(Nothing, HOOKS),
    act("deliveries.diff", "d", "Compare: the two marked attempts, or with the one before")
        .cli("webhooks deliveries show {id}")
        .on(Row, HOOKS_SEEN),
    act("deliveries.payload", "c", "Body: show what was sent")
        .cli("events payload {event_id}")
        .on(Row, HOOKS_SEEN),
    act("delivery.tab", "Tab l Right", "Next tab"),
    act("delivery.attempts", "a", "Attempts: all of its job")
        .cli("webhooks deliveries list --job {queue_id}")
        .on(Nothing, HOOKS_SEEN),
    act("delivery.diff", "d", "Compare: the two marked attempts, or with the one before")
        .cli("webhooks deliveries show {id}")
        .on(Nothing, HOOKS_SEEN),
    act("delivery.payload", "c", "Body: show what was sent")
        .cli("events payload {event_id}")
        .on(Nothing, HOOKS_SEEN),
    write("delivery.redeliver", "r", "Send again")
        .cli("webhooks deliveries redeliver {id}")
        .on(Nothing, HOOKS),
    act("delivery.search", "/", "Search: in what is shown"),
    act("delivery.wrap", "w", "Wrap: long lines, or cut them"),
    act("delivery.search_next", "n", "Next hit"),
    act("delivery.search_before", "N", "Hit before"),
    act("delivery.tab_back", "Shift-Tab h Left", "Tab before"),
    write("queue.retry", "r", "Try now")
        .cli("queue retry {id}")
        .on(Rows, HOOKS)
        .unless(is_not_waiting),
    write("queue.cancel", "x", "Give up…")
        .cli("queue cancel {id}")
        .on(Rows, HOOKS)
        .unless(is_settled),
    write("queue.purge", "P", "Purge…: remove settled jobs")
        .cli("queue purge --status delivered")
        .on(Nothing, HOOKS),
    act("queue.stats", "", "How full the queue is").cli("queue stats").on(Nothing, HOOKS_SEEN),
    write("queue.run", "D", "Run: one pass of a worker")
        .cli("process-webhooks --time-limit=25")
        .on(Nothing, Local),
    write("keys.new", "n", "New: a key")
        .cli("keys create --name NAME --right RIGHT")
        .on(Nothing, KEYS),
    act("keys.rights", "e", "Rights: as a matrix").cli("keys rights {id}").on(Row, KEYS),
    act("keys.show", "", "Show").cli("keys show {id}").on(Row, KEYS_SEEN),
    act("keys.endpoints", "", "What rights can name").cli("keys endpoints").on(Nothing, KEYS_SEEN),
    act("keys.check", "c", "Why: is a call denied?")
        .cli("keys check {id} GET PATH")
        .on(Row, KEYS_SEEN),
    write("keys.grant", "D", "Grant…: exactly what was denied last")
        .cli("keys denied {id} --grant")
        .on(Row, KEYS),
    write("keys.rotate", "S", "Value…: give it a new one")
        .cli("keys rotate {id} --grace 1h")
        .on(Row, KEYS),
    write("keys.toggle", "t", "On/off: switch it")
        .cli("keys disable {id}")
        .also(&["keys enable {id}"])
        .on(Rows, KEYS),
    write("keys.edit", "m", "Edit").cli("keys edit {id} --name NAME").on(Row, KEYS),
    write("keys.expire", "E", "Expiry: the day")
        .cli("keys expire {id} --on 2027-01-01")
        .on(Row, KEYS),
    write("keys.delete", "x", "Delete…").cli("keys delete {id}").on(Row, KEYS),
    write("rights.toggle", "Space", "Grant: or revoke"),
    act("rights.left", "h Left", "Left: the method there"),
    act("rights.right", "l Right", "Right: the method there"),
    write("rights.add", "a", "Add: a row for one table or other parameters"),
    write("rights.save", "Ctrl-s", "Save").cli("keys rights {id} --grant RIGHT").on(Nothing, KEYS),
    act("rights.check", "c", "Try a call").cli("keys check {id} GET PATH").on(Nothing, KEYS_SEEN),
    act("content.columns", "c", "Columns").cli("tables show {name}").on(Row, Free),
    act("content.records", "r", "Records: of this table").cli("items list {name}").on(Row, Free),
    write("records.new", "n", "New: a record").cli("items create {table} -"),
    write("records.edit", "e", "Edit").cli("items update {table} {id} -").on(Row, Free),
    act("records.show", "", "Show").cli("items get {table} {id}").on(Row, Free),
    write("records.set", "s", "Set: one column of the marked records")
        .cli("items update {table} {id} -")
        .on(Rows, Free),
    act("records.language", "L", "Language: the next one"),
    write("records.translate", "T", "Translate: a version in a missing language")
        .cli("items create {table} -")
        .on(Row, Free),
    write("records.delete", "x", "Delete…").cli("items delete {table} {id}").on(Rows, Free),
    write("users.new", "n", "New: a user")
        .cli("users create NAME --group GROUP --password-stdin")
        .on(Nothing, Admin),
    write("users.edit", "e", "Edit: name and groups")
        .cli("users edit {username} --rename NAME")
        .also(&["users show {username}", "users 2fa-status {username}"])
        .on(Row, Admin),
    write("users.toggle", "t", "On/off: switch it")
        .cli("users disable {username}")
        .also(&["users enable {username}"])
        .on(Rows, Admin),
    write("users.passwd", "S", "Password…: give a new one")
        .cli("users passwd {username} --password-stdin")
        .on(Row, Admin),
    act("users.sessions", "w", "Sessions").cli("users sessions {username}").on(Row, Admin),
    write("users.end_sessions", "W", "End…: all sessions")
        .cli("users sessions {username} --revoke")
        .on(Row, Admin),
    write("users.reset", "F", "2nd factor…: remove it")
        .cli("users 2fa-reset {username}")
        .on(Row, Local),
    write("users.codes", "C", "Codes: new ones for recovery")
        .cli("users 2fa-codes {username}")
        .on(Row, Local),
    write("users.delete", "x", "Delete…").cli("users delete {username}").on(Row, Admin),
    write("groups.new", "n", "New: a group").cli("groups create NAME").on(Nothing, Admin),
    write("groups.rights", "e", "Rights")
        .cli("groups rights {name} --grant KEY")
        .also(&["groups show {name}"])
        .on(Row, Admin),
    write("groups.rename", "N", "Rename").cli("groups rename {name} NAME").on(Row, Admin),
    act("groups.permissions", "p", "Permissions: all keys")
        .cli("groups permissions")
        .on(Nothing, Admin),
    write("groups.delete", "x", "Delete…")
        .cli("groups delete {name}")
        .on(Row, Admin)
        .unless(has_members),
    write("origins.new", "n", "New: an origin").cli("origins add URL").on(Nothing, Admin),
    write("origins.toggle", "t", "On/off: switch it")
        .cli("origins deactivate {origin}")
        .also(&["origins activate {origin}"])
        .on(Rows, Admin),
    write("origins.delete", "x", "Delete…").cli("origins remove {origin}").on(Row, Admin),
    write("cache.toggle", "t", "On/off: switch it")
        .cli("cache off")
        .also(&["cache on"])
        .on(Nothing, Admin),
    write("cache.edit", "e", "Edit: how long, and which paths never")
        .cli("cache ttl 300")
        .also(&["cache exclude list", "cache exclude add /PATH", "cache exclude remove /PATH"])
        .on(Nothing, Admin),
    write("cache.clear", "x", "Clear…: kept replies").cli("cache clear").on(Nothing, Admin),
    write("limits.reset", "r", "Fill: the buckets").cli("limits reset {owner}").on(Row, Admin),
    write("attempts.clear", "r", "Let in: this network may try again")
        .cli("auth clear --address {network}")
        .on(Row, Admin),
    act("events.show", "", "Show").cli("events show {event_name}").on(Row, HOOKS_SEEN),
    write("events.emit", "n", "New: raise it")
        .cli("events emit {event_name} --data -")
        .on(Row, HOOKS),
    act("messages.payload", "", "Show what is sent").cli("events payload {id}").on(Row, HOOKS_SEEN),
    act("mail.show", "s", "Show: it whole, with its attempts").cli("mail show {id}").on(Row, Admin),
    write("mail.retry", "r", "Try now, also what was given up")
        .cli("mail retry {id}")
        .on(Rows, Admin)
        .unless(is_sent),
    write("mail.test", "n", "Test: send a mail").cli("mail test ADDRESS").on(Nothing, Admin),
    act("forms.submissions", "d", "Submissions: what was sent")
        .cli("forms submissions list {name}")
        .on(Row, FORMS_SEEN),
    act("forms.show", "s", "Show: it whole").cli("forms show {name}").on(Row, FORMS_SEEN),
    act("submissions.show", "s", "Show: it whole")
        .cli("forms submissions show {id}")
        .on(Row, FORMS_SEEN),
    write("submissions.delete", "x", "Delete…")
        .cli("forms submissions delete {id}")
        .on(Rows, FORMS),
    write("media.upload", "n", "New: upload a file")
        .cli("media upload FILE --folder FOLDER")
        .on(Nothing, MEDIA),
    act("media.show", "s", "Show: it whole").cli("media show {id}").on(Row, MEDIA_SEEN),
    write("media.edit", "e", "Edit: texts by language, name, folder, what stays in sight")
        .cli("media edit {id} -")
        .on(Row, MEDIA),
    act("media.uses", "w", "Uses: where it is shown").cli("media uses {id}").on(Row, MEDIA_SEEN),
    act("media.check", "c", "Check: files against records").cli("media check").on(Nothing, MEDIA),
    write("media.delete", "x", "Delete…").cli("media delete {id}").on(Row, MEDIA),
    write("pages.new", "n", "New: a page").cli("items create pages -").on(Nothing, PAGES),
    act("pages.compare", "c", "Compare: the draft with what visitors see")
        .cli("pages diff {id}")
        .on(Row, PAGES_SEEN),
    write("pages.publish", "P", "Publish…").cli("pages publish {id}").on(Row, PAGES),
    act("pages.revisions", "r", "Revisions").cli("pages revisions {id}").on(Row, PAGES_SEEN),
    write("pages.schedule", "t", "Times: published and taken off by itself")
        .cli("pages schedule {id} --publish TIME")
        .on(Row, PAGES),
    write("pages.take_off", "T", "Take off…")
        .cli("pages take-off {id}")
        .on(Row, PAGES)
        .unless(is_hidden),
    write("pages.discard", "D", "Discard: what the draft has changed…")
        .cli("pages discard {id}")
        .on(Row, PAGES),
    write("pages.copy", "C", "Copy: its draft into another page, such as a translation")
        .cli("pages copy {id} PAGE")
        .on(Row, PAGES),
    write("pages.link", "L", "Link: shows the draft without a login")
        .cli("pages link {id}")
        .on(Row, PAGES),
    act("pages.links", "w", "Who: links to the draft, for whom and until when")
        .cli("pages links {id}")
        .on(Row, PAGES_SEEN),
    act("pages.show", "s", "Show: its state").cli("pages show {id}").on(Row, PAGES_SEEN),
    write("page.edit", "e", "Edit")
        .cli("pages edit {page_id} {kind} {id} -")
        .on(Row, PAGES)
        .unless(holds_nothing),
    write("page.add", "a", "Add: a row, a column, a widget, an item")
        .cli("pages add {page_id} row")
        .also(&["widgets place WIDGET {page_id}"])
        .on(Row, PAGES),
    write("page.delete", "x", "Delete…")
        .cli("pages remove {page_id} {kind} {id}")
        .on(Row, PAGES)
        .unless(is_page),
    write("page.publish", "P", "Publish…").cli("pages publish {page_id}").on(Nothing, PAGES),
    act("page.compare", "c", "Compare: with what visitors see")
        .cli("pages diff {page_id}")
        .on(Nothing, PAGES_SEEN),
    act("page.revisions", "r", "Revisions")
        .cli("pages revisions {page_id}")
        .on(Nothing, PAGES_SEEN),
    write("page.down", "J", "Down: one place on, or into the next column")
        .cli("pages move {page_id} {kind} {id} --position N")
        .on(Row, PAGES)
        .unless(is_page),
    write("page.up", "K", "Up: one place before, or into the column before")
        .cli("pages move {page_id} {kind} {id} --position N")
        .on(Row, PAGES)
        .unless(is_page),
    write("page.into", "m", "Into: another row, column or widget")
        .cli("pages move {page_id} {kind} {id} --in N")
        .on(Row, PAGES)
        .unless(is_page),
    write("page.schedule", "t", "Times: published and taken off by itself")
        .cli("pages schedule {page_id} --publish TIME")
        .on(Nothing, PAGES),
    write("page.take_off", "T", "Take off…").cli("pages take-off {page_id}").on(Nothing, PAGES),
    write("page.discard", "D", "Discard: what the draft has changed…")
        .cli("pages discard {page_id}")
        .on(Nothing, PAGES),
    write("page.copy", "C", "Copy: the draft into another page, such as a translation")
        .cli("pages copy {page_id} PAGE")
        .on(Nothing, PAGES),
    write("page.link", "L", "Link: shows the draft without a login")
        .cli("pages link {page_id}")
        .on(Nothing, PAGES),
    act("page.links", "w", "Who: links to the draft, for whom and until when")
        .cli("pages links {page_id}")
        .on(Nothing, PAGES_SEEN),
    act("page.show", "s", "Show: the node whole").cli("pages tree {page_id}").on(Row, PAGES_SEEN),
    act("page.fold", "Space", "Fold or unfold"),
    act("page.left", "h Left", "Fold, then to what it stands in"),
    act("page.right", "l Right", "Unfold, then into it"),
    act("revisions.compare", "c", "Compare: with the draft; two marked with each other")
        .cli("pages diff {page_id} --from {number} --to draft")
        .on(Row, PAGES_SEEN),
    act("revisions.tree", "d", "Tree: as it is drawn")
        .cli("pages tree {page_id} --revision {number}")
        .on(Row, PAGES_SEEN),
    write("revisions.restore", "R", "Restore: into the draft…")
        .cli("pages restore {page_id} {number}")
        .on(Row, PAGES),
    write("links.new", "n", "New: a link")
        .cli("pages link {page_id} --note TEXT")
        .on(Nothing, PAGES),
    write("links.delete", "x", "Take back…: it shows the draft no longer")
        .cli("pages unlink {id}")
        .on(Row, PAGES),
    act("widgets.show", "s", "Show: it whole").cli("widgets show {name}").on(Row, PAGES_SEEN),
    act("widgets.rebuild", "b", "Components: which shows each template")
        .cli("widgets rebuild")
        .on(Nothing, PAGES_SEEN),
    write("inbox.state", "s", "State: set it")
        .cli("inbox set-status STATE {submission_id}")
        .on(Rows, INBOX),
    write("inbox.assign", "a", "Assign: to you, to somebody, to nobody")
        .cli("inbox assign USER {submission_id}")
        .also(&["inbox users"])
        .on(Rows, INBOX),
    write("inbox.notes", "e", "Notes").cli("inbox note {submission_id} TEXT").on(Row, INBOX),
    act("inbox.views", "V", "Views: saved ones, seen, saved, deleted")
        .cli("inbox views list")
        .also(&["inbox views save NAME", "inbox views delete NAME"])
        .on(Nothing, INBOX_SEEN),
    act("inbox.export", "E", "Export: what the list shows, into a file")
        .cli("inbox export --out FILE")
        .on(Nothing, INBOX_SEEN),
    write("inbox.delete", "x", "Delete…").cli("inbox delete {submission_id}").on(Rows, INBOX),
    write("inbox.erase", "X", "Erase…: all that was sent under an address")
        .cli("inbox erase ADDRESS")
        .on(Nothing, INBOX),
    act("inbox.next_state", "l Right", "Next state: all, new, qualified …"),
    act("inbox.state_before", "h Left", "State before"),
    write("submission.state", "s", "State: set it")
        .cli("inbox set-status STATE {submission_id}")
        .on(Row, INBOX),
    write("submission.assign", "a", "Assign: to you, to somebody, to nobody")
        .cli("inbox assign USER {submission_id}")
        .on(Row, INBOX),
    write("submission.notes", "e", "Notes").cli("inbox note {submission_id} TEXT").on(Row, INBOX),
    act("submission.next", "n l Right", "Next: that of the list below it")
        .cli("inbox show {submission_id}")
        .on(Row, INBOX_SEEN),
    act("submission.before", "p h Left", "Before: that of the list above it")
        .cli("inbox show {submission_id}")
        .on(Row, INBOX_SEEN),
    act("submission.files", "f", "Files: save one that the visitor sent")
        .cli("inbox show {submission_id}")
        .on(Row, INBOX_SEEN),
    act("submission.why", "w", "Why: which mail rule matched")
        .cli("funnels routing test {funnel_id} --answers FILE")
        .on(Row, FUNNELS),
    act("submission.mails", "m", "Mails: its own in the log").cli("mail log").on(Row, Admin),
    act("submission.deliveries", "d", "Deliveries: of its events alone")
        .cli("webhooks deliveries list --submission {submission_id}")
        .on(Row, HOOKS_SEEN),
    write("submission.delete", "x", "Delete…").cli("inbox delete {submission_id}").on(Row, INBOX),
    write("funnels.new", "n", "New: an empty draft")
        .cli("funnels create NAME --slug SLUG")
        .on(Nothing, FUNNELS),
    act("funnels.graph", "d", "Graph: as it is drawn")
        .cli("funnels graph {id}")
        .on(Row, FUNNELS_SEEN),
    act("funnels.analytics", "a", "Analytics: who came, who left where")
        .cli("funnels stats {id}")
        .on(Row, INBOX_SEEN),
    act("funnels.inbox", "i", "Inbox: what visitors sent through it")
        .cli("inbox list --where funnel_id={id}")
        .on(Row, INBOX_SEEN),
    act("funnels.check", "c", "Check: what is wrong with it")
        .cli("funnels check {id}")
        .on(Row, FUNNELS),
    write("funnels.publish", "P", "Publish…").cli("funnels publish {id}").on(Row, FUNNELS),
    write("funnels.archive", "A", "Archive…").cli("funnels archive {id}").on(Row, FUNNELS),
    write("funnels.duplicate", "C", "Copy: as a draft")
        .cli("funnels duplicate {id}")
        .on(Row, FUNNELS),
    act("funnels.show", "s", "Show: it whole").cli("funnels show {id}").on(Row, FUNNELS_SEEN),
    write("funnels.delete", "x", "Delete…").cli("funnels delete {id}").on(Row, FUNNELS),
    act("funnel.analytics", "a", "Analytics: who came, who left where")
        .cli("funnels stats {id}")
        .on(Nothing, INBOX_SEEN),
    act("funnel.inbox", "i", "Inbox: what visitors sent through it")
        .cli("inbox list --where funnel_id={id}")
        .on(Nothing, INBOX_SEEN),
    act("funnel.check", "c", "Check: what is wrong with it")
        .cli("funnels check {id}")
        .on(Nothing, FUNNELS),
    write("funnel.publish", "P", "Publish…").cli("funnels publish {id}").on(Nothing, FUNNELS),
    act("funnel.show", "s", "Show: it whole").cli("funnels show {id}").on(Nothing, FUNNELS_SEEN),
    act("analytics.period", "t", "Period")
        .cli("funnels stats {id} --from DAY")
        .on(Nothing, INBOX_SEEN),
    act("analytics.day_before", "h Left", "Day before"),
    act("analytics.day_after", "l Right", "Day after"),
    act("analytics.graph", "d", "Graph: as it is drawn")
        .cli("funnels graph {id}")
        .on(Nothing, FUNNELS_SEEN),
    act("analytics.show", "s", "Show: all figures")
        .cli("funnels stats {id}")
        .on(Nothing, INBOX_SEEN),
    write("tasks.run", "r", "Run now").cli("tasks run {name}").on(Row, Admin),
    act("tasks.runs", "d", "Runs: when, and how they ended")
        .cli("tasks history {name}")
        .on(Row, Admin),
    act("plugins.diff", "d", "Changes: what plugins apply would do")
        .cli("plugins diff")
        .on(Nothing, Local),
    act("plugins.show", "s", "Show: its manifest").cli("plugins show {id}").on(Row, Free),
    act("system.doctor", "d", "Check: the site").cli("doctor").on(Nothing, Local),
    act("system.settings", "s", "Settings: those in force")
        .cli("config show --origin")
        .on(Nothing, Local),
    act("system.schema", "m", "Schema: its state").cli("migrate status").on(Nothing, Local),
    act("login.submit", "Enter Ctrl-s", "Log in").cli("login"),
];
