//! Opens the site of a folder: as it is, or brought up to date.

use cms_core::{Cms, db::Migration, settings::Settings};

use crate::output::Done;

/// Opens the site as it is. A database that is missing or not up to date is refused.
pub(crate) async fn as_is(mut settings: Settings) -> Done<Cms> {
    settings.migrate = false;
    Ok(Cms::open(settings).await?)
}

/// Makes the database when missing, applies pending steps and makes the tables of plugins. Returns
/// every step; steps applied just now have `applied: false`.
pub(crate) async fn bring_up_to_date(mut settings: Settings) -> Done<Vec<Migration>> {
    let steps = Cms::builder(settings.clone()).migrations(true).await?;
    settings.migrate = true;
    Cms::open(settings).await?.close().await;
    Ok(steps)
}
