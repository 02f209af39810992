//! Every endpoint that an API has declared. A key's rights can name only these.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::Endpoint;

/// The methods that rights can name.
const METHODS: [&str; 4] = ["GET", "POST", "PATCH", "DELETE"];

/// The endpoints of a site: `cms.access()`. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Endpoints(Arc<ArcSwapOption<Vec<Endpoint>>>);

impl Endpoints {
    /// Declares all endpoints of an API. A later declaration replaces an earlier one.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;

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
}
