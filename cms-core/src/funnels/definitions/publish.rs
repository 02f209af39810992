//! Publishes a drawing: freezes it as a version, which new visits begin with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    TABLE,
    create::header_of,
    draft::{Candidate, Stored, json, refused},
    sql::Source,
    versions,
};
use crate::{
    Change, Code, Result,
    crypto::sha256_hex,
    funnels::{Funnels, checks::Findings, graph::Graph, problem::Warning, record::WhichFunnel},
    rfc3339,
};

/// What a publication has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PublishedFunnel")]
#[non_exhaustive]
pub struct Published {
    /// The funnel.
    pub id: i64,
    /// `published`.
    pub status: String,
    /// The version that new visits begin with. It counts from 1.
    pub version: i64,
    /// SHA-256 of what was frozen.
    pub checksum: String,
    /// When, RFC 3339 in UTC.
    pub published_at: String,
    /// What its author should know.
    pub warnings: Vec<Warning>,
}

impl Funnels {
    /// Freezes the funnel as it is drawn, and makes new visits begin with this version. A funnel
    /// that equals its newest version gets no new one. `rev`: the revision that the author has
    /// seen. `strict` refuses a funnel with warnings, as `strict` in its settings does.
    ///
    /// # Errors
    /// `not_found`; `rev_conflict`; `not_publishable` with all problems; `conflict` while another
    /// funnel is published with its slug.
    pub async fn publish(
        &self,
        change: &mut Change,
        which: WhichFunnel,
        rev: Option<i64>,
        strict: bool,
    ) -> Result<Published> {
        let found = self.hold_at_rev(change, Some(which), rev).await?;
        let stored = Stored::read(&mut Source::Change(change), found.id).await?;
        let header = header_of(&found)?;
        let strict = strict || header.settings.strict;
        let members = header.json();
        let candidate = Candidate {
            header,
            nodes: json(&stored.nodes),
            edges: json(&stored.edges),
            rules: json(&stored.rules),
            ..Candidate::default()
        };
        let (_, graph, _, findings) = candidate.judge(&stored);
        let Findings { mut errors, blockers, warnings } = findings;
        errors.extend(blockers);
        if strict {
            errors.extend(warnings.iter().cloned());
        }
        if !errors.is_empty() {
            return Err(refused(Code::NotPublishable, "published", errors));
        }
        let definition = definition(found.id, members, &stored);
        let checksum = sha256_hex(definition.as_bytes());
        let warnings = warnings.into_iter().map(Warning::from).collect();
        let newest = versions::newest(change, found.id).await?;
        let is_same = newest.as_ref().is_some_and(|newest| newest.checksum == checksum);
        let number = newest.as_ref().map_or(0, |newest| newest.number);
        let at = change.now();
        let (number, id, at) = match newest.filter(|_| is_same) {
            Some(newest) => (newest.number, newest.id, newest.published_at),
            None => {
                let frozen =
                    versions::Frozen { number: number + 1, definition, checksum: &checksum };
                let id = versions::insert(change, found.id, &frozen).await?;
                freeze(change, id, &graph).await?;
                (number + 1, id, at)
            }
        };
        versions::put(change, found.id, id).await?;
        change.audit_row("publish", TABLE, found.id, &["status"]).await?;
        Ok(Published {
            id: found.id,
            status: "published".to_owned(),
            version: number,
            checksum,
            published_at: rfc3339(at),
            warnings,
        })
    }
}

/// The text of a version. Equal drawings give equal texts.
fn definition(id: i64, mut members: Map<String, Json>, stored: &Stored) -> String {
    members.insert("id".to_owned(), id.into());
    let parts = [
        ("funnel".to_owned(), Json::Object(members)),
        ("nodes".to_owned(), json(&stored.nodes).into()),
        ("edges".to_owned(), json(&stored.edges).into()),
    ];
    Json::Object(parts.into_iter().collect()).to_string()
}

/// Stores the nodes and edges of a version as rows.
async fn freeze(change: &mut Change, version: i64, graph: &Graph) -> Result<()> {
    for (node, depth) in graph.nodes().iter().zip(graph.depths()) {
        versions::insert_node(change, version, node, depth).await?;
    }
    for edge in graph.edges() {
        versions::insert_edge(change, version, edge).await?;
    }
    Ok(())
}
