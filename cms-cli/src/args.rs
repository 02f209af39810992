//! The command tree, put together from the nouns' own arguments.

use clap::{Parser, Subcommand};

use crate::{
    commands::{
        audit, auth, cache, completions, config, context, doctor, events, exit_codes, groups, init,
        items, keys, limits, login, migrate, origins, process_webhooks, queue, serve, users,
        webhooks,
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
#[command(name = "cms", version = cms_core::VERSION, propagate_version = false, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
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
    /// API keys and their rights
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Who is told of events, and what was delivered
    #[command(subcommand)]
    Webhooks(webhooks::WebhooksCommand),
    /// Events that webhooks can listen to
    #[command(subcommand)]
    Events(events::EventsCommand),
    /// Deliveries that wait
    #[command(subcommand)]
    Queue(queue::QueueCommand),
    /// Deliver what is due, then end; for cron
    ProcessWebhooks(process_webhooks::ProcessWebhooksArgs),
    /// Websites whose pages may call
    #[command(subcommand)]
    Origins(origins::OriginsCommand),
    /// People who may log in
    #[command(subcommand)]
    Users(users::UsersCommand),
    /// What people may do, by group
    #[command(subcommand)]
    Groups(groups::GroupsCommand),
    /// Wrong logins, and the log of everything about security
    #[command(subcommand)]
    Auth(auth::AuthCommand),
    /// Log in to a running site: password, then code
    Login(login::LoginArgs),
    /// End the session at a running site
    Logout,
    /// Who I am, and at which site
    Whoami,
    /// Names for running sites
    #[command(subcommand)]
    Context(context::ContextCommand),
    /// Who did what to which row
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// The cache of replies to anonymous visitors
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
    /// Look for what is wrong with a site
    Doctor(doctor::DoctorArgs),
    /// Look at content in the terminal
    #[cfg(feature = "tui")]
    Tui(crate::commands::tui::TuiArgs),
    /// Print the version
    Version,
    /// Print the completions of a shell
    Completions(completions::CompletionsArgs),
    /// What the exit codes mean
    #[command(after_help = exit_codes::table())]
    ExitCodes,
}
