//! Who calls, and what the caller may do.

use cms_core::{
    Actor, Change, Cms, Code, Result,
    access::{self, HeldPermissions, Right},
    accounts::{AppUser, SessionUser},
    keys::KeyHolder,
};

use crate::wire::{self, Operation};

/// Who calls.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    Anonymous,
    /// The in-process client: anybody who can open the site's folder.
    Operator,
    Key(KeyHolder),
    User {
        user: SessionUser,
        /// Whether the session came in a cookie, which browsers send without being asked.
        by_cookie: bool,
    },
    /// A user of the embedding application, with their present rights.
    Application {
        user: AppUser,
        rights: HeldPermissions,
    },
}

/// Kinds of changes that may revoke the rights of each other's callers. Changes of one kind run
/// one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of users and groups.
    Users,
    /// Of keys.
    Keys,
}

/// What a change waits for before its caller is judged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits<'a> {
    /// Other changes of this kind.
    pub(crate) of: Option<Kind>,
    /// Logins from this network.
    pub(crate) network: Option<&'a str>,
    /// Requests of this caller with this `Idempotency-Key`.
    pub(crate) repeats: Option<(&'a str, &'a str)>,
}

impl Caller {
    /// Begins a change on behalf of the caller, and returns the caller as judged again under it.
    /// Until the change ends, nobody can take rights from the caller. All other waiting happens
    /// before that, so that two changes never wait for each other.
    pub(crate) async fn change(&self, cms: &Cms, waits: Waits<'_>) -> Result<(Change, Self)> {
        let mut change = cms.change_of_request(self.actor()).await?;
        if let Some((caller, key)) = waits.repeats {
            cms.idempotency().take_turn(&mut change, caller, key).await?;
        }
        match self {
            Self::Key(key) => {
                if waits.of == Some(Kind::Keys) {
                    cms.keys().take_turn(&mut change).await?;
                }
                let (change, key) = cms.keys().judge(change, key).await?;
                Ok((change, Self::Key(key)))
            }
            Self::User { user, by_cookie } => {
                let accounts = cms.accounts();
                if waits.of == Some(Kind::Users) {
                    accounts.take_turn(&mut change).await?;
                }
                if let Some(network) = waits.network {
                    accounts.admit_attempt(&mut change, network).await?;
                }
                let (change, user) = accounts.judge(change, user).await?;
                Ok((change, Self::User { user, by_cookie: *by_cookie }))
            }
            Self::Application { user, .. } => {
                if waits.of == Some(Kind::Users) {
                    cms.accounts().take_turn(&mut change).await?;
                }
                let (change, rights) = cms.accounts().judge_app_user(change, user).await?;
                Ok((change, Self::Application { user: user.clone(), rights }))
            }
            Self::Anonymous | Self::Operator => Ok((change, self.clone())),
        }
    }

    /// The actor of the caller's changes.
    pub(crate) fn actor(&self) -> Actor {
        match self {
            Self::Key(key) => key.actor(),
            Self::User { user, .. } => user.actor(),
            Self::Application { user, .. } => user.actor(),
            Self::Operator => Actor::Operator,
            Self::Anonymous => Actor::Visitor,
        }
    }

    /// The caller as judged again, without a change.
    pub(crate) async fn rejudged(&self, cms: &Cms) -> Result<Self> {
        Ok(match self {
            Self::Key(key) => Self::Key(cms.keys().identify_again(key).await?),
            Self::User { user, by_cookie } => {
                let user = cms.accounts().identify_again(user).await?;
                Self::User { user, by_cookie: *by_cookie }
            }
            Self::Application { user, .. } => {
                let rights = cms.accounts().rights_of_app_user(user).await?;
                Self::Application { user: user.clone(), rights }
            }
            Self::Anonymous | Self::Operator => self.clone(),
        })
    }

    /// The rights of a user, from their groups or from the application.
    pub(crate) fn user_rights(&self) -> Option<&HeldPermissions> {
        match self {
            Self::User { user, .. } => Some(&user.rights),
            Self::Application { rights, .. } => Some(rights),
            Self::Anonymous | Self::Operator | Self::Key(_) => None,
        }
    }

    /// The permissions that the caller may pass on to others. A key without the row `*` has none.
    pub(crate) fn permissions(&self) -> HeldPermissions {
        match self {
            Self::Operator => HeldPermissions::Admin,
            Self::Key(key) if key.rights.contains(&Right::everything()) => HeldPermissions::Admin,
            _ => self.user_rights().cloned().unwrap_or_default(),
        }
    }

    /// Whether the caller may call an operation beyond this request, with these parameters.
    fn may<O: Operation>(&self, cms: &Cms, query: &[(&str, &str)]) -> bool {
        let (method, path) = (O::METHOD, O::PATH);
        match self {
            Self::Operator => true,
            Self::Key(key) => {
                let action = O::ACTION.map(|action| ("action", action));
                let query = action.into_iter().chain(query.iter().copied());
                let query: Vec<(String, String)> =
                    query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                let call = access::KeyCall { method, path, query: &query, body_table: None };
                key.rights.iter().any(|right| right.allows(&call))
            }
            _ => self.user_rights().is_some_and(|rights| {
                let table = query.iter().find(|(name, _)| *name == "table");
                cms.allows(rights, O::ACCESS, method, table.map(|(_, value)| *value))
            }),
        }
    }

    /// Whether the caller may read a content table. Handlers ask this for tables that the address
    /// does not name.
    pub(crate) fn may_read(&self, cms: &Cms, table: &str) -> bool {
        self.may::<wire::item::Read>(cms, &[("table", table)])
    }

    /// Whether the caller may read a record with all its columns; only then do replies to
    /// writes show it.
    pub(crate) fn may_read_record(&self, cms: &Cms, table: &str, id: &str) -> bool {
        self.may::<wire::item::Read>(cms, &[("table", table), ("id", id)])
    }

    /// Whether the caller may subscribe to every event, and thus see payloads: records
    /// of every table.
    pub(crate) fn may_see_payloads(&self, cms: &Cms) -> bool {
        self.may::<wire::webhooks::Create>(cms, &[])
    }

    /// Whether the caller may read all webhooks.
    pub(crate) fn may_see_webhooks(&self, cms: &Cms) -> bool {
        self.may::<wire::webhooks::Read>(cms, &[])
    }

    /// Whether the caller may see the inbox of funnels. Callers that may only change submissions
    /// learn nothing of their content.
    pub(crate) fn may_see_inbox(&self, cms: &Cms) -> bool {
        self.may::<wire::inbox::Submissions>(cms, &[])
    }

    /// Whether the caller may see funnels.
    pub(crate) fn may_see_funnels(&self, cms: &Cms) -> bool {
        self.may::<wire::funnels::List>(cms, &[])
    }

    /// Whether the caller may check a funnel that is not stored.
    pub(crate) fn may_draw_funnels(&self, cms: &Cms) -> bool {
        self.may::<wire::funnels::Save>(cms, &[])
    }

    /// Whether the caller may read the draft of this page; for None, the draft of any page.
    pub(crate) fn may_see_draft(&self, cms: &Cms, page: Option<i64>) -> bool {
        let page = page.map(|page| page.to_string());
        let query = page.as_deref().map(|page| ("page_id", page));
        self.may::<wire::pagebuilder::Read>(cms, query.as_slice())
    }

    /// Whether the caller may read the row `id` by the operation `O`.
    pub(crate) fn may_read_row<O: Operation>(&self, cms: &Cms, id: i64) -> bool {
        self.may::<O>(cms, &[("id", id.to_string().as_str())])
    }

    /// The rows of rights that the caller may pass on to a key.
    pub(crate) fn rights(&self, cms: &Cms) -> Vec<Right> {
        match self {
            Self::Operator => vec![Right::everything()],
            Self::Key(key) => key.rights.clone(),
            _ => self.user_rights().map_or_else(Vec::new, |rights| cms.rows_of(rights)),
        }
    }

    /// A digest of the caller's rights. A kept reply is shown whole only while the
    /// digest is the same.
    pub(crate) fn digest(&self, cms: &Cms) -> String {
        let rights = match self {
            Self::Key(key) => serde_json::to_vec(&key.rights),
            _ => self.user_rights().map_or_else(|| Ok(Vec::new()), serde_json::to_vec),
        };
        cms.idempotency().fingerprint(&rights.unwrap_or_default())
    }

    /// The code of a refusal for lack of rights.
    pub(crate) fn refused_as(&self) -> Code {
        match (self, self.user_rights()) {
            (Self::Anonymous, _) => Code::ApiKeyMissing,
            (_, Some(_)) => Code::PermissionDenied,
            (_, None) => Code::ApiKeyForbidden,
        }
    }

    /// Identifies the caller of a repeated request; None for an anonymous caller.
    pub(crate) fn repeats_as(&self) -> Option<String> {
        match self {
            Self::Anonymous => None,
            Self::Operator => Some("operator".to_owned()),
            Self::Key(key) => Some(format!("key:{}", key.id)),
            Self::User { user, .. } => Some(format!("user:{}", user.id)),
            Self::Application { user, .. } => Some(format!("application:{}", user.name())),
        }
    }
}
