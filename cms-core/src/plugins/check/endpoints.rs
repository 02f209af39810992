//! Checks endpoints: their paths, and the tables that they read.

use serde_json::Value as Json;

use super::{Check, names};
use crate::{
    events::schema_faults,
    plugins::manifest::{EndpointDeclaration, Method, meet},
};

/// Paths under `/api/` that the service itself serves, or reserves, with all paths below. A test
/// compares them with the served ones.
const CORE: [&str; 31] = [
    "docs", "pages", "menu", "settings", "form", "formfunnel", "media", "backend/actions",
    "backend/audit", "backend/auth", "backend/cache", "backend/events", "backend/formfunnel",
    "backend/forms", "backend/item", "backend/keys", "backend/limits", "backend/loginattempts",
    "backend/mail", "backend/media", "backend/origins", "backend/pagebuilder",
    "backend/permissions", "backend/plugins", "backend/status", "backend/tables", "backend/tasks",
    "backend/theme", "backend/users", "backend/user_groups", "backend/webhooks",
];

impl Check<'_> {
    pub(super) fn endpoints(&mut self) {
        let endpoints = &self.manifest.endpoints;
        let manifest = self.manifest;
        let records = endpoints.iter().filter_map(|one| Some((one, manifest.record_shape(one)?)));
        let records: Vec<_> = records.collect();
        let paths: Vec<_> = endpoints.iter().map(EndpointDeclaration::shape).collect();
        for (i, path) in paths.iter().enumerate() {
            if let Some((table, _)) = records.iter().find(|(_, record)| meet(record, path)) {
                let table = table.path();
                let remedy = format!(
                    "{path:?} names one record of the table that is read at {table:?}: choose \
                     another path"
                );
                self.fault(format!("/endpoints/{i}/endpoint"), remedy);
            }
        }
        let places = paths.iter().enumerate();
        self.doubles(
            places.map(|(i, path)| (format!("/endpoints/{i}/endpoint"), path.as_str())),
            "is served already; dashes count as underscores",
        );
        for (i, endpoint) in endpoints.iter().enumerate() {
            self.endpoint(endpoint, &format!("/endpoints/{i}"));
        }
    }

    fn endpoint(&mut self, endpoint: &EndpointDeclaration, at: &str) {
        let path = endpoint.path();
        let path = path.trim_start_matches("/api/");
        let is_table = self.manifest.reads_table(endpoint);
        if !names::is_endpoint(&endpoint.endpoint) {
            let remedy = "letters, digits, _ and - are expected, slashes between parts, no slash \
                          first, such as \"blog/posts\"; later parts may be parameters, each \
                          with a name of its own, such as \"orders/{id}/pay\"";
            self.fault(format!("{at}/endpoint"), remedy);
        } else if let Some(core) = CORE.iter().find(|core| is_below(path, core)) {
            let remedy = format!("/api/{core} is the service's own: choose another path");
            self.fault(format!("{at}/endpoint"), remedy);
        }
        if is_table && endpoint.parameters().next().is_some() {
            let remedy = "a table is read at a fixed path; the id of a record may stand behind it";
            self.fault(format!("{at}/endpoint"), remedy);
        }
        if path.starts_with("backend/{") {
            let remedy = "the part behind backend/ is a name, such as \"backend/shop/{id}\"";
            self.fault(format!("{at}/endpoint"), remedy);
        }
        if path == "backend" {
            let remedy = "/api/backend is the service's own: put a name behind it";
            self.fault(format!("{at}/endpoint"), remedy);
        }
        if endpoint.public && is_below(path, "backend") {
            let remedy = "endpoints under backend/ need a caller: leave it out, or move the \
                          endpoint";
            self.fault(format!("{at}/public"), remedy);
        }
        if endpoint.methods.is_empty() {
            self.fault(format!("{at}/methods"), "name at least one method");
        }
        for (i, method) in endpoint.methods.iter().enumerate() {
            let at = format!("{at}/methods/{i}");
            if endpoint.methods[..i].contains(method) {
                self.fault(&at, format!("{} is named twice", method.name()));
            }
            if is_table && *method != Method::Get {
                self.fault(&at, "a table is only read here: GET is expected");
            }
        }
        self.schemas(endpoint, at);
    }

    /// Checks the schemas of body and reply.
    fn schemas(&mut self, endpoint: &EndpointDeclaration, at: &str) {
        let has_body = endpoint.methods.iter().any(|method| method.has_body());
        for (name, schema) in [("body", &endpoint.body), ("reply", &endpoint.reply)] {
            let Some(schema) = schema else { continue };
            let at = format!("{at}/{name}");
            if self.manifest.reads_table(endpoint) {
                self.fault(at, "only a handler has one, a table needs none: leave it out");
            } else if name == "body" && !has_body {
                self.fault(at, "only POST and PATCH have one: name such a method, or leave it out");
            } else {
                for (inner, remedy) in schema_faults(&Json::Object(schema.clone())) {
                    self.fault(format!("{at}{inner}"), remedy);
                }
            }
        }
    }
}

fn is_below(path: &str, core: &str) -> bool {
    path.strip_prefix(core).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
