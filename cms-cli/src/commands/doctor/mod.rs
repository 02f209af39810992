//! `cms doctor`: checks a site, and says how to mend what is wrong. It changes nothing

mod checks;
mod database;
mod files;
mod machine;
mod network;

use clap::Args;
use cms_core::settings::Settings;

use self::checks::Checks;
use crate::{
    environment,
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
    match Settings::load(&dir, environment::variables(), &[]) {
        Err(error) => {
            checks.fail("settings", error.to_string(), "correct the setting at the named place")
        }
        Ok(loaded) if !folder::is_site(&loaded) => {
            checks.fail(
                "settings",
                format!("there is no cms.toml in {}", dir.display()),
                "cms init makes a site here",
            );
        }
        Ok(loaded) => {
            let settings = &loaded.settings;
            files::settings(&mut checks, &loaded);
            files::local_file(&mut checks, &dir.join("cms.local.toml"));
            files::folder(&mut checks, &settings.dirs.data);
            files::modes(&mut checks, settings);
            files::plugins(&mut checks, &settings.dirs.plugins);
            machine::space(&mut checks, settings);
            machine::descriptors(&mut checks, settings);
            machine::scripts(&mut checks, settings);
            network::listen(&mut checks, &settings.listen).await;
            network::redis(&mut checks, settings).await;
            network::bucket(&mut checks, settings).await;
            database::check(&mut checks, loaded.settings).await;
        }
    }
    checks.print(out)?;
    if checks.failed() { Err(Failure::silent(Exit::Failed)) } else { Ok(()) }
}
