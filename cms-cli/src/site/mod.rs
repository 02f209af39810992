//! The site a command is about: a folder opened in this process, or an address.

mod credential;

use cms_core::Cms;
use cms_http::{Api, client::Client};

use credential::credential;
pub(crate) use credential::{api_key, client};

use crate::{
    flags::Flags,
    folder,
    output::{Done, Output},
    target::Target,
};

/// An open site and its client.
pub(crate) struct Site {
    pub(crate) client: Client,
    /// The site itself, when it is open in this process.
    pub(crate) cms: Option<Cms>,
}

impl Site {
    /// Opens the folder, or connects to the address with a key or a session.
    pub(crate) async fn open(flags: &Flags, target: &Target, out: &Output) -> Done<Self> {
        out.detail(&format!("site: {target}"));
        match target {
            Target::Address { url, .. } => {
                let client = client(url, &credential(flags, target, url)?)?;
                Ok(Self { client, cms: None })
            }
            Target::Folder(dir) => {
                let cms = folder::as_is(folder::existing(dir, &[], out)?.settings).await?;
                Ok(Self { client: Client::local(Api::new(cms.clone())?), cms: Some(cms) })
            }
        }
    }

    /// Writes counters and closes the database.
    pub(crate) async fn close(self) {
        if let Some(cms) = self.cms {
            cms.close().await;
        }
    }
}

/// Opens the site that the flags name, runs, and closes it even after a failure.
pub(crate) async fn with(
    flags: &Flags,
    out: &Output,
    run: impl AsyncFnOnce(&Site) -> Done,
) -> Done {
    with_target(flags, out, &Target::of(flags)?, run).await
}

/// [`with`] for a target that is known already.
pub(crate) async fn with_target(
    flags: &Flags,
    out: &Output,
    target: &Target,
    run: impl AsyncFnOnce(&Site) -> Done,
) -> Done {
    let site = Site::open(flags, target, out).await?;
    let outcome = run(&site).await;
    site.close().await;
    outcome
}
