//! Every fixed statement of the library is declared through [`statements!`], so that a test can
//! prepare them all.

/// Declares `const` statements and a list of them named `ALL`.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$doc])* pub(crate) const $name: &str = $sql;)*
        pub(crate) const ALL: &[&str] = &[$($name),*];
    };
}
pub(crate) use statements;

/// The statements of all folders.
pub(super) fn all() -> Vec<&'static str> {
    [
        super::change::sql::ALL,
        super::migrate::sql::ALL,
        crate::keys::sql::ALL,
        crate::accounts::sql::users::ALL,
        crate::accounts::sql::groups::ALL,
        crate::accounts::sql::logins::ALL,
        crate::accounts::sql::sessions::ALL,
        crate::accounts::sql::attempts::ALL,
        crate::webhooks::sql::enqueue::ALL,
        crate::webhooks::sql::events::ALL,
        crate::webhooks::sql::messages::ALL,
        crate::webhooks::sql::subscriptions::ALL,
        crate::webhooks::sql::queue::ALL,
        crate::webhooks::sql::groups::ALL,
        crate::webhooks::sql::deliveries::ALL,
        crate::traffic::origins::sql::ALL,
        crate::traffic::cache::sql::ALL,
        crate::items::sql::ALL,
        crate::audit::sql::ALL,
        super::follow::sql::ALL,
        crate::pages::sql::ALL,
        crate::idempotency::sql::ALL,
        crate::retention::sql::ALL,
    ]
    .concat()
}
