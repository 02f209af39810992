//! Saves a funnel as a whole, or only its mail rules.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Routings, Saved, TABLE,
    create::{family, header_of},
    draft::{self, Candidate, Stored, json, with_stored_ids},
    sql::{self, Source},
};
use crate::{
    Change, Code, Error, Result,
    funnels::{
        Funnels,
        problem::{Problem, Warning},
        record::{EmailRouting, Funnel, WhichFunnel},
    },
};

/// What a save has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SavedFunnel {
    /// The funnel.
    pub id: i64,
    /// To be named by the next save.
    pub rev: i64,
    /// The ids of new nodes by their `client_id`.
    pub id_map: BTreeMap<String, i64>,
    /// What its author should know.
    pub warnings: Vec<Warning>,
}

/// The mail rules of a funnel, and the `rev` to save them with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SavedRoutings {
    /// The funnel.
    pub id: i64,
    /// To be named by the next save.
    pub rev: i64,
    /// The rules, in the order in which they are tried.
    pub email_routings: Vec<EmailRouting>,
    /// What their author should know.
    pub warnings: Vec<Warning>,
}

impl Funnels {
    /// Saves a funnel: all of it, or nothing. The published version stays public, unless `status`
    /// takes the funnel off.
    ///
    /// # Errors
    /// `not_found`; `rev_conflict` when it was saved since the author saw it; `validation_failed`
    /// with all problems; `conflict` for a slug or a language that another funnel has.
    pub async fn save(&self, change: &mut Change, saved: Saved) -> Result<SavedFunnel> {
        let found = self.hold_at_rev(change, saved.id, saved.rev).await?;
        let stored = Stored::read(&mut Source::Change(change), found.id).await?;
        let mut header = header_of(&found)?;
        let mut problems = header.merge(&saved.funnel);
        let status = status(&saved.funnel, &found, &mut problems);
        let mut columns = Vec::new();
        let mut part = |given: Option<Vec<Json>>, name, stored: &dyn Fn() -> Vec<Json>| {
            if given.is_some() {
                columns.push(name);
            }
            given.unwrap_or_else(stored)
        };
        let candidate = Candidate {
            header,
            nodes: part(saved.nodes, "nodes", &|| json(&stored.nodes)),
            edges: part(saved.edges, "edges", &|| json(&stored.edges)),
            rules: part(saved.email_routings, "email_routings", &|| json(&stored.rules)),
            problems,
        };
        let mut good = candidate.validate(&stored, saved.strict)?;
        family(change, &mut good.header, found.id).await?;
        let ids = draft::write(change, found.id, &stored, &good).await?;
        if saved.dry_run {
            // The caller drops the change.
            let (id, rev, id_map) = (found.id, found.rev, BTreeMap::new());
            return Ok(SavedFunnel { id, rev, id_map, warnings: good.warnings });
        }
        if let Some(status) = status {
            sql::take_off(change, found.id, status).await?;
        }
        let members: Vec<_> = saved.funnel.keys().map(String::as_str).collect();
        columns.extend(members);
        change.audit_row("update", TABLE, found.id, &columns).await?;
        Ok(SavedFunnel {
            id: found.id,
            rev: found.rev + 1,
            warnings: with_stored_ids(good.warnings, &ids),
            id_map: ids.into_iter().map(|(given, id)| (given.to_string(), id)).collect(),
        })
    }

    /// Replaces all mail rules of a funnel. The new rules apply from the commit on.
    pub async fn save_routings(
        &self,
        change: &mut Change,
        given: Routings,
    ) -> Result<SavedRoutings> {
        let found = self.hold_at_rev(change, given.funnel_id.or(given.id), given.rev).await?;
        let stored = Stored::read(&mut Source::Change(change), found.id).await?;
        let header = header_of(&found)?;
        let (nodes, edges) = (json(&stored.nodes), json(&stored.edges));
        let candidate =
            Candidate { header, nodes, edges, rules: given.email_routings, ..Candidate::default() };
        let good = candidate.validate(&stored, false)?;
        draft::write_rules(change, found.id, &stored, &good.rules).await?;
        sql::raise(change, found.id).await?;
        change.audit_row("update", TABLE, found.id, &["email_routings"]).await?;
        let email_routings = sql::rules(&mut Source::Change(change), found.id).await?;
        let is_about_mail = |warning: &Warning| warning.path.starts_with("email_routings");
        let warnings = good.warnings.into_iter().filter(is_about_mail).collect();
        Ok(SavedRoutings { id: found.id, rev: found.rev + 1, email_routings, warnings })
    }

    /// The mail rules of a funnel, in the order in which they are tried.
    pub async fn routings(&self, which: &WhichFunnel) -> Result<Vec<EmailRouting>> {
        let mut from = Source::Db(self.0.base.db());
        let funnel = self.find(&mut from, which).await?;
        sql::rules(&mut from, funnel.id).await
    }

    /// Locks a funnel until the change ends. `rev`: the revision that the author has seen.
    pub(super) async fn hold_at_rev(
        &self,
        change: &mut Change,
        id: Option<WhichFunnel>,
        rev: Option<i64>,
    ) -> Result<Funnel> {
        let expected = || Error::invalid_field("id", "required", "the id or slug of a funnel");
        let found = self.hold(change, &id.ok_or_else(expected)?).await?;
        match rev {
            Some(rev) if rev != found.rev => {
                let detail = format!(
                    "The funnel was saved since: its rev is {}, not {rev}. Nothing was changed: \
                     read it again.",
                    found.rev
                );
                Err(Error::new(Code::RevConflict, detail))
            }
            _ => Ok(found),
        }
    }
}

/// The status that a save sets; None: no change of status.
fn status<'a>(
    given: &'a serde_json::Map<String, Json>,
    found: &Funnel,
    problems: &mut Vec<Problem>,
) -> Option<&'a str> {
    let status = given.get("status").filter(|status| !status.is_null())?;
    let wrong = match status.as_str() {
        Some(same) if same == found.status => return None,
        Some(status @ ("draft" | "archived")) => return Some(status),
        Some("published") => "publish the funnel instead: action=publish",
        _ => "draft or archived is expected",
    };
    problems.push(Problem::new("bad_status", "funnel.status", wrong));
    None
}
