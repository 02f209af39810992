//! Who calls, and what the caller may do.

use cms_core::{
    Actor, Change, Cms, Result,
    access::{self, Access, Right, Rights},
    accounts::SessionUser,
    keys::KeyHolder,
};

/// Who calls.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    Anonymous,
    /// Through the in-process client: whoever can open the site's folder.
    Operator,
    Key(KeyHolder),
    User {
        user: SessionUser,
        /// The session came in a cookie, which browsers send by themselves.
        by_cookie: bool,
    },
}

/// Changes that could revoke each other's callers: they pass one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of users and groups.
    Users,
    /// Of keys.
    Keys,
}

/// Which others a change waits for before its caller is judged.
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
    /// Begins a change on behalf of the caller. Returns the caller as judged again under it: nobody
    /// takes rights from that caller until the change ends. Whatever else the change waits for
    /// comes before that, so that no two wait for each other.
    pub(crate) async fn change(&self, cms: &Cms, waits: Waits<'_>) -> Result<(Change, Self)> {
        let mut change = cms.change(self.actor()).await?;
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
            Self::Anonymous | Self::Operator => Ok((change, self.clone())),
        }
    }

    /// On whose behalf the caller's changes are made.
    pub(crate) fn actor(&self) -> Actor {
        match self {
            Self::Key(key) => key.actor(),
            Self::User { user, .. } => user.actor(),
            Self::Operator => Actor::Operator,
            Self::Anonymous => Actor::Visitor,
        }
    }

    /// The caller as judged again, without a change.
    pub(crate) async fn again(&self, cms: &Cms) -> Result<Self> {
        Ok(match self {
            Self::Key(key) => Self::Key(cms.keys().identify_again(key).await?),
            Self::User { user, by_cookie } => {
                let user = cms.accounts().identify_again(user).await?;
                Self::User { user, by_cookie: *by_cookie }
            }
            Self::Anonymous | Self::Operator => self.clone(),
        })
    }

    /// The permissions that the caller may pass on to others. A key without the row `*` has none.
    pub(crate) fn permissions(&self) -> Rights {
        match self {
            Self::Operator => Rights::Admin,
            Self::Key(key) if key.rights.contains(&Right::everything()) => Rights::Admin,
            Self::Anonymous | Self::Key(_) => Rights::default(),
            Self::User { user, .. } => user.rights.clone(),
        }
    }

    /// Whether the caller may read a content table; handlers ask this for tables that the address
    /// does not name.
    pub(crate) fn may_read(&self, cms: &Cms, table: &str) -> bool {
        const ITEM: &str = "/api/backend/item";
        let query = [("table".to_owned(), table.to_owned())];
        let call = access::KeyCall { method: "GET", path: ITEM, query: &query, body_table: None };
        match self {
            Self::Anonymous => false,
            Self::Operator => true,
            Self::Key(key) => key.rights.iter().any(|right| right.allows(&call)),
            Self::User { user, .. } => cms.allows(&user.rights, Access::Table, "GET", Some(table)),
        }
    }

    /// Whether the caller may read a record with all columns; replies to writes show it then.
    pub(crate) fn may_read_record(&self, cms: &Cms, table: &str, id: &str) -> bool {
        const ITEM: &str = "/api/backend/item";
        let Self::Key(key) = self else { return self.may_read(cms, table) };
        let query = [("table".to_owned(), table.to_owned()), ("id".to_owned(), id.to_owned())];
        let call = access::KeyCall { method: "GET", path: ITEM, query: &query, body_table: None };
        key.rights.iter().any(|right| right.allows(&call))
    }

    /// Whether the caller may subscribe to everything, and so may see what is sent: records of
    /// every table.
    pub(crate) fn may_see_payloads(&self) -> bool {
        const WEBHOOKS: &str = "/api/backend/webhooks";
        let call = access::KeyCall { method: "POST", path: WEBHOOKS, query: &[], body_table: None };
        match self {
            Self::Anonymous => false,
            Self::Operator => true,
            Self::Key(key) => key.rights.iter().any(|right| right.allows(&call)),
            Self::User { user, .. } => user.rights.may("webhooks_subscriptions_edit"),
        }
    }

    /// Whether the caller may see the inbox of funnels: who may only change it learns nothing of
    /// what it holds.
    pub(crate) fn may_see_inbox(&self) -> bool {
        self.may_see_of_funnels("submissions", "formfunnel_inbox_view")
    }

    /// Whether the caller may see funnels.
    pub(crate) fn may_see_funnels(&self) -> bool {
        self.may_see_of_funnels("list", "formfunnel_funnels_view")
    }

    /// Whether the caller may have a funnel judged that is not stored.
    pub(crate) fn may_draw_funnels(&self) -> bool {
        const FUNNELS: &str = "/api/backend/formfunnel";
        let query = [("action".to_owned(), "save".to_owned())];
        let call =
            access::KeyCall { method: "POST", path: FUNNELS, query: &query, body_table: None };
        match self {
            Self::Anonymous => false,
            Self::Operator => true,
            Self::Key(key) => key.rights.iter().any(|right| right.allows(&call)),
            Self::User { user, .. } => user.rights.may("formfunnel_funnels_edit"),
        }
    }

    fn may_see_of_funnels(&self, action: &str, permission: &str) -> bool {
        let query = [("action".to_owned(), action.to_owned())];
        self.may_get("/api/backend/formfunnel", &query, permission)
    }

    /// Whether the caller may read the draft of this page; without one, of any.
    pub(crate) fn may_see_draft(&self, page: Option<i64>) -> bool {
        let query = page.map(|page| ("page_id".to_owned(), page.to_string()));
        self.may_get("/api/backend/pagebuilder", query.as_slice(), "pages_pages_view")
    }

    /// Whether the caller may read the row `id` at `path`, whose access is this.
    pub(crate) fn may_read_row(&self, cms: &Cms, (path, access): (&str, Access), id: i64) -> bool {
        let query = [("id".to_owned(), id.to_string())];
        let call = access::KeyCall { method: "GET", path, query: &query, body_table: None };
        match self {
            Self::Anonymous => false,
            Self::Operator => true,
            Self::Key(key) => key.rights.iter().any(|right| right.allows(&call)),
            Self::User { user, .. } => cms.allows(&user.rights, access, "GET", None),
        }
    }

    fn may_get(&self, path: &str, query: &[(String, String)], permission: &str) -> bool {
        let call = access::KeyCall { method: "GET", path, query, body_table: None };
        match self {
            Self::Anonymous => false,
            Self::Operator => true,
            Self::Key(key) => key.rights.iter().any(|right| right.allows(&call)),
            Self::User { user, .. } => user.rights.may(permission),
        }
    }

    /// The rows of a key's rights that the caller may pass on.
    pub(crate) fn rights(&self, cms: &Cms) -> Vec<Right> {
        match self {
            Self::Anonymous => Vec::new(),
            Self::Operator => vec![Right::everything()],
            Self::Key(key) => key.rights.clone(),
            Self::User { user, .. } => cms.rows_of(&user.rights),
        }
    }

    /// A digest of the caller's rights: what a kept reply shows depends on them.
    pub(crate) fn digest(&self, cms: &Cms) -> String {
        let rights = match self {
            Self::Key(key) => serde_json::to_vec(&key.rights),
            Self::User { user, .. } => serde_json::to_vec(&user.rights),
            Self::Anonymous | Self::Operator => Ok(Vec::new()),
        };
        cms.idempotency().fingerprint(&rights.unwrap_or_default())
    }

    /// Whose repetitions of a request are the same request; None: nobody is known.
    pub(crate) fn repeats_as(&self) -> Option<String> {
        match self {
            Self::Anonymous => None,
            Self::Operator => Some("operator".to_owned()),
            Self::Key(key) => Some(format!("key:{}", key.id)),
            Self::User { user, .. } => Some(format!("user:{}", user.id)),
        }
    }
}
