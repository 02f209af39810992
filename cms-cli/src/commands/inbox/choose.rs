//! Flags that choose submissions, and `cms inbox views`: saved queries

use clap::{Args, Subcommand};
use cms_core::funnels::{InboxFilter, InboxView, NewView};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        inbox::{DeleteView, InboxAsked, SaveView, Views},
        parameters::NoQuery,
    },
};
use serde_json::{Map, Value as Json, json};

use crate::{
    output::{Done, Exit, Failure, Output},
    reply::{self, Paging},
};

/// Which submissions.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Matching {
    /// Only those that fulfil column=value or column:op=value, op one of eq ne gt gte lt lte in nin
    /// contains starts_with ends_with null; may be repeated. The end of cms inbox list --help names
    /// the columns
    #[arg(long = "where", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<(String, String, String)>,
    /// Only those with this text in name, address, telephone, company, summary or reference
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// Which submissions, and in which order.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Choose {
    #[command(flatten)]
    matching: Matching,
    /// Order by these columns, - in front for descending: -score,started_at
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    sort: Option<String>,
    /// As a saved view says
    #[arg(long, value_name = "NAME", conflicts_with_all = ["conditions", "search", "sort"])]
    view: Option<String>,
}

impl Matching {
    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.search.is_none()
    }

    /// The filter, as the body of a call has it.
    pub(super) fn filter(&self) -> Done<InboxFilter> {
        let mut filter = Map::new();
        for (column, op, value) in &self.conditions {
            let ops = filter.entry(column.clone()).or_insert_with(|| json!({}));
            let value = match op.as_str() {
                "in" | "nin" => value.split(',').map(Json::from).collect(),
                _ => Json::from(value.clone()),
            };
            if ops.as_object_mut().is_some_and(|ops| ops.insert(op.clone(), value).is_some()) {
                return Err(Failure::usage(format!("{column}:{op} is there twice")));
            }
        }
        if let Some(text) = &self.search {
            filter.insert("search".to_owned(), text.clone().into());
        }
        Ok(InboxFilter(filter))
    }
}

impl Choose {
    /// The filter, as the query of a list has it.
    pub(super) async fn asked(&self, client: &Client) -> Done<InboxAsked> {
        let Some(name) = &self.view else {
            return query(&self.matching.filter()?, self.sort.clone());
        };
        let view = view_named(client, name).await?;
        query(&view.query.filter, view.query.sort)
    }

    /// The filter and the order, to be saved.
    fn parts(&self) -> Done<(InboxFilter, Option<String>)> {
        if self.view.is_some() {
            return Err(Failure::usage("a view cannot be saved from another view"));
        }
        Ok((self.matching.filter()?, self.sort.clone()))
    }
}

/// A filter as parameters of a list.
fn query(filter: &InboxFilter, sort: Option<String>) -> Done<InboxAsked> {
    let mut asked = InboxAsked { sort, ..InboxAsked::default() };
    for (column, given) in &filter.0 {
        if column == "search" {
            asked.search = given.as_str().map(str::to_owned);
            continue;
        }
        let ops = match given {
            Json::Object(ops) => ops.clone(),
            Json::Null => Map::from_iter([("null".to_owned(), Json::from("true"))]),
            Json::Array(_) => Map::from_iter([("in".to_owned(), given.clone())]),
            _ => Map::from_iter([("eq".to_owned(), given.clone())]),
        };
        for (op, value) in ops {
            asked.filters.insert(format!("filter[{column}][{op}]"), text(&value));
        }
    }
    Ok(asked)
}

fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        Json::Null => "true".to_owned(),
        other => other.to_string(),
    }
}

/// Reads `column:op=value`.
fn condition(text: &str) -> Result<(String, String, String), String> {
    let form = "write column=value or column:op=value, such as inbox_status=new";
    let (left, value) = text.split_once('=').ok_or(form)?;
    let (column, op) = left.rsplit_once(':').unwrap_or((left, "eq"));
    if column.is_empty() || op.is_empty() {
        return Err(form.to_owned());
    }
    Ok((column.to_owned(), op.to_owned(), value.to_owned()))
}

#[derive(Debug, Subcommand)]
pub(crate) enum ViewsCommand {
    /// List your views, by name
    List,
    /// Save a view; one of the same name is replaced
    #[command(after_help = "Example:
  cms inbox views save 'New leads' --where inbox_status=new --sort -score")]
    Save {
        /// Its name
        name: String,
        #[command(flatten)]
        choose: Choose,
    },
    /// Delete a view
    Delete {
        /// Its name
        name: String,
    },
}

pub(super) async fn views(out: &Output, client: &Client, command: ViewsCommand) -> Done {
    match command {
        ViewsCommand::List => {
            let (columns, paging) = (["id", "name", "query", "updated_at"], Paging::default());
            reply::list::<Views>(out, client, &paging, &columns, |_, _| NoQuery {}).await
        }
        ViewsCommand::Save { name, choose } => {
            let mut new = NewView::new(&name);
            (new.query.filter, new.query.sort) = choose.parts()?;
            let (answer, _) = reply::call::<SaveView>(client, &NoQuery {}, &new).await?;
            out.told(&answer.body, &format!("The view {name} is saved."))
        }
        ViewsCommand::Delete { name } => {
            let view = view_named(client, &name).await?;
            client.call::<DeleteView>(&reply::by_id(view.id), &NoBody).await?;
            out.done(&json!({"deleted": [view.id]}), &format!("The view {name} is deleted."))
        }
    }
}

async fn view_named(client: &Client, name: &str) -> Done<InboxView> {
    let views = client.call::<Views>(&NoQuery {}, &NoBody).await?.data;
    views.into_iter().find(|view| view.name == name).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no view {name}"))
            .hint("cms inbox views list")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(conditions: &[&str]) -> Matching {
        let conditions = conditions.iter().map(|text| condition(text).expect("read")).collect();
        Matching { conditions, search: Some("ada".to_owned()) }
    }

    #[test]
    fn flags_say_the_same_in_bodies_and_queries() {
        let flags = ["inbox_status:in=new,qualified", "score:gt=5", "assigned_to:null=true"];
        let filter = matching(&flags).filter().expect("a filter");
        let expected = json!({
            "inbox_status": {"in": ["new", "qualified"]}, "score": {"gt": "5"},
            "assigned_to": {"null": "true"}, "search": "ada",
        });
        assert_eq!(Json::Object(filter.0.clone()), expected);
        let asked = query(&filter, None).expect("a query");
        let said: Vec<_> =
            asked.filters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = [
            "filter[assigned_to][null]=true",
            "filter[inbox_status][in]=new,qualified",
            "filter[score][gt]=5",
        ];
        assert_eq!(
            (said, asked.search.as_deref()),
            (expected.map(str::to_owned).to_vec(), Some("ada"))
        );
        assert!(matching(&["a=1", "a=2"]).filter().is_err());
    }
}
