//! `cms db copy`: to the other engine, while the site is served

use clap::Args;

#[cfg(all(feature = "sqlite", feature = "postgres"))]
use crate::{
    environment, folder,
    output::{Failure, Progress, table},
    prompt,
    target::Target,
};
use crate::{
    flags::Flags,
    output::{Done, Output},
};
#[cfg(all(feature = "sqlite", feature = "postgres"))]
use cms_core::{
    Cms, Secret,
    db::{Copied, CopyProgress, CopyStep},
    settings::{Database, Settings},
};
#[cfg(all(feature = "sqlite", feature = "postgres"))]
use serde_json::json;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms db copy --to postgres://cms@db.example.org/shop
  pass show cms/copy | cms db copy --to -
  CMS_COPY_TO=postgres://cms:PASSWORD@db.example.org/shop cms db copy
  cms db copy --to sqlite:///srv/shop/data/cms.db --resume

Writes to the old database after the copy are not in the new one: see docs/copy.md.")]
pub(crate) struct CopyArgs {
    /// Address of the target. - reads it from standard input, so that nobody sees its password
    /// [env: CMS_COPY_TO=]
    #[arg(long, value_name = "URL|-")]
    to: Option<String>,
    /// Go on with a copy that was broken off
    #[arg(long)]
    resume: bool,
}

#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
pub(crate) async fn run(_: &Flags, _: &Output, _: CopyArgs) -> Done {
    let why = "this build has one engine: a copy needs the features sqlite and postgres";
    Err(crate::output::Failure::new(crate::output::Exit::Refused, why))
}

#[cfg(all(feature = "sqlite", feature = "postgres"))]
pub(crate) async fn run(flags: &Flags, out: &Output, args: CopyArgs) -> Done {
    let dir = Target::folder_only(flags, "cms db copy")?;
    let settings = folder::existing(&dir, &[], out)?.settings;
    let url = address(out, args.to)?;
    let target = target(&settings, url)?;
    let cms = folder::as_is(settings).await?;
    let copied = copy(&cms, out, &target, args.resume).await;
    cms.close().await;
    let copied = copied?;
    let rows: u64 = copied.tables.iter().map(|(_, rows)| rows).sum();
    if out.json {
        let tables = copied.tables.iter().map(|(name, rows)| (name.clone(), json!(rows)));
        return Ok(out.data(&json!({
            "rows": rows,
            "tables": tables.collect::<serde_json::Map<_, _>>(),
            "left_out": copied.left_out,
            "read_only_ms": u64::try_from(copied.read_only.as_millis()).unwrap_or(u64::MAX),
        }))?);
    }
    print(out, &copied, rows, &target)
}

/// The address of the target: from the command line, standard input or the environment.
#[cfg(all(feature = "sqlite", feature = "postgres"))]
fn address(out: &Output, given: Option<String>) -> Done<Secret> {
    match given {
        Some(dash) if dash == "-" => prompt::line_of_stdin("the address of the target"),
        Some(url) => {
            let shows = reqwest::Url::parse(&url).is_ok_and(|url| url.password().is_some());
            if shows {
                out.note(
                    "warning: other users of this machine can see the password in --to: use \
                     --to - or CMS_COPY_TO",
                );
            }
            Ok(Secret::new(url))
        }
        None => match environment::variable("CMS_COPY_TO") {
            Some(url) if !url.trim().is_empty() => Ok(Secret::new(url.trim())),
            _ => Err(Failure::usage("the address of the target is missing")
                .hint("--to URL, --to - to read it, or CMS_COPY_TO in the environment")),
        },
    }
}

#[cfg(all(feature = "sqlite", feature = "postgres"))]
fn target(settings: &Settings, url: Secret) -> Done<Database> {
    let mut settings = settings.clone();
    settings.database_url = Some(url);
    (settings.db_host, settings.db_user) = (None, None);
    (settings.db_pw, settings.db_db) = (None, None);
    settings.database().map_err(|error| {
        let rule = error.to_string().replace("`database_url`", "the address of the target");
        Failure::usage(rule)
    })
}

#[cfg(all(feature = "sqlite", feature = "postgres"))]
async fn copy(cms: &Cms, out: &Output, target: &Database, resume: bool) -> Done<Copied> {
    use std::sync::{Mutex, PoisonError};
    let shown: Mutex<Option<(CopyStep, Progress)>> = Mutex::new(None);
    let on_progress = |now: CopyProgress<'_>| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.as_ref().is_none_or(|(step, _)| *step != now.step) {
            end(shown.take());
            *shown = Some((now.step, Progress::new(out, done(now.step).0, now.total)));
        }
        if let Some((_, progress)) = shown.as_mut() {
            progress.at(now.rows, now.rows);
        }
    };
    let copied = cms.copy_to(target, resume, &on_progress).await;
    let last = shown.into_inner().unwrap_or_else(PoisonError::into_inner);
    match &copied {
        Ok(_) => end(last),
        Err(_) => last.iter().for_each(|(_, progress)| progress.clear()),
    }
    copied.map_err(|error| {
        let mut failure = Failure::from(error);
        if matches!(target, Database::Postgres { .. }) {
            // The source is SQLite's file.
            let names = "database_url or db_host, db_user, db_pw, db_db";
            failure.what = failure.what.replace(names, "the address of the target");
        }
        failure
    })
}

#[cfg(all(feature = "sqlite", feature = "postgres"))]
fn done(step: CopyStep) -> (&'static str, &'static str) {
    match step {
        CopyStep::Check => ("checked", "of the source"),
        CopyStep::Copy => ("copied", "while others may write"),
        CopyStep::Settle => ("settled", "while nobody may write"),
        CopyStep::Compare => ("compared", "of the target"),
    }
}

#[cfg(all(feature = "sqlite", feature = "postgres"))]
fn end(shown: Option<(CopyStep, Progress)>) {
    if let Some((step, progress)) = shown {
        progress.end(done(step).1);
    }
}

#[cfg(all(feature = "sqlite", feature = "postgres"))]
fn print(out: &Output, copied: &Copied, rows: u64, target: &Database) -> Done {
    let lines: Vec<_> =
        copied.tables.iter().map(|(name, rows)| vec![name.clone(), rows.to_string()]).collect();
    table::rows(out, &["table", "rows"], &lines)?;
    if !copied.left_out.is_empty() {
        let left = copied.left_out.join(", ");
        out.note(&format!("Left out, as neither the service nor a plugin made them: {left}."));
    }
    let (tables, waited) = (copied.tables.len(), copied.read_only.as_secs_f64());
    let url = match target {
        Database::Sqlite { path, .. } => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            format!("sqlite://{}", path.display())
        }
        Database::Postgres { .. } => "the address of the target".to_owned(),
    };
    out.note(&format!(
        "{rows} rows of {tables} tables are equal in both. Nobody could write for {waited:.1} s.\n\
         Writes from now on reach the old database alone. Next:\n  \
         stop the site\n  \
         in cms.local.toml set database_url to {url}; keep encryption_key and password_salt\n  \
         cms doctor\n  \
         cms serve"
    ));
    Ok(())
}
