//! `cms status`: whether the site itself finds that all is well, through `/api/backend/status`.
//! `cms doctor`: the same checks from outside

use clap::Args;
use cms_core::{Door, Finding, Level};
use cms_http::{
    client::ClientError,
    wire::{NoBody, health::Status, parameters::NoQuery},
};

use crate::{
    environment,
    flags::Flags,
    folder,
    output::{Done, Output, table},
    site::Site,
    target::Target,
};

#[derive(Args, Debug)]
pub(crate) struct StatusArgs {}

pub(crate) async fn run(flags: &Flags, out: &Output) -> Done {
    let target = Target::of(flags)?;
    let site = match (Site::open(flags, &target, out).await, &target) {
        (Ok(site), _) => site,
        // The reason why the site cannot be opened is the answer.
        (Err(_), Target::Folder(dir)) if flags.acts_as.is_none() => {
            return table::findings(
                out,
                &cms_core::examine(dir, environment::variables(), Door::Status, folder::builder)
                    .await,
            );
        }
        (Err(failure), _) => return Err(failure),
    };
    let asked = site.client.call::<Status>(&NoQuery {}, &NoBody).await;
    site.close().await?;
    match asked {
        Ok(status) => table::findings(out, &status.data.findings),
        Err(error) => match unwell(&error) {
            Some(finding) => table::findings(out, &[finding]),
            None => Err(error.into()),
        },
    }
}

/// The finding for a site that cannot run its checks; None: the site refused the caller.
fn unwell(error: &ClientError) -> Option<Finding> {
    let (check, found, remedy) = match error {
        ClientError::Unreachable(why) => {
            ("listen", why.clone(), "check --url, and that `cms serve` runs there")
        }
        ClientError::Problem { status, detail, .. } if status.is_server_error() => {
            ("database", detail.clone(), "on the site's machine: `cms doctor`")
        }
        _ => return None,
    };
    Some(Finding::new(check, Level::Error, found, remedy))
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {}

/// `cms doctor`: checks a site from outside, and says how to mend what is wrong. It changes
/// nothing.
pub(crate) async fn doctor(flags: &Flags, out: &Output) -> Done {
    let dir = Target::folder_only(flags, "cms doctor")?;
    table::findings(
        out,
        &cms_core::examine(&dir, environment::variables(), Door::Doctor, folder::builder).await,
    )
}
