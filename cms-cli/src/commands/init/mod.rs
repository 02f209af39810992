//! `cms init`: makes a site in a folder, or completes one

mod admin;

use std::path::Path;

use clap::Args;
use serde_json::json;

use crate::{
    flags::Flags,
    folder,
    output::{Done, Output},
    prompt,
    site::Site,
    target::Target,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms init
  cms init --admin ana
  pass show cms/ana | cms init --dir /srv/shop --admin ana --password-stdin")]
pub(crate) struct InitArgs {
    /// Also create this administrator, unless there is one of that name
    #[arg(long, value_name = "NAME")]
    admin: Option<String>,
    /// Read the administrator's password from the first line of standard input
    #[arg(long, requires = "admin")]
    password_stdin: bool,
}

pub(crate) async fn run(flags: &Flags, out: &Output, args: InitArgs) -> Done {
    let dir = Target::folder_only(flags, "cms init")?;
    if args.admin.is_some() && !args.password_stdin {
        prompt::expect_terminal(flags, "the password of the administrator", "--password-stdin")?;
    }
    let turn = folder::take_turn(&dir, out)?;
    let mut report = folder::make(&dir, &[], out).await?;
    if let Some(name) = &args.admin {
        let site = Site::open(flags, &Target::Folder(dir.clone()), out).await?;
        let outcome = prompt::interruptible(admin::ensure(
            flags,
            &site,
            name,
            args.password_stdin,
            &mut report,
        ))
        .await;
        outcome.and(site.close().await)?;
    }
    drop(turn);
    if out.json {
        return Ok(out.data(
            &json!({"dir": dir.display().to_string(), "made": report.made, "kept": report.kept}),
        )?);
    }
    for made in &report.made {
        out.note(&format!("made  {made}"));
    }
    for kept in &report.kept {
        out.note(&format!("kept  {kept}"));
    }
    let at =
        if dir == Path::new(".") { String::new() } else { format!(" --dir {}", dir.display()) };
    let listen = folder::settings(&dir, &[], out)?.settings.listen;
    let people = match &args.admin {
        Some(name) => format!("cms login --url http://{listen} --username {name}"),
        None => format!("cms init{at} --admin NAME"),
    };
    out.note(&format!(
        "\nNext:\n  cms doctor{at}\n  cms serve{at}\n  {people}\n  \
         cms keys create{at} --name shop --right 'GET /api/pages'"
    ));
    Ok(())
}
