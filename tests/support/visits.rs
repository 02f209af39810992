//! Funnels to visit, and visitors.

use serde_json::{Value as Json, json};

use super::{Ask, Reply, Site, with};

/// A funnel as its author sends it: who (-1), budget (-2), rich? (-3), then call (-4) and thanks
/// (-5), else sorry (-6).
pub fn leads() -> Json {
    json!({
        "name": "Leads", "slug": "leads", "start_node_id": -1,
        "nodes": [
            {"client_id": -1, "type": "step", "name": "who", "config_json": {"fields": [
                {"id": "name", "type": "short_text", "label": "Name", "required": true},
                {"id": "mail", "type": "email", "label": "Mail"},
                {"id": "campaign", "type": "hidden", "param": "c", "default": "none"},
            ]}},
            {"client_id": -2, "type": "step", "name": "budget", "config_json": {"fields": [
                {"id": "budget", "type": "number", "label": "Budget", "required": true},
            ]}},
            {"client_id": -3, "type": "condition", "name": "rich?", "config_json": {"rules": {
                "operator": "AND",
                "rules": [{"field": "budget", "op": "greater_or_equal", "value": 5000}]}}},
            {"client_id": -4, "type": "step", "name": "call", "config_json": {"fields": [
                {"id": "phone", "type": "phone", "default_country": "DE", "label": "Phone"},
                {"id": "paper", "type": "file_upload", "label": "Paper",
                 "allowed_types": ["application/pdf"], "max_bytes": 1000},
            ]}},
            {"client_id": -5, "type": "end", "name": "thanks", "config_json": {}},
            {"client_id": -6, "type": "end", "name": "sorry", "config_json": {
                "end_kind": "redirect", "redirect_url": "https://example.org/else"}},
        ],
        "edges": [
            {"from_node_id": -1, "to_node_id": -2, "branch_label": "default"},
            {"from_node_id": -2, "to_node_id": -3, "branch_label": "default"},
            {"from_node_id": -3, "to_node_id": -4, "branch_label": "true"},
            {"from_node_id": -3, "to_node_id": -6, "branch_label": "false"},
            {"from_node_id": -4, "to_node_id": -5, "branch_label": "default"},
        ],
    })
}

/// A site with [`leads`].
pub async fn with_leads() -> Site {
    let site = Site::open().await;
    site.funnel(leads()).await;
    site
}

/// A published funnel: its id, and those of its nodes by their names.
pub struct Published {
    pub id: i64,
    pub nodes: Json,
}

impl Published {
    pub fn node(&self, name: &str) -> i64 {
        self.nodes[name].as_i64().unwrap_or_else(|| panic!("no node {name}"))
    }
}

impl Site {
    /// Creates and publishes a funnel.
    pub async fn funnel(&self, definition: Json) -> Published {
        let made = self.staff("create", definition).expect(201).await.data();
        let id = made["id"].as_i64().expect("an id");
        self.publish(id).await;
        let funnel = self.admin(&format!("GET /api/backend/formfunnel?action=get&id={id}"));
        let funnel = funnel.expect(200).await.data();
        let nodes = funnel["nodes"].as_array().unwrap().iter();
        let nodes =
            nodes.map(|node| (node["name"].as_str().unwrap().to_owned(), node["id"].clone()));
        Published { id, nodes: Json::Object(nodes.collect()) }
    }

    /// As [`Site::funnel`]: [`leads`] with these members.
    pub async fn leads(&self, members: Json) -> Published {
        self.funnel(with(leads(), members)).await
    }

    pub async fn publish(&self, id: i64) {
        self.staff("publish", json!({"id": id})).expect(200).await;
    }

    /// A visitor's call.
    pub fn visitor(&self, action: &str, body: Json) -> Ask {
        self.ask(&format!("POST /api/formfunnel/{action}")).json(body)
    }

    /// A call of the staff, with the key that may do everything.
    pub fn staff(&self, action: &str, body: Json) -> Ask {
        self.admin(&format!("POST /api/backend/formfunnel?action={action}")).json(body)
    }

    /// Begins a visit.
    pub async fn visit(&self, funnel: impl Into<Json>) -> Visit<'_> {
        self.begun(self.visitor("start", json!({"funnel_id": funnel.into()}))).await
    }

    /// Begins a visit by this call.
    pub async fn begun(&self, start: Ask) -> Visit<'_> {
        let started = start.expect(201).await.json();
        let session = started["session_uuid"].as_str().unwrap().to_owned();
        Visit { site: self, session }
    }

    /// Begins a visit of [`leads`] and answers: Ada, with this budget.
    pub async fn ada(&self, budget: i64) -> Visit<'_> {
        let visit = self.visit("leads").await;
        visit.answers(json!({"name": "Ada"})).await;
        visit.answers(json!({"budget": budget})).await;
        visit
    }

    /// Copies submissions that SQL chooses, each so often, with these columns of theirs.
    pub async fn copy_visits(&self, times: u32, which: &str, columns: &str) {
        let sql = format!(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < {times}) \
             insert into cms_formfunnel_submissions (funnel_id, version_id, version, session_uuid, \
             started_at, last_activity_at, expires_at, {columns}) select funnel_id, version_id, \
             version, session_uuid || n.i, started_at, 0, 0, {columns} \
             from cms_formfunnel_submissions s, n where {which}"
        );
        self.database.run(sql).await;
    }

    /// Gives what happened in the first visit to all but the second.
    pub async fn copy_events(&self) {
        let columns = "seq, kind, node_id, edge_id, field, on_path, at, dwell_ms";
        let of_first = columns.replace(", ", ", e.");
        let sql = format!(
            "insert into cms_formfunnel_events (submission_id, {columns}) \
             select s.id, e.{of_first} from cms_formfunnel_submissions s, cms_formfunnel_events e \
             where e.submission_id = 1 and s.id > 2"
        );
        self.database.run(sql).await;
        self.database.run("analyze").await;
    }

    /// Marks those who stay away and counts what is over, as the task does.
    pub async fn process_abandoned(&self) -> u64 {
        self.cms.funnels().process_abandoned().await.unwrap()
    }
}

/// Somebody in a funnel.
pub struct Visit<'a> {
    pub site: &'a Site,
    pub session: String,
}

impl Visit<'_> {
    pub fn step(&self, node: Option<i64>, answers: Json) -> Ask {
        let at = node.map_or(json!({}), |node| json!({"node_id": node}));
        self.call("step", with(at, json!({"answers": answers})))
    }

    pub async fn answers(&self, answers: Json) -> Json {
        self.step(None, answers).expect(200).await.json()
    }

    /// A call with these members beside the session.
    pub fn call(&self, action: &str, members: Json) -> Ask {
        self.site.visitor(action, with(json!({"session_uuid": self.session}), members))
    }

    pub fn complete(&self, answers: Option<Json>) -> Ask {
        self.call("complete", answers.map_or(json!({}), |answers| json!({"answers": answers})))
    }

    pub fn resume(&self) -> Ask {
        self.call("resume", json!({}))
    }

    pub async fn abandon(&self) {
        let body = json!({"session_uuid": self.session}).to_string();
        let ask = self.site.ask("POST /api/formfunnel/abandon");
        ask.header("content-type", "text/plain;charset=UTF-8").body(body).expect(204).await;
    }

    /// Sends a file for a field.
    pub async fn upload(&self, field: &str, content: &[u8]) -> Reply {
        let part = |name: &str, value: &str| {
            format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let head =
            "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n";
        let text = part("session_uuid", &self.session) + &part("field", field) + head;
        let body = [text.as_bytes(), content, b"\r\n--XX--\r\n"].concat();
        let ask = self.site.ask("POST /api/formfunnel/upload");
        ask.header("content-type", "multipart/form-data; boundary=XX").body(body).send().await
    }

    /// A column of its row.
    pub async fn column(&self, column: &str) -> i64 {
        let sql = format!(
            "select cast({column} as bigint) from cms_formfunnel_submissions \
             where session_uuid = '{}'",
            self.session
        );
        self.site.database.count(&sql).await
    }

    /// Sets columns of its row.
    pub async fn set(&self, columns: &str) {
        let row = format!("where session_uuid = '{}'", self.session);
        let sql = format!("update cms_formfunnel_submissions set {columns} {row}");
        self.site.database.run(sql).await;
    }

    /// What SQL says of its row.
    pub async fn is(&self, condition: &str) -> bool {
        self.column(&format!("case when {condition} then 1 else 0 end")).await == 1
    }

    /// Whether a text stands in the answers that are stored.
    pub async fn holds(&self, text: &str) -> bool {
        self.is(&format!("answers_json like '%{text}%'")).await
    }

    /// How many things of a kind happened.
    pub async fn happened(&self, kind: &str) -> i64 {
        let events = "cms_formfunnel_events e join cms_formfunnel_submissions s \
                      on s.id = e.submission_id";
        let of = format!("s.session_uuid = '{}' and e.kind = '{kind}'", self.session);
        self.site.database.rows(&format!("{events} where {of}")).await
    }
}

impl Site {
    /// How often an event was raised.
    pub async fn raised(&self, event: &str) -> i64 {
        self.database.rows(&format!("cms_events where name = '{event}'")).await
    }
}
