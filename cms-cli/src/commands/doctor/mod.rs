//! `cms doctor`: what is wrong with a site, and how to mend it

mod checks;
mod database;
mod machine;

use clap::Args;
use cms_core::settings::{Settings, environment};

use self::checks::{Checks, State};
use crate::{
    flags::Flags,
    folder,
    output::{Done, Exit, Failure, Output},
    target::Target,
};

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {}

pub(crate) async fn run(flags: &Flags, out: &Output) -> Done {
    let dir = Target::folder_only(flags, "cms doctor")?;
    let mut checks = Checks::default();
    machine::clock(&mut checks);
    match Settings::load(&dir, environment(), &[]) {
        Err(error) => checks.not(
            State::Fail,
            "settings",
            error.to_string(),
            "correct the place that is named",
        ),
        Ok(loaded) if !folder::is_site(&loaded) => {
            checks.not(
                State::Fail,
                "settings",
                format!("there is no cms.toml in {}", dir.display()),
                "cms init",
            );
        }
        Ok(loaded) => {
            machine::settings(&mut checks, &loaded);
            machine::local_file(&mut checks, &dir.join("cms.local.toml"));
            machine::folder(&mut checks, &loaded.settings.dirs.data);
            database::check(&mut checks, loaded.settings).await;
        }
    }
    checks.print(out)?;
    if checks.failed() { Err(Failure::silent(Exit::Failed)) } else { Ok(()) }
}
