//! New funnels: sent by an author, or copied from another funnel.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Duplicated, NewFunnel, TABLE,
    draft::{Candidate, Stored, json, with_stored_ids, write},
    missing,
    sql::{self, Source},
};
use crate::{
    Change, Code, Error, Result,
    db::Lock,
    funnels::{
        Funnels,
        header::{Header, slug_of},
        problem::{Problem, Warning},
        record::{Funnel, FunnelDetail, WhichFunnel},
    },
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
        let stored = Stored::read(&mut Source::Change(change), found.id).await?;
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
        let funnel = self.detail(&mut Source::Change(change), &WhichFunnel::Id(id)).await?;
        let warnings = with_stored_ids(good.warnings, &ids);
        let id_map = sent
            .into_iter()
            .filter_map(|(given, new)| ids.get(&new).map(|id| (given.to_string(), *id)));
        Ok(Created { funnel, id_map: id_map.collect(), warnings })
    }
}

/// The header of a stored funnel.
pub(super) fn header_of(funnel: &Funnel) -> Result<Header> {
    let mut header = Header::default();
    let members = serde_json::to_value(funnel).map_err(Error::internal)?;
    header.merge(members.as_object().ok_or_else(|| missing(&WhichFunnel::Id(funnel.id)))?);
    Ok(header)
}

/// Checks the base of a language version, and replaces a base that is a version itself by its own
/// base. The base must exist, a funnel with versions cannot become a version, and no two funnels
/// of a family may have one language. `own`: the funnel's id; 0 while it is new.
pub(super) async fn family(change: &mut Change, header: &mut Header, own: i64) -> Result<()> {
    let root = match header.base_id.filter(|base| *base != own) {
        None => own,
        Some(base) => {
            let Some(found) = sql::by_id(&mut Source::Change(change), base).await? else {
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
    match sql::in_language(change, root, language, own).await? {
        Some(other) => {
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
        if !sql::is_taken(change, &free, language).await? {
            break;
        }
        let end = format!("-{number}");
        let beginning: String = slug.chars().take(64 - end.len()).collect();
        free = beginning + &end;
    }
    Ok(free)
}
