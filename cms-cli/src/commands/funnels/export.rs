//! `cms funnels export`: a funnel without the ids of its site, the same text for the same funnel

use std::{collections::HashMap, io::Write as _, path::Path};

use cms_core::funnels::FunnelDetail;
use serde_json::{Map, Value as Json, json};

use crate::output::{Done, Failure, Output, WholeFile};

/// Members of a funnel that belong to its site.
const OF_SITE: [&str; 8] =
    ["id", "base_id", "rev", "status", "version", "published_at", "created_at", "updated_at"];

pub(super) fn run(out: &Output, funnel: &FunnelDetail, file: Option<&Path>) -> Done {
    let exported = exported(funnel)?;
    if file.is_none() && out.json {
        return Ok(out.data(&exported)?);
    }
    let text = pretty(&exported)?;
    let Some(path) = file else { return Ok(out.line(&text)?) };
    let mut file = WholeFile::create(path)?;
    writeln!(file, "{text}")?;
    file.done()?;
    let slug = &funnel.funnel.slug;
    let note = format!("The funnel {slug} is in {}.", path.display());
    out.done(&json!({"funnel": slug, "file": path}), &note)
}

pub(super) fn pretty(json: &Json) -> Done<String> {
    serde_json::to_string_pretty(json).map_err(Failure::unexpected)
}

/// Nodes are numbered -1, -2, … in their order; edges and mail rules have no ids.
pub(super) fn exported(funnel: &FunnelDetail) -> Done<Json> {
    let numbers: HashMap<i64, i64> =
        funnel.nodes.iter().zip(1..).map(|(node, number)| (node.id, -number)).collect();
    let new = |id: &Json| {
        id.as_i64().and_then(|id| numbers.get(&id)).map_or(Json::Null, |id| (*id).into())
    };
    let Json::Object(mut members) = serde_json::to_value(funnel).map_err(Failure::unexpected)?
    else {
        return Err(Failure::unexpected("it holds no funnel"));
    };
    for name in OF_SITE {
        members.remove(name);
    }
    if let Some(start) = members.get_mut("start_node_id") {
        *start = new(start);
    }
    each(&mut members, "nodes", |node| {
        let id = node.remove("id").unwrap_or_default();
        node.insert("client_id".to_owned(), new(&id));
    });
    each(&mut members, "edges", |edge| {
        edge.remove("id");
        for end in ["from_node_id", "to_node_id"] {
            let id = edge.get(end).map(new).unwrap_or_default();
            edge.insert(end.to_owned(), id);
        }
    });
    each(&mut members, "email_routings", |rule| drop(rule.remove("id")));
    Ok(Json::Object(members))
}

fn each(members: &mut Map<String, Json>, name: &str, change: impl Fn(&mut Map<String, Json>)) {
    let list = members.get_mut(name).and_then(Json::as_array_mut);
    list.into_iter().flatten().filter_map(Json::as_object_mut).for_each(change);
}
