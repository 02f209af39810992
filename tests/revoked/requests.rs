//! A valid request for every call of the backend that is no mere reading.

use cms_core::access::Access;
use serde_json::{Value as Json, json};

use crate::support::{Receiver, Site};

/// A call with all that it needs.
pub struct Act {
    pub method: &'static str,
    pub target: String,
    /// Empty: it takes none.
    pub body: String,
    pub access: Access,
    /// Whether it leaves a row.
    pub writes: bool,
}

impl Act {
    /// One that leaves a row.
    pub fn post(target: &str, body: &Json, access: Access) -> Self {
        let (target, body) = (target.to_owned(), body.to_string());
        Self { method: "POST", target, body, access, writes: true }
    }
}

/// One for each method of each endpoint that the API declares, except for those that read, that
/// nobody reaches over the network and that come before a login. An endpoint that is not known here
/// fails the test.
pub async fn acts(site: &Site, receiver: &Receiver) -> Vec<Act> {
    let targets = Targets::make(site, receiver).await;
    let mut acts = Vec::new();
    for endpoint in site.cms.access().all().iter() {
        let access = endpoint.access;
        // What everybody may do cannot be taken away.
        if matches!(access, Access::Login | Access::Operator | Access::Open | Access::Public) {
            continue;
        }
        for method in endpoint.methods.iter().filter(|method| **method != "GET") {
            let path = endpoint.path.strip_prefix("/api/backend").expect(&endpoint.path);
            let (query, body, writes) = match endpoint.action {
                Some(action) => targets.action(method, path, action),
                None => targets.request(method, path),
            };
            let target = format!("/api/backend{path}{query}");
            let body = match body {
                Json::Null => String::new(),
                Json::String(form) => form,
                json => json.to_string(),
            };
            acts.push(Act { method, target, body, access, writes });
        }
    }
    // Whoever deletes comes last, the whole after its parts: others need what is deleted.
    let depth = |act: &Act| act.target.split('?').next().map_or(0, str::len);
    acts.sort_by_key(|act| (act.method == "DELETE").then(|| std::cmp::Reverse(depth(act))));
    assert!(acts.len() > 30, "the calls of the backend are missing");
    acts
}

/// What the requests are about.
struct Targets {
    key: i64,
    user: i64,
    other: i64,
    group: i64,
    empty_group: i64,
    origin: Json,
    webhook: Json,
    job: Json,
    delivery: Json,
    mail: i64,
    submission: Json,
    funnels: [Json; 2],
    /// Submissions of the first funnel.
    visits: [i64; 2],
    view: Json,
    media: [Json; 2],
    /// A row to remove, and a widget.
    nodes: [i64; 2],
    link: Json,
}

impl Targets {
    async fn make(site: &Site, receiver: &Receiver) -> Self {
        let group = site.group("editors", json!([])).await;
        let empty_group = site.group("nobody", json!([])).await;
        let (user, other) = (site.user("eve", "editors").await, site.user("ida", "editors").await);
        let origin = site.create("/api/backend/origins", json!({"origin": "https://a.example"}));
        let origin = origin.await["id"].clone();
        let webhook = site.webhook(&receiver.url, &["shop.sold"]).await["id"].clone();
        let body = json!({"tags": ["a"]});
        site.insert("goods", json!([body, body])).await;
        let sold = json!({"event": "shop.sold", "data": {}});
        let emit = "/api/backend/webhooks/emit";
        site.create(emit, sold.clone()).await;
        site.step().await;
        let log = site.get("/api/backend/webhooks/deliveries").await;
        site.create(emit, sold).await;
        let queue = site.get("/api/backend/webhooks/queue").await;
        let form = json!({"name": "contact", "fields": [{"id": "a", "type": "short_text"}]});
        site.insert("forms", form).await;
        let answered = json!({"form": "contact", "answers": {"a": "b"}});
        let submission = site.ask("POST /api/form/submit").json(answered).expect(201).await.data();
        let funnels = [funnel(site, "leads").await, funnel(site, "other").await];
        site.publish(funnels[0].as_i64().expect("an id")).await;
        let visits = [visit(site).await, visit(site).await];
        let action = |action: &str| format!("/api/backend/formfunnel?action={action}");
        let view = site.post(&action("views"), json!({"name": "All"})).await["id"].clone();
        let assign = json!({"op": "set_status", "ids": visits, "value": "qualified"});
        site.post(&action("submissions_bulk"), assign).await;
        let media = [b"%PDF-1.7 one%%EOF", b"%PDF-1.7 two%%EOF"];
        let [one, two] = media.map(|content| site.upload("a.pdf", content));
        let media = [one.await.data()["id"].clone(), two.await.data()["id"].clone()];
        let pending = queue.as_array().unwrap().iter().find(|job| job["status"] == "pending");
        Self {
            key: site.key_with(|_| {}, &[]).await.0,
            user,
            other,
            group,
            empty_group,
            origin,
            webhook,
            job: pending.expect("a pending job")["id"].clone(),
            delivery: log[0]["id"].clone(),
            mail: site.mail("ana@example.org").await,
            submission: submission["id"].clone(),
            funnels,
            visits,
            view,
            media,
            nodes: nodes(site).await,
            link: site.act("link", json!({"page_id": 71})).await["id"].clone(),
        }
    }

    /// As [`Targets::request`], for an action of an address.
    fn action(&self, method: &str, path: &str, action: &str) -> (String, Json, bool) {
        if method == "DELETE" {
            let id = match (path, action) {
                ("/formfunnel", "views") => &self.view,
                ("/pagebuilder", "link") => &self.link,
                _ => panic!("what is {action} of {path} to remove?"),
            };
            return (format!("?action={action}&id={id}"), Json::Null, true);
        }
        let [first, second] = &self.funnels;
        let [visit, other_visit] = self.visits;
        let reads = ["preview", "explain", "test", "routing_test"].contains(&action);
        let body = match (path, action) {
            ("/formfunnel", "create") => json!({"name": "New"}),
            ("/formfunnel", "save") => json!({"id": first, "funnel": {"name": "Renamed"}}),
            ("/formfunnel", "email_routing_save") => {
                json!({"funnel_id": first, "email_routings": []})
            }
            ("/formfunnel", "publish" | "duplicate" | "test") => json!({"id": first}),
            ("/formfunnel", "preview" | "start_test" | "routing_test") => {
                json!({"funnel_id": first})
            }
            ("/formfunnel", "explain") => json!({"condition": null}),
            ("/formfunnel", "submission_update") => json!({"id": visit, "inbox_notes": "called"}),
            ("/formfunnel", "submission_delete") => json!({"id": other_visit}),
            ("/formfunnel", "submissions_bulk") => {
                json!({"op": "set_status", "ids": [visit], "value": "contacted"})
            }
            ("/formfunnel", "undo") => json!({}),
            ("/formfunnel", "erase") => json!({"email": "nobody@example.org"}),
            ("/formfunnel", "views") => json!({"name": "Mine"}),
            ("/formfunnel", "delete") => json!({"id": second}),
            ("/pagebuilder", "move") => json!({"kind": "widget", "id": self.nodes[1]}),
            ("/pagebuilder", "publish" | "discard" | "take_off" | "link") => json!({"page_id": 71}),
            ("/pagebuilder", "restore") => json!({"page_id": 71, "revision": 1}),
            ("/pagebuilder", "copy") => json!({"from_page_id": 71, "page_id": 72}),
            ("/pagebuilder", "schedule") => {
                json!({"page_id": 71, "publish_at": "2099-01-01T00:00:00Z"})
            }
            _ => panic!("which request is {action} of {path} to be tried with?"),
        };
        (format!("?action={action}"), body, !reads)
    }

    /// Query, body and whether it writes.
    fn request(&self, method: &str, path: &str) -> (String, Json, bool) {
        let id = |id: &dyn std::fmt::Display| format!("?id={id}");
        let none = String::new();
        let password = crate::support::people::PASSWORD;
        let writes = !["/media/check", "/webhooks/ping", "/webhooks/explain"].contains(&path);
        let (query, body) = match (method, path) {
            ("POST", "/item") => ("?table=settings".to_owned(), json!({"name": "a", "value": 1})),
            ("PATCH", "/item") => ("?table=goods&id=1".to_owned(), json!({"tags": ["b"]})),
            ("DELETE", "/item") => ("?table=goods&id=2".to_owned(), Json::Null),
            ("POST", "/actions/checklist") => {
                (none, json!({"table": "goods", "column": "tags", "id": 1, "add": ["c"]}))
            }
            ("POST", "/actions/script") => {
                (none, json!({"plugin": "shop", "button_id": "nightly"}))
            }
            ("DELETE", "/forms/submissions") => (id(&self.submission), Json::Null),
            ("POST", "/media") => {
                // Its last byte is needed.
                let form = crate::support::media::form(&[], "a.pdf", b"%PDF-1.7 mine%%EOF");
                let form = String::from_utf8(form).expect("text");
                (none, form.trim_end().into())
            }
            ("PATCH", "/media") => (id(&self.media[0]), json!({"alt": {"en": "A bill"}})),
            ("DELETE", "/media") => (id(&self.media[1]), Json::Null),
            ("POST", "/media/check") => (none, json!({"remove": true})),
            ("POST", "/pagebuilder") => (none, json!({"kind": "row", "parent": {"page_id": 71}})),
            ("PATCH", "/pagebuilder") => {
                (format!("?widget_id={}", self.nodes[1]), json!({"data": {"title": "Mine"}}))
            }
            ("DELETE", "/pagebuilder") => (format!("?kind=row&id={}", self.nodes[0]), Json::Null),
            ("POST", "/keys") => (none, json!({"name": "mine", "rights": [{"endpoint": "*"}]})),
            ("PATCH", "/keys") => (id(&self.key), json!({"name": "renamed"})),
            ("DELETE", "/keys") => (id(&self.key), Json::Null),
            ("POST", "/keys/rotate") => (id(&self.key), json!({"grace_s": 0})),
            ("POST", "/origins") => (none, json!({"origin": "https://b.example"})),
            ("PATCH", "/origins") => (id(&self.origin), json!({"active": false})),
            ("DELETE", "/origins") => (id(&self.origin), Json::Null),
            ("PATCH", "/cache") => (none, json!({"ttl_s": 7})),
            ("DELETE", "/cache") => (none, Json::Null),
            ("DELETE", "/limits") => ("?owner=ip:203.0.113.7".to_owned(), Json::Null),
            ("POST", "/users") => {
                (none, json!({"username": "zoe", "password": password, "groups": ["editors"]}))
            }
            ("PATCH", "/users") => (id(&self.user), json!({"username": "eva"})),
            ("DELETE", "/users") => (id(&self.other), Json::Null),
            ("DELETE", "/users/sessions") => (id(&self.user), Json::Null),
            ("POST", "/user_groups") => (none, json!({"name": "new", "rights": "0"})),
            ("PATCH", "/user_groups") => (id(&self.group), json!({"rights": "0"})),
            ("DELETE", "/user_groups") => (id(&self.empty_group), Json::Null),
            ("DELETE", "/loginattempts") => ("?address=203.0.113.7".to_owned(), Json::Null),
            ("POST", "/webhooks") => {
                let url = "http://127.0.0.1:9/";
                (none, json!({"name": "mine", "url": url, "events": ["*"]}))
            }
            ("PATCH", "/webhooks") => (id(&self.webhook), json!({"name": "renamed"})),
            ("DELETE", "/webhooks") => (id(&self.webhook), Json::Null),
            ("POST", "/webhooks/rotate-secret") => (id(&self.webhook), json!({})),
            ("POST", "/webhooks/activate") => (id(&self.webhook), json!({"held": "drop"})),
            ("POST", "/webhooks/ping") => (id(&self.webhook), json!({})),
            ("POST", "/webhooks/explain" | "/webhooks/emit") => {
                (none, json!({"event": "shop.sold", "data": {}}))
            }
            ("DELETE", "/webhooks/queue") => ("?status=cancelled".to_owned(), Json::Null),
            ("POST", "/webhooks/queue/retry") => (id(&self.job), json!({})),
            ("POST", "/webhooks/queue/cancel") => (id(&self.job), json!({})),
            ("POST", "/webhooks/redeliver") => (none, json!({"ids": [self.delivery]})),
            ("POST", "/plugins/apply") => (none, json!({})),
            ("POST", "/plugins/remove") => (none, json!({"plugin": "old"})),
            ("POST", "/plugins/release") => (none, json!({"plugin": "older"})),
            ("POST", "/theme/key") => (none, json!({})),
            ("POST", "/tasks/run") => ("?name=nightly".to_owned(), json!({})),
            ("POST", "/mail/test") => (none, json!({"to": "ana@example.org"})),
            ("POST", "/mail/retry") => (none, json!({"ids": [self.mail]})),
            ("POST", "/auth/logout") => (none, json!({})),
            ("POST", "/auth/password") => {
                (none, json!({"current": password, "new": "three men in a boat"}))
            }
            ("POST", "/auth/recovery-codes") => (none, json!({"password": password})),
            ("DELETE", "/auth/sessions") => (none, Json::Null),
            _ => panic!("which request is {method} {path} to be tried with?"),
        };
        (query, body, writes)
    }
}

/// The id of a funnel that can be published.
async fn funnel(site: &Site, slug: &str) -> Json {
    let mut funnel = crate::funnels::drawn();
    funnel["slug"] = slug.into();
    crate::funnels::made(site, &funnel).await["id"].clone()
}

/// A published page, 71, with two rows, and one without, 72.
async fn nodes(site: &Site) -> [i64; 2] {
    for id in [71, 72] {
        let page = json!({"id": id, "language_short": "en", "url_rewrite": format!("/{id}"),
                          "title": "P"});
        site.insert("pages", page).await;
    }
    let (spare, _) = site.row(71).await;
    let (_, col) = site.row(71).await;
    let widget = site.title(col, "Theirs").await;
    site.act("publish", json!({"page_id": 71})).await;
    [spare, widget]
}

/// A submission of the first funnel.
async fn visit(site: &Site) -> i64 {
    site.visit("leads").await;
    site.database.count("select max(id) from cms_formfunnel_submissions").await
}
