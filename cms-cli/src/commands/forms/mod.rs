//! `cms forms`: forms as records of `forms`, and what visitors submitted

mod export;
mod saved;
mod submissions;

use std::path::PathBuf;

use clap::Subcommand;
use cms_http::{
    client::{Ask, Client},
    wire::item::{Read, WhichItems},
};
use serde_json::json;

use self::{
    export::ExportArgs,
    saved::{ITEM, Saved, print},
    submissions::SubmissionsCommand,
};
use crate::{
    flags::Flags,
    input,
    output::{Done, Output},
    prompt,
    reply::{self, Paging},
    site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum FormsCommand {
    /// List forms
    List(Paging),
    /// Show a form with its fields
    Show {
        /// Name or id of the form
        form: String,
    },
    /// Make a form from a JSON object: name, fields and more, see docs/forms.md
    #[command(after_help = "Example:
  echo '{\"name\":\"contact\",\"fields\":[{\"id\":\"mail\",\"type\":\"email\"}]}' \\
    | cms forms create -")]
    Create {
        /// File with the JSON; - for standard input
        file: PathBuf,
    },
    /// Change the columns named in a JSON object
    #[command(after_help = "Example: echo '{\"active\":false}' | cms forms edit contact -")]
    Edit {
        /// Name or id of the form
        form: String,
        /// File with the JSON; - for standard input
        file: PathBuf,
    },
    /// Delete a form for good, with its submissions
    Delete {
        /// Name or id of the form
        form: String,
    },
    /// What visitors submitted
    #[command(subcommand)]
    Submissions(SubmissionsCommand),
    /// Write the submissions of a form as CSV, newest first
    Export(ExportArgs),
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: FormsCommand) -> Done {
    site::with(flags, out, async |site| at(flags, out, &site.client, command).await).await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: FormsCommand) -> Done {
    match command {
        FormsCommand::List(paging) => {
            let columns = ["id", "name", "title", "active", "min_seconds", "retention_days"];
            let query = |limit: cms_http::wire::parameters::Limit, cursor| WhichItems {
                table: "forms".to_owned(),
                limit: Some(limit.0.to_string()),
                cursor,
                ..WhichItems::default()
            };
            reply::list::<Read>(out, client, &paging, &columns, query).await
        }
        FormsCommand::Show { form } => {
            let saved = Saved::find(client, &form).await?;
            print(out, &saved.answer)
        }
        FormsCommand::Create { file } => {
            let ask = Ask::post(ITEM).query("table", "forms").text(input::text(&file)?);
            print(out, &client.send(ask).await?)
        }
        FormsCommand::Edit { form, file } => {
            let body = input::text(&file)?;
            let saved = Saved::find(client, &form).await?;
            let ask = Ask::patch(ITEM).query("table", "forms").query("id", saved.id);
            let ask = ask.text(body).if_match(saved.answer.etag);
            print(out, &client.send(ask).await?)
        }
        FormsCommand::Delete { form } => {
            let saved = Saved::find(client, &form).await?;
            prompt::confirm(flags, &format!("Delete the form {form} with its submissions?"))?;
            let ask = Ask::delete(ITEM).query("table", "forms").query("id", saved.id);
            client.send(ask.if_match(saved.answer.etag)).await?;
            out.done(&json!({"deleted": [saved.id]}), &format!("The form {form} is deleted."))
        }
        FormsCommand::Submissions(command) => submissions::run(flags, out, client, command).await,
        FormsCommand::Export(args) => export::run(out, client, &args).await,
    }
}
