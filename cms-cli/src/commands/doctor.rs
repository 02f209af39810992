//! `cms doctor`: checks a site from outside, and says how to mend what is wrong. It changes nothing

use clap::Args;
use cms_core::Door;

use crate::{
    environment,
    flags::Flags,
    folder,
    output::{Done, Output, table},
    target::Target,
};

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {}

pub(crate) async fn run(flags: &Flags, out: &Output) -> Done {
    let dir = Target::folder_only(flags, "cms doctor")?;
    table::findings(
        out,
        &cms_core::examine(&dir, environment::variables(), Door::Doctor, folder::builder).await,
    )
}
