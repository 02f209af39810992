//! `cms pages`: drafts and what is published of them, through `/api/backend/pagebuilder`

mod nodes;

use clap::{Args, Subcommand};
use cms_core::pages::builder::{Draft, Tree};
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody, item,
        pagebuilder::{
            Copied, CopyTree, Discard, LinkFor, Links, MakeLink, MayName, OnePage, OneRevision,
            Planned, Publish, Restore, Restored, Revisions, SetSchedule, TakeOff, Unlink,
            WhichLinks, WhichRevision, WhichRevisions,
        },
        parameters::NoQuery,
    },
};
use serde::Serialize;
use serde_json::json;

use self::nodes::{AddArgs, EditArgs, MoveArgs, RemoveArgs};
use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output},
    prompt,
    reply::{
        self, Paging,
        draft::{DraftView, id_of},
    },
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum PagesCommand {
    /// List pages
    List {
        /// Only those in this language, such as en
        #[arg(long, value_name = "LANGUAGE")]
        language: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show the state of a page: published, revision, schedule, size of the draft
    Show(Named),
    /// Draw a page: rows, columns, widgets, items
    Tree {
        /// Id, address or view of the page
        page: String,
        /// A revision instead of the draft
        #[arg(long, value_name = "N")]
        revision: Option<i64>,
    },
    /// Add a row, a column or an item to a draft
    Add(AddArgs),
    /// Change values of a widget or an item in a draft
    Edit(EditArgs),
    /// Move a node of a draft
    Move(MoveArgs),
    /// Remove a node of a draft, with all that stands in it
    Remove(RemoveArgs),
    /// Publish the draft of a page
    Publish(Named),
    /// Hide a page from visitors; its revisions stay
    TakeOff(Named),
    /// Return the draft of a page to what was published last
    Discard(Named),
    /// List the revisions of a page, newest first
    Revisions {
        /// Id, address or view of the page
        page: String,
        #[command(flatten)]
        paging: Paging,
    },
    /// Restore a revision into the draft of a page
    Restore {
        /// Id, address or view of the page
        page: String,
        /// Number of the revision
        revision: i64,
    },
    /// Tell what publishing would change, or how two states of a page differ
    Diff(nodes::DiffArgs),
    /// Copy the draft of a page into another page, for example to begin a translation
    Copy {
        /// Id, address or view of the page to copy
        from: String,
        /// Id or address of the page whose draft becomes the copy
        to: String,
        /// Overwrite the other draft if it is not empty
        #[arg(long)]
        replace: bool,
    },
    /// Show or set when a page is published and taken off by itself
    Schedule(ScheduleArgs),
    /// Make a link that shows a draft without a login
    #[command(after_help = "Example: cms pages link / --ttl 2d --note 'For the agency'")]
    Link {
        /// Id, address or view of the page
        page: String,
        /// How long it shows the draft, such as 2h or 7d, 30 days at most
        #[arg(long, value_name = "TIME", default_value = "1d", value_parser = input::seconds)]
        ttl: i64,
        /// For whom it is
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// List the links that show the draft of a page, newest first
    Links {
        /// Id, address or view of the page
        page: String,
        #[command(flatten)]
        paging: Paging,
    },
    /// Revoke a link that shows a draft
    Unlink {
        /// Its id, as cms pages links shows it
        id: i64,
    },
}

/// A page.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Id, address or view of the page
    page: String,
}

pub(crate) async fn run(flags: &Flags, out: &Output, site: &Site, command: PagesCommand) -> Done {
    let client = &site.client;
    let named = MayName::default();
    match command {
        PagesCommand::List { language, paging } => {
            let fields = "id,language_short,url_rewrite,title,view,published,base_id";
            let filter = language.map(|it| ("filter[language_short][eq]".to_owned(), it));
            let asked = item::WhichItems {
                table: "pages".to_owned(),
                fields: Some(fields.to_owned()),
                filters: filter.into_iter().collect(),
                ..item::WhichItems::default()
            };
            let ask = Ask::of::<item::Read>(&asked, &NoBody)?;
            reply::records(out, client, &paging, ask).await
        }
        PagesCommand::Show(Named { page }) => show(out, client, &page).await,
        PagesCommand::Tree { page, revision } => draw(out, client, &page, revision).await,
        PagesCommand::Add(args) => nodes::added(out, client, &args).await,
        PagesCommand::Edit(args) => nodes::edited(out, client, &args).await,
        PagesCommand::Move(args) => nodes::moved(out, client, &args).await,
        PagesCommand::Remove(args) => nodes::removed(flags, out, client, &args).await,
        PagesCommand::Publish(Named { page }) => {
            let seen = DraftView::find(client, &page).await?;
            let body = OnePage { page_id: Some(seen.draft.page_id) };
            seen.change::<Publish>(out, client, &named, &body).await
        }
        PagesCommand::TakeOff(Named { page }) => {
            prompt::confirm(flags, &format!("Hide the page {page} from visitors?"))?;
            let seen = DraftView::find(client, &page).await?;
            let body = OnePage { page_id: Some(seen.draft.page_id) };
            seen.change::<TakeOff>(out, client, &named, &body).await
        }
        PagesCommand::Discard(Named { page }) => {
            prompt::confirm(flags, &format!("Lose what the draft of {page} has changed?"))?;
            let seen = DraftView::find(client, &page).await?;
            let body = OnePage { page_id: Some(seen.draft.page_id) };
            seen.change::<Discard>(out, client, &named, &body).await
        }
        PagesCommand::Revisions { page, paging } => {
            let page_id = id_of(client, &page).await?;
            let columns = ["number", "created_at", "actor", "checksum"];
            let query = |limit, cursor| WhichRevisions { page_id, limit, cursor, count: None };
            reply::list::<Revisions>(out, client, &paging, &columns, query).await
        }
        PagesCommand::Restore { page, revision } => {
            let told = format!("Replace the draft of {page} by revision {revision}?");
            prompt::confirm(flags, &told)?;
            let seen = DraftView::find(client, &page).await?;
            let body = Restored { page_id: Some(seen.draft.page_id), revision };
            seen.change::<Restore>(out, client, &named, &body).await
        }
        PagesCommand::Diff(args) => nodes::diff(out, client, args).await,
        PagesCommand::Copy { from, to, replace } => {
            let from_page_id = id_of(client, &from).await?;
            let seen = DraftView::find(client, &to).await?;
            let is_empty = seen.draft.tree.rows.is_empty();
            if !replace && !is_empty && seen.draft.page_id != from_page_id {
                let what = format!("the draft of {to} is not empty");
                return Err(Failure::new(Exit::Refused, what).hint("--replace overwrites it"));
            }
            let body = Copied { from_page_id, page_id: seen.draft.page_id, replace };
            seen.change::<CopyTree>(out, client, &NoQuery {}, &body).await
        }
        PagesCommand::Schedule(args) => schedule(out, client, args).await,
        PagesCommand::Link { page, ttl, note } => {
            let page_id = Some(id_of(client, &page).await?);
            let body = LinkFor { page_id, ttl_s: Some(ttl), note };
            reply::record::<MakeLink>(out, client, &named, &body).await
        }
        PagesCommand::Links { page, paging } => {
            let page_id = id_of(client, &page).await?;
            let columns = ["id", "note", "actor", "created_at", "expires_at"];
            let query = |limit, cursor| WhichLinks { page_id, limit, cursor, count: None };
            reply::list::<Links>(out, client, &paging, &columns, query).await
        }
        PagesCommand::Unlink { id } => {
            let told = format!("Revoke the link {id}? Who has it sees the draft no longer.");
            prompt::confirm(flags, &told)?;
            client.call::<Unlink>(&reply::by_id(id), &NoBody).await?;
            out.done(&json!({"deleted": [id]}), &format!("The link {id} is revoked."))
        }
    }
}

/// The state of a page as it is shown.
#[derive(Serialize)]
struct DraftState {
    changed: bool,
    page_id: i64,
    publish_at: Option<String>,
    published: bool,
    rev: i64,
    revision: Option<i64>,
    /// Of the draft.
    size: String,
    take_off_at: Option<String>,
}

async fn show(out: &Output, client: &Client, page: &str) -> Done {
    let DraftView { draft, answer } = DraftView::find(client, page).await?;
    let size = nodes::size(&draft.tree);
    let Draft { page_id, rev, published, revision, changed, publish_at, take_off_at, .. } = draft;
    let state =
        DraftState { changed, page_id, publish_at, published, rev, revision, size, take_off_at };
    reply::show(out, &answer.body, &state)
}

async fn draw(out: &Output, client: &Client, page: &str, revision: Option<i64>) -> Done {
    let (body, head, tree): (String, String, Tree) = match revision {
        None => {
            let DraftView { draft, answer } = DraftView::find(client, page).await?;
            let seen = match (draft.published, draft.revision) {
                (true, Some(number)) => format!("published as revision {number}"),
                (_, Some(number)) => format!("not published, last as revision {number}"),
                _ => "never published".to_owned(),
            };
            let changed = if draft.changed { ", draft changed" } else { "" };
            (answer.body, format!("page {}, {seen}{changed}", draft.page_id), draft.tree)
        }
        Some(number) => {
            let which = WhichRevision { page_id: id_of(client, page).await?, number };
            let (answer, read) = reply::call::<OneRevision>(client, &which, &NoBody).await?;
            let head = format!(
                "page {}, revision {number} of {}",
                which.page_id, read.data.revision.created_at
            );
            (answer.body, head, read.data.tree)
        }
    };
    if out.json {
        return Ok(out.line(&body)?);
    }
    Ok(out.line(nodes::drawn(&head, &tree).trim_end())?)
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms pages schedule /
  cms pages schedule / --publish 2099-12-24T06:00:00Z
  cms pages schedule / --no-publish

Without an option the plan is shown. A time that is not named stays as it is.")]
pub(crate) struct ScheduleArgs {
    /// Id, address or view of the page
    page: String,
    /// When the draft is published, RFC 3339
    #[arg(long, value_name = "TIME")]
    publish: Option<String>,
    /// When the page is taken off, RFC 3339
    #[arg(long, value_name = "TIME")]
    take_off: Option<String>,
    /// It is not published by itself
    #[arg(long, conflicts_with = "publish")]
    no_publish: bool,
    /// It is not taken off by itself
    #[arg(long, conflicts_with = "take_off")]
    no_take_off: bool,
    /// Neither happens by itself
    #[arg(long, conflicts_with_all = ["publish", "take_off", "no_publish", "no_take_off"])]
    clear: bool,
}

impl ScheduleArgs {
    /// Whether the plan is only looked at.
    fn is_question(&self) -> bool {
        let changes = self.no_publish || self.no_take_off || self.clear;
        !changes && self.publish.is_none() && self.take_off.is_none()
    }
}

async fn schedule(out: &Output, client: &Client, args: ScheduleArgs) -> Done {
    let seen = DraftView::find(client, &args.page).await?;
    let draft = &seen.draft;
    if args.is_question() {
        let plan = json!({
            "page_id": draft.page_id,
            "publish_at": draft.publish_at,
            "take_off_at": draft.take_off_at,
            "rev": draft.rev,
        });
        return reply::show(out, &seen.answer.body, &plan);
    }
    let kept = |at: &Option<String>, cleared: bool| at.clone().filter(|_| !cleared && !args.clear);
    let body = Planned {
        page_id: Some(draft.page_id),
        publish_at: args.publish.clone().or_else(|| kept(&draft.publish_at, args.no_publish)),
        take_off_at: args.take_off.clone().or_else(|| kept(&draft.take_off_at, args.no_take_off)),
    };
    seen.change::<SetSchedule>(out, client, &MayName::default(), &body).await
}
