//! The site a command is about: a folder opened in this process, or an address.

mod acting;
mod credential;

use cms_core::Cms;
use cms_http::{Api, client::Client};

use self::{acting::Acting, credential::credential};
pub(crate) use credential::{api_key, client, wait};

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
    /// The session of `--as`.
    acting: Option<Acting>,
}

impl Site {
    /// Opens the folder, or connects to the address with a key or a session.
    pub(crate) async fn open(flags: &Flags, target: &Target, out: &Output) -> Done<Self> {
        out.detail(&format!("site: {target}"));
        match target {
            Target::Address { url, .. } => {
                let client = client(url, &credential(flags, target, url)?, wait(flags, Some(out)))?;
                Ok(Self { client, cms: None, acting: None })
            }
            Target::Folder(dir) => {
                let cms = folder::as_is(folder::existing(dir, &[], out)?.settings).await?;
                Self::opened(flags, cms).await
            }
        }
    }

    /// A site that is open in this process: as operator, or with `--as` as a user.
    pub(crate) async fn opened(flags: &Flags, cms: Cms) -> Done<Self> {
        let Some(user) = &flags.acts_as else {
            let client = Client::local(Api::new(cms.clone())?);
            return Ok(Self { client, cms: Some(cms), acting: None });
        };
        match Acting::begin(&cms, user).await {
            Ok((acting, client)) => Ok(Self { client, cms: Some(cms), acting: Some(acting) }),
            Err(failure) => {
                cms.close().await;
                Err(failure)
            }
        }
    }

    /// Name of the user of `--as`.
    #[cfg(feature = "tui")]
    pub(crate) fn acts_as(&self) -> Option<String> {
        self.acting.as_ref().map(|acting| acting.username.clone())
    }

    /// Ends the session of `--as`, writes counters and closes the database.
    pub(crate) async fn close(self) -> Done {
        let Some(cms) = self.cms else { return Ok(()) };
        let ended = match self.acting {
            Some(acting) => acting.end(&cms).await,
            None => Ok(()),
        };
        cms.close().await;
        ended
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
    let closed = site.close().await;
    outcome.and(closed)
}
