//! All fixed statements of the library, for a test that prepares them.

use super::checks;
use crate::{
    accounts, audit, change, content,
    db::{self, Dialect},
    erasure, events, forms, funnels, keys, mail, media, pages, plugins, tasks, theme, traffic,
    webhooks,
};

/// The statements of all modules.
#[cfg_attr(not(feature = "testing"), expect(dead_code, reason = "a test prepares them"))]
fn all(dialect: Dialect) -> Vec<db::Statement> {
    let mut all = [
        db::migrate::sql::ALL,
        super::own_tables::sql::ALL,
        db::epochs::sql::ALL,
        change::sql::ALL,
        events::sql::ALL,
        content::ALL,
        audit::sql::ALL,
        keys::row::ALL,
        keys::sql::ALL,
        accounts::users::sql::ALL,
        accounts::groups::sql::ALL,
        accounts::login::ALL,
        accounts::sessions::ALL,
        accounts::attempts::ALL,
        traffic::origins::ALL,
        traffic::cache::sql::ALL,
        traffic::idempotency::sql::ALL,
        pages::sql::ALL,
        pages::widgets::sql::ALL,
        &pages::builder::sql::statements(),
        pages::builder::link::sql::ALL,
        media::sql::ALL,
        plugins::installed::sql::ALL,
        plugins::names::sql::ALL,
        tasks::sql::ALL,
        forms::sql::ALL,
        erasure::sql::ALL,
        theme::sql::ALL,
        checks::sql::ALL,
    ]
    .concat();
    all.extend(funnels::statements().concat());
    all.extend(mail::statements().concat());
    all.extend(webhooks::statements().concat());
    all.extend(dialect.of(&change::many::MANY).all());
    all.extend(dialect.of(&webhooks::BATCH).all());
    all.extend(dialect.of(&webhooks::REDELIVERING).all());
    all.extend([dialect.of(&pages::sql::PARTS), dialect.of(&pages::sql::REDIRECT)]);
    all.extend([dialect.of(&db::epochs::sql::RAISE), dialect.of(&db::ready::sql::READY)]);
    if dialect == Dialect::Postgres {
        all.extend([keys::sql::FIND_LOCKED, accounts::sessions::FIND_LOCKED]);
        all.push(db::epochs::sql::FOLD);
    }
    all
}

#[cfg(feature = "testing")]
impl super::Cms {
    /// Prepares every statement of the library. Returns those that the engine refuses, each with
    /// the reason.
    #[doc(hidden)]
    pub async fn refused_statements(&self) -> crate::Result<Vec<(&'static str, String)>> {
        self.db().refused(&all(self.db().dialect())).await
    }
}
