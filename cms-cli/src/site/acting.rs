//! `--as USER`: the site as one of its users sees it, on the site's own machine.

use cms_core::{Actor, Cms, Secret, access::HeldPermissions};
use cms_http::{Api, client::Client};

use crate::output::{Done, Exit, Failure};

/// A session that no login began. It ends with the command; after Ctrl-C it idles out, and nobody
/// has its token.
pub(crate) struct Acting {
    #[cfg(feature = "tui")]
    pub(super) username: String,
    user: i64,
    session: i64,
}

impl Acting {
    /// Opens a session of the user. The client has no more rights than that user.
    pub(super) async fn begin(cms: &Cms, user: &str) -> Done<(Self, Client)> {
        let accounts = cms.accounts();
        let found = accounts.user_named(user).await?;
        let off = || {
            let why = format!("{} is switched off and has no session", found.username);
            Failure::new(Exit::Refused, why).hint(format!("cms users enable {}", found.username))
        };
        if !found.active {
            return Err(off());
        }
        let mut change = cms.change(Actor::Operator).await?;
        let token = accounts.act_as(&mut change, found.id).await?;
        change.commit().await?;
        let open = accounts.identify(token.expose()).await?;
        let session = open.ok_or_else(off)?.session;
        let client = Client::local_as(Api::new(cms.clone())?, Secret::new(token.expose()));
        let acting = Self {
            #[cfg(feature = "tui")]
            username: found.username.clone(),
            user: found.id,
            session,
        };
        Ok((acting, client))
    }

    /// Ends the session.
    pub(super) async fn end(self, cms: &Cms) -> Done {
        let mut change = cms.change(Actor::Operator).await?;
        let (accounts, session) = (cms.accounts(), Some(self.session));
        let ended =
            accounts.revoke_sessions(&mut change, &HeldPermissions::Admin, self.user, session);
        match ended.await {
            Ok(()) => Ok(change.commit().await?),
            // An administrator has ended it already.
            Err(_) => Ok(()),
        }
    }
}
