//! Makes, copies, saves and publishes funnels. A save writes a funnel as a whole, or only its mail
//! rules. Publishing freezes a drawing as a version, which new visits begin with.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    Duplicated, NewFunnel, Routings, Saved, TABLE,
    draft::{Candidate, Stored, header_of, json, refused, with_stored_ids, write, write_rules},
    sql, versions,
};
use crate::{
    Change, Code, Error, Result,
    crypto::sha256_hex,
    db::{Lock, args},
    funnels::{
        Funnels,
        checks::Findings,
        graph::Graph,
        header::{Header, slug_of},
        record::{EmailRouting, Funnel, FunnelDetail, Problem, Warning, WhichFunnel},
    },
    rfc3339,
};

/// Numbers that are tried behind a slug stay below this.
const TRIES: usize = 1000;
/// Two changes that choose a slug at the same time would choose the same one.
const SLUGS: Lock = Lock::new(24);

/// A new funnel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CreatedFunnel")]
#[non_exhaustive]
pub struct Created {
    /// The funnel as it is stored.
    #[serde(flatten)]
    pub funnel: FunnelDetail,
    /// The ids of its nodes by those that were sent.
    pub id_map: BTreeMap<String, i64>,
    /// What its author should know.
    pub warnings: Vec<Warning>,
}

impl Funnels {
    /// Creates a funnel as a draft.
    ///
    /// # Errors
    /// `validation_failed` with all problems; `conflict` for a slug that another funnel has.
    pub async fn create(&self, change: &mut Change, new: NewFunnel) -> Result<Created> {
        let NewFunnel { members, nodes, edges, email_routings, strict } = new;
        let mut header = Header::default();
        let mut problems = header.merge(&members);
        if !members.contains_key("name") {
            problems.push(Problem::new("required", "funnel.name", "a name is expected"));
        }
        if members.get("status").is_some_and(|status| !status.is_null() && status != "draft") {
            let message = "a new funnel is a draft: publish it with action=publish";
            problems.push(Problem::new("bad_status", "funnel.status", message));
        }
        if !members.contains_key("slug") {
            let slug = slug_of(&header.name);
            header.slug = free_slug(change, &slug, &header.language_short).await?;
        }
        let candidate = Candidate { header, nodes, edges, rules: email_routings, problems };
        self.insert(change, candidate, strict).await
    }

    /// Copies a funnel with its nodes, edges and mail rules; the copy is a draft.
    ///
    /// # Errors
    /// `not_found`; `conflict` for a slug or a language that another funnel has.
    pub async fn duplicate(&self, change: &mut Change, asked: Duplicated) -> Result<Created> {
        let which = asked.id.ok_or_else(|| Error::invalid_field("id", "required", "a funnel"))?;
        let found = self.hold(change, &which).await?;
        let stored = Stored::read(&mut *change, found.id).await?;
        let mut header = header_of(&found)?;
        let mut problems = Vec::new();
        let mut put = |member: &str, value: Option<String>| {
            let given = value.map(|value| (member.to_owned(), Json::from(value)));
            problems.extend(header.merge(&given.into_iter().collect()));
        };
        put("name", asked.name);
        put("language_short", asked.language_short.clone());
        put("slug", asked.slug.clone());
        if asked.language_short.is_some_and(|language| language != found.language_short) {
            header.base_id = Some(found.base_id.unwrap_or(found.id));
        } else {
            header.base_id = None;
        }
        if asked.slug.is_none() {
            header.slug = free_slug(change, &header.slug, &header.language_short).await?;
        }
        let (nodes, edges) = (json(&stored.nodes), json(&stored.edges));
        let candidate = Candidate { header, nodes, edges, rules: json(&stored.rules), problems };
        self.insert(change, candidate, false).await
    }

    async fn insert(
        &self,
        change: &mut Change,
        mut candidate: Candidate,
        strict: bool,
    ) -> Result<Created> {
        let sent = candidate.renumber();
        let mut good = candidate.validate(&Stored::default(), strict)?;
        family(change, &mut good.header, 0).await?;
        let id = sql::insert(change, &good.header).await?;
        let ids = write(change, id, &Stored::default(), &good).await?;
        change
            .audit_row("create", TABLE, id, &["funnel", "nodes", "edges", "email_routings"])
            .await?;
        let funnel = self.detail(change, &WhichFunnel::Id(id)).await?;
        let warnings = with_stored_ids(good.warnings, &ids);
        let id_map = sent
            .into_iter()
            .filter_map(|(given, new)| ids.get(&new).map(|id| (given.to_string(), *id)));
        Ok(Created { funnel, id_map: id_map.collect(), warnings })
    }
}

/// Checks the base of a language version, and replaces a base that is a version itself by its own
/// base. The base must exist, a funnel with versions cannot become a version, and no two funnels
/// of a family may have one language. `own`: the funnel's id; 0 while it is new.
async fn family(change: &mut Change, header: &mut Header, own: i64) -> Result<()> {
    let root = match header.base_id.filter(|base| *base != own) {
        None => own,
        Some(base) => {
            let Some(found) = sql::by_id(&mut *change, base).await? else {
                let message = "the id of a funnel is expected, or null";
                return Err(Error::invalid_field("funnel.base_id", "unknown", message));
            };
            let root = found.base_id.unwrap_or(found.id);
            if own != 0 && (root == own || sql::first_version(change, own).await?.is_some()) {
                let detail = "The funnel has language versions, so it cannot become a version of \
                              another funnel. Nothing was changed.";
                return Err(Error::new(Code::Conflict, detail));
            }
            root
        }
    };
    header.base_id = Some(root).filter(|root| *root != own);
    let language = &header.language_short;
    let other: Option<(i64,)> =
        change.optional(sql::IN_LANGUAGE, args![root, language, own]).await?;
    match other {
        Some((other,)) => {
            let detail = format!(
                "The funnel {other} is the version in the language {language:?}. Nothing was \
                 changed."
            );
            Err(Error::new(Code::Conflict, detail))
        }
        None => Ok(()),
    }
}

/// The slug, with a number behind it if another funnel has the slug. Nobody else chooses a slug
/// until the change ends.
async fn free_slug(change: &mut Change, slug: &str, language: &str) -> Result<String> {
    change.lock(SLUGS).await?;
    let mut free = slug.to_owned();
    for number in 2..TRIES {
        let other: Option<(i64,)> = change.optional(sql::IS_TAKEN, args![&free, language]).await?;
        if other.is_none() {
            break;
        }
        let end = format!("-{number}");
        let beginning: String = slug.chars().take(64 - end.len()).collect();
        free = beginning + &end;
    }
    Ok(free)
}

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
        let stored = Stored::read(&mut *change, found.id).await?;
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
        let ids = write(change, found.id, &stored, &good).await?;
        if saved.dry_run {
            // The caller drops the change.
            let (id, rev, id_map) = (found.id, found.rev, BTreeMap::new());
            return Ok(SavedFunnel { id, rev, id_map, warnings: good.warnings });
        }
        if let Some(status) = status {
            change.run_one(sql::TAKE_OFF, args![found.id, status]).await?;
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
        let stored = Stored::read(&mut *change, found.id).await?;
        let header = header_of(&found)?;
        let (nodes, edges) = (json(&stored.nodes), json(&stored.edges));
        let candidate =
            Candidate { header, nodes, edges, rules: given.email_routings, ..Candidate::default() };
        let good = candidate.validate(&stored, false)?;
        write_rules(change, found.id, &stored, &good.rules).await?;
        change.run_one(sql::RAISE, args![found.id, change.now()]).await?;
        change.audit_row("update", TABLE, found.id, &["email_routings"]).await?;
        let email_routings = sql::rules(change, found.id).await?;
        let is_about_mail = |warning: &Warning| warning.path.starts_with("email_routings");
        let warnings = good.warnings.into_iter().filter(is_about_mail).collect();
        Ok(SavedRoutings { id: found.id, rev: found.rev + 1, email_routings, warnings })
    }

    /// The mail rules of a funnel, in the order in which they are tried.
    pub async fn routings(&self, which: &WhichFunnel) -> Result<Vec<EmailRouting>> {
        let db = self.0.base.db();
        let funnel = self.find(db, which).await?;
        sql::rules(db, funnel.id).await
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
        let stored = Stored::read(&mut *change, found.id).await?;
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
        let newest = versions::newest(&mut *change, found.id).await?;
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
        let end = node.end().map(|end| end.kind.as_str());
        let args = args![version, node.id, node.kind.name(), &node.name, end, depth];
        change.run(versions::INSERT_NODE, args).await?;
    }
    for edge in graph.edges() {
        let args = args![version, edge.id, edge.from, edge.to, edge.branch.as_str()];
        change.run(versions::INSERT_EDGE, args).await?;
    }
    Ok(())
}
