//! Funnels to visit, and visitors.

use serde_json::{Value as Json, json};

use super::{Ask, Reply, Site};

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
        let line = "POST /api/backend/formfunnel?action=create";
        let id = self.admin(line).json(definition).expect(201).await.data()["id"].clone();
        let id = id.as_i64().expect("an id");
        self.publish(id).await;
        let funnel = self.admin(&format!("GET /api/backend/formfunnel?action=get&id={id}"));
        let funnel = funnel.expect(200).await.data();
        let nodes = funnel["nodes"].as_array().unwrap().iter();
        let nodes =
            nodes.map(|node| (node["name"].as_str().unwrap().to_owned(), node["id"].clone()));
        Published { id, nodes: Json::Object(nodes.collect()) }
    }

    pub async fn publish(&self, id: i64) {
        let line = "POST /api/backend/formfunnel?action=publish";
        self.admin(line).json(json!({"id": id})).expect(200).await;
    }

    /// A visitor's call.
    pub fn visitor(&self, action: &str, body: Json) -> Ask {
        self.ask(&format!("POST /api/formfunnel/{action}")).json(body)
    }

    /// Begins a visit.
    pub async fn visit(&self, funnel: impl Into<Json>) -> Visit<'_> {
        let started = self.visitor("start", json!({"funnel_id": funnel.into()})).expect(201).await;
        let session = started.json()["session_uuid"].as_str().unwrap().to_owned();
        Visit { site: self, session }
    }
}

/// Somebody in a funnel.
pub struct Visit<'a> {
    pub site: &'a Site,
    pub session: String,
}

impl Visit<'_> {
    pub fn step(&self, node: Option<i64>, answers: Json) -> Ask {
        let mut body = json!({"session_uuid": self.session, "answers": answers});
        if let Some(node) = node {
            body["node_id"] = node.into();
        }
        self.site.visitor("step", body)
    }

    pub async fn answers(&self, answers: Json) -> Json {
        self.step(None, answers).expect(200).await.json()
    }

    pub fn complete(&self, answers: Option<Json>) -> Ask {
        let mut body = json!({"session_uuid": self.session});
        if let Some(answers) = answers {
            body["answers"] = answers;
        }
        self.site.visitor("complete", body)
    }

    pub fn resume(&self) -> Ask {
        self.site.visitor("resume", json!({"session_uuid": self.session}))
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

    /// How many things of a kind happened.
    pub async fn happened(&self, kind: &str) -> i64 {
        let sql = format!(
            "select count(*) from cms_formfunnel_events e join cms_formfunnel_submissions s \
             on s.id = e.submission_id where s.session_uuid = '{}' and e.kind = '{kind}'",
            self.session
        );
        self.site.database.count(&sql).await
    }
}

impl Site {
    /// How often an event was raised.
    pub async fn raised(&self, event: &str) -> i64 {
        self.database
            .count(&format!("select count(*) from cms_events where name = '{event}'"))
            .await
    }
}
