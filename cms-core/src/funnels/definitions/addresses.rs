//! Finds invalid addresses in stored funnels.

use serde_json::{Value as Json, json};

use super::sql;
use crate::{
    Address, Error, Result, db::args, fields::broken_links, funnels::Funnels, items::BrokenAddress,
};

/// Nodes that are read at once.
const BATCH: i64 = 500;

impl Funnels {
    /// Redirects of ends and links of fields that are not valid addresses, at most `most`.
    pub(crate) async fn broken_addresses(&self, most: usize) -> Result<Vec<BrokenAddress>> {
        let (mut found, mut after) = (Vec::new(), i64::MIN);
        while found.len() < most {
            let args = args![after, BATCH];
            let rows: Vec<(i64, i64, String, String)> =
                self.0.base.db().all(sql::NODES_AFTER, args).await?;
            let Some((last, ..)) = rows.last() else { break };
            after = *last;
            for (node, funnel, kind, config) in &rows {
                let config: Json = serde_json::from_str(config).map_err(Error::internal)?;
                let mut add = |place: &str, problem| {
                    found.push(BrokenAddress {
                        table: "formfunnels".to_owned(),
                        id: funnel.to_string(),
                        column: format!("node {node}: {place}"),
                        problem,
                    });
                };
                if kind == "end" {
                    for name in ["redirect_url", "url"] {
                        let text = config[name].as_str().filter(|text| !text.is_empty());
                        if let Some(problem) = text.and_then(|t| Address::Redirect.problem(t)) {
                            add(name, problem);
                        }
                    }
                }
                for fault in broken_links(config.get("fields").unwrap_or(&json!([]))) {
                    add(&format!("fields{}", fault.field), fault.message);
                }
            }
        }
        found.truncate(most);
        Ok(found)
    }
}
