//! The command tree, made of the arguments of each noun.

use clap::{Parser, Subcommand};

use crate::{
    commands::{
        api, audit, auth, cache, config, context, db, events, forms, funnels, groups, inbox, init,
        items, keys, limits, login, mail, media, migrate, origins, pages, plugins,
        process_webhooks, program, queue, serve, status, tables, tasks, theme, types, update,
        users, webhooks, widgets,
    },
    flags::Flags,
};

const EXAMPLES: &str = "Examples:
  cms serve --listen 127.0.0.1:8080 --demo --dir ./try
  cms keys create --name export --right 'GET /api/backend/item?table=blog'
  cms items list blog --where 'published=true' --sort -published_at --limit 5

Exit codes: cms help exit-codes";

/// Serve, administer and fill a CMS.
#[derive(Debug, Parser)]
#[command(name = "cms", version = cms_core::VERSION, propagate_version = false)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Command {
    /// Whether the command works on files, settings or the whole database, where no
    /// user's rights count.
    pub(crate) fn ignores_rights(&self) -> bool {
        match self {
            Self::Init(_)
            | Self::Serve(_)
            | Self::ProcessWebhooks(_)
            | Self::Context(_)
            | Self::Config(_)
            | Self::Migrate(_)
            | Self::Db(_)
            | Self::Doctor(_)
            | Self::Version
            | Self::Completions(_)
            | Self::ExitCodes
            | Self::Update(_)
            | Self::Mail(mail::MailCommand::Sink(_))
            | Self::Webhooks(
                webhooks::WebhooksCommand::Listen(_) | webhooks::WebhooksCommand::Verify(_),
            ) => true,
            Self::Plugins(command) => command.ignores_rights(),
            Self::Theme(command) => command.ignores_rights(),
            _ => false,
        }
    }

    /// Whether the command opens the terminal interface.
    pub(crate) fn is_interface(&self) -> bool {
        match self {
            #[cfg(feature = "tui")]
            Self::Tui(_) => true,
            #[cfg(feature = "tui")]
            Self::Inbox(args) => args.is_interface(),
            _ => false,
        }
    }
}

/// The nouns.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a site in a folder; safe to run again
    Init(init::InitArgs),
    /// Serve the site over HTTP
    Serve(serve::ServeArgs),
    /// Rows of content tables
    #[command(subcommand)]
    Items(items::ItemsCommand),
    /// Content tables and their columns
    #[command(subcommand)]
    Tables(tables::TablesCommand),
    /// Forms on pages, and what visitors submitted
    #[command(subcommand)]
    Forms(forms::FormsCommand),
    /// Funnels: forms of several steps, drawn as a graph
    #[command(subcommand)]
    Funnels(funnels::FunnelsCommand),
    /// What visitors of funnels sent: sorted, noted, assigned; without a verb it opens the terminal
    /// interface
    Inbox(inbox::InboxArgs),
    /// Pages: drafts, what is published of them, revisions
    #[command(subcommand)]
    Pages(pages::PagesCommand),
    /// Widgets that pages are made of
    #[command(subcommand)]
    Widgets(widgets::WidgetsCommand),
    /// What the build of a theme reads: variables, class names to keep
    #[command(subcommand)]
    Theme(theme::ThemeCommand),
    /// The API as types for programs that call it
    #[command(subcommand)]
    Types(types::TypesCommand),
    #[command(flatten)]
    Resource(items::resources::ResourceCommand),
    /// Uploaded files: pictures, sound, film, documents
    #[command(subcommand)]
    Media(media::MediaCommand),
    /// API keys and their rights
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Subscriptions to events, and their deliveries
    #[command(subcommand)]
    Webhooks(webhooks::WebhooksCommand),
    /// Known and recorded events
    #[command(subcommand)]
    Events(events::EventsCommand),
    /// Deliveries in the queue
    #[command(subcommand)]
    Queue(queue::QueueCommand),
    /// Deliver due jobs and remove old rows, then end; for cron
    ProcessWebhooks(process_webhooks::ProcessWebhooksArgs),
    /// Mails: providers, a test, the log
    #[command(subcommand)]
    Mail(mail::MailCommand),
    /// Tasks of plugins and of the service, and the history of their runs
    #[command(subcommand)]
    Tasks(tasks::TasksCommand),
    /// Plugins: what the site found, checks for those who write them
    #[command(subcommand)]
    Plugins(plugins::PluginsCommand),
    /// Websites whose pages may call the API
    #[command(subcommand)]
    Origins(origins::OriginsCommand),
    /// People who may log in
    #[command(subcommand)]
    Users(users::UsersCommand),
    /// Groups of users, and their rights
    #[command(subcommand)]
    Groups(groups::GroupsCommand),
    /// Wrong logins, and the security part of the audit log
    #[command(subcommand)]
    Auth(auth::AuthCommand),
    /// Log in to a running site: password, then code
    Login(login::LoginArgs),
    /// End the session at a running site
    Logout,
    /// Show which site commands use, and as whom
    Whoami,
    /// Call any endpoint, and print its reply as it comes
    Api(api::ApiArgs),
    /// Names for running sites
    #[command(subcommand)]
    Context(context::ContextCommand),
    /// Who did what to which row
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Cache of replies to anonymous visitors
    #[command(subcommand)]
    Cache(cache::CacheCommand),
    /// Buckets of the limiter
    #[command(subcommand)]
    Limits(limits::LimitsCommand),
    /// Settings in force, and where they come from
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// The schema of the database
    #[command(subcommand)]
    Migrate(migrate::MigrateCommand),
    /// The database and the files of the site: saved, brought back, checked, copied
    #[command(subcommand)]
    Db(db::DbCommand),
    /// Releases of the update server: checked, applied, taken back
    #[command(subcommand)]
    Update(update::UpdateCommand),
    /// Run the checks of a running site: 0 all is well, 1 something is wrong
    Status(status::StatusArgs),
    /// Check a site from outside, and say how to mend it
    Doctor(status::DoctorArgs),
    /// Do all of this in the terminal: webhooks, queue, keys, content, users
    #[cfg(feature = "tui")]
    Tui(crate::commands::tui::TuiArgs),
    /// Print the version
    Version,
    /// Print completions for a shell
    Completions(program::CompletionsArgs),
    /// Print what the exit codes mean
    #[command(after_help = program::exit_code_table())]
    ExitCodes,
}
