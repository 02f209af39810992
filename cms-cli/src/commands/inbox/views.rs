//! `cms inbox views`: queries under a name

use clap::Subcommand;
use cms_core::funnels::{InboxView, NewView};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        inbox::{DeleteView, SaveView, Views},
        parameters::NoQuery,
    },
};
use serde_json::json;

use super::{choose::Choose, told};
use crate::{
    output::{Done, Exit, Failure, Output},
    reply::{self, Paging},
};

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

pub(super) async fn run(out: &Output, client: &Client, command: ViewsCommand) -> Done {
    match command {
        ViewsCommand::List => {
            let (columns, paging) = (["id", "name", "query", "updated_at"], Paging::default());
            reply::list::<Views>(out, client, &paging, &columns, |_, _| NoQuery {}).await
        }
        ViewsCommand::Save { name, choose } => {
            let mut new = NewView::new(&name);
            (new.query.filter, new.query.sort) = choose.parts()?;
            let (answer, _) = reply::call::<SaveView>(client, &NoQuery {}, &new).await?;
            told(out, &answer.body, &format!("The view {name} is saved."))
        }
        ViewsCommand::Delete { name } => {
            let view = find(client, &name).await?;
            client.call::<DeleteView>(&reply::by_id(view.id), &NoBody).await?;
            out.done(&json!({"deleted": [view.id]}), &format!("The view {name} is deleted."))
        }
    }
}

async fn find(client: &Client, name: &str) -> Done<InboxView> {
    let views = client.call::<Views>(&NoQuery {}, &NoBody).await?.data;
    views.into_iter().find(|view| view.name == name).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no view {name}"))
            .hint("cms inbox views list")
    })
}
