//! Every endpoint that an API has declared: its address, its methods, and who may call it. A key's
//! rights can name only these.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

/// The methods that rights can name.
pub(super) const METHODS: [&str; 4] = ["GET", "POST", "PATCH", "DELETE"];

/// The endpoints of a site: `cms.access()`. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Endpoints(Arc<ArcSwapOption<Vec<Endpoint>>>);

impl Endpoints {
    /// Declares all endpoints of an API. A later declaration replaces an earlier one. The API finds
    /// here what users may call, so users are refused an endpoint that is not declared.
    pub fn declare(&self, endpoints: Vec<Endpoint>) {
        self.0.store(Some(Arc::new(endpoints)));
    }

    /// Every declared endpoint; empty without an API.
    #[must_use]
    pub fn all(&self) -> Arc<Vec<Endpoint>> {
        self.0.load_full().unwrap_or_default()
    }

    /// The methods that a key's right can name for this path; None when no key can call it. Without
    /// a declared API (an embedded core alone) every path under `/api/` takes all methods, because
    /// the embedding program may serve any path there.
    ///
    /// ```
    /// use cms_core::access::{Access, Endpoint, Endpoints};
    /// let registry = Endpoints::default();
    /// assert!(registry.methods_of("/api/anything").is_some_and(|methods| methods.len() == 4));
    /// registry.declare(vec![Endpoint {
    ///     path: "/api/pages".to_owned(),
    ///     action: None,
    ///     methods: vec!["GET"],
    ///     access: Access::Public,
    /// }]);
    /// assert_eq!(registry.methods_of("/api/anything"), None);
    /// assert_eq!(registry.methods_of("/api/pages"), Some(vec!["GET"]));
    /// ```
    #[must_use]
    pub fn methods_of(&self, path: &str) -> Option<Vec<&'static str>> {
        let Some(endpoints) = self.0.load_full() else {
            return path.starts_with("/api/").then(|| METHODS.to_vec());
        };
        let at_path = endpoints.iter().filter(|one| one.path == path && one.access.is_for_keys());
        let named: Vec<_> = at_path.flat_map(|one| one.methods.iter().copied()).collect();
        // Several actions at one path may share a method.
        let methods: Vec<_> = METHODS.into_iter().filter(|one| named.contains(one)).collect();
        (!methods.is_empty()).then_some(methods)
    }
}

/// Who may call an endpoint, before rights are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everyone. A key that is sent is still checked.
    Public,
    /// Keys with a row for the endpoint. Users need the area's `_view` permission to read and its
    /// `_edit` permission to change.
    Area(&'static str),
    /// As `Area`, but every method only reads, also one with a body: users need `_view`.
    Read(&'static str),
    /// Keys with a row for the endpoint, and users whose permissions cover the table.
    Table,
    /// Keys with a row for the endpoint, and users who may change lists in columns of the table.
    Checklist,
    /// Keys with a row for the endpoint, and every logged-in user. The handler limits what each
    /// user sees.
    User,
    /// As `User`, but only administrators may give a key a row: a user sees what plugins show to
    /// that user, a key with a row sees everything that plugins show.
    Buttons,
    /// Keys with a row for the endpoint, and users who hold the `_edit` permission of the button
    /// that the body names.
    Button,
    /// Keys with a row for the endpoint. Users need a `_view` permission of this plugin to read and
    /// an `_edit` permission of it to change.
    Plugin(&'static str),
    /// Keys with a row for the endpoint, and administrators.
    Admin,
    /// Everyone who is logging in. Keys are refused.
    Login,
    /// Every logged-in user. Keys are refused.
    Session,
    /// The operator. Over the network the path does not exist.
    Operator,
    /// Everyone, outside `/api`: no keys, no rights.
    Open,
}

impl Access {
    /// Whether an API key can call the endpoint.
    #[must_use]
    pub fn is_for_keys(self) -> bool {
        !matches!(self, Self::Open | Self::Login | Self::Session | Self::Operator)
    }

    /// Whether a request that shows an API key is refused, whatever the key's rights.
    #[must_use]
    pub fn refuses_keys(self) -> bool {
        matches!(self, Self::Login | Self::Session)
    }
}

/// The spelling by which a path is looked up: under `/api/`, outside `/api/backend/`, dashes
/// become underscores.
#[must_use]
pub fn spelled(path: String) -> String {
    match path.strip_prefix("/api/") {
        Some(rest) if !rest.starts_with("backend/") && rest.contains('-') => {
            format!("/api/{}", rest.replace('-', "_"))
        }
        _ => path,
    }
}

/// What an API serves at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The canonical path, such as `/api/backend/item`.
    pub path: String,
    /// The value of the `action` parameter that selects this endpoint among others at the same
    /// path.
    pub action: Option<&'static str>,
    /// Some of `GET`, `POST`, `PATCH`, `DELETE`. HEAD counts as GET.
    pub methods: Vec<&'static str>,
    /// Who may call it.
    pub access: Access,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_declaration_counts() {
        let endpoint = |path: &str, access| Endpoint {
            path: path.to_owned(),
            action: None,
            methods: vec!["GET", "POST"],
            access,
        };
        let registry = Endpoints::default();
        assert!(registry.all().is_empty());
        registry.declare(vec![endpoint("/api/old", Access::Public)]);
        let all = [Access::Public, Access::Area("a_b"), Access::Table, Access::User, Access::Admin]
            .map(|access| (access, true, false));
        let none = [
            (Access::Login, false, true),
            (Access::Session, false, true),
            (Access::Operator, false, false),
            (Access::Open, false, false),
        ];
        for (access, for_keys, refuses) in all.into_iter().chain(none) {
            let declared = vec![endpoint("/api/new", access)];
            registry.declare(declared.clone());
            assert_eq!(*registry.all(), declared);
            assert_eq!(registry.methods_of("/api/new").is_some(), for_keys, "{access:?}");
            assert_eq!(access.refuses_keys(), refuses, "{access:?}");
        }
        assert_eq!(registry.methods_of("/api/old"), None);
    }

    #[test]
    fn dashes_are_underscores_outside_of_the_backend() {
        for (path, spelling) in [
            ("/api/form-funnel/start", "/api/form_funnel/start"),
            ("/api/pages", "/api/pages"),
            ("/api/backend/a-b", "/api/backend/a-b"),
            ("/a-b", "/a-b"),
        ] {
            assert_eq!(spelled(path.to_owned()), spelling);
        }
    }

    #[test]
    fn keys_call_what_has_rights() {
        for (access, is_for_keys, refuses_keys) in [
            (Access::Open, false, false),
            (Access::Public, true, false),
            (Access::Login, false, true),
            (Access::Session, false, true),
            (Access::Operator, false, false),
            (Access::Admin, true, false),
            (Access::Table, true, false),
            (Access::Plugin("shop"), true, false),
        ] {
            let found = (access.is_for_keys(), access.refuses_keys());
            assert_eq!(found, (is_for_keys, refuses_keys), "{access:?}");
        }
    }
}
