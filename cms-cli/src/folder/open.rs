//! Opens the site of a folder: as it is, or brought up to date. Sites of `cms serve --demo` contain
//! the shop, a plugin in Rust.

use std::{fs, path::PathBuf};

use cms_core::{Builder, Cms, Result, db::Migration, scripts::ScriptLauncher, settings::Settings};

use crate::{
    output::{Done, Failure},
    shop::Shop,
};

/// The argument by which this program becomes the launcher of a script.
pub(crate) const SCRIPT: &str = "__script";
/// The file that makes a site contain the shop.
const SHOP: &str = "bikeshop/demo.txt";
const ABOUT_SHOP: &str = "\
The plugin bikeshop is written in Rust, so it has no plugin.json: the program cms contains it.
Without this file it is out of service.
";

/// Makes the site of these settings contain the shop.
pub(crate) fn add_shop(settings: &Settings) -> Done {
    let file = shop_of(settings);
    let folder = file.parent().unwrap_or(&file);
    fs::create_dir_all(folder).map_err(|e| Failure::file(folder, &e))?;
    fs::write(&file, ABOUT_SHOP).map_err(|e| Failure::file(&file, &e))
}

fn shop_of(settings: &Settings) -> PathBuf {
    settings.dirs.plugins.join(SHOP)
}

/// Opens a site with the plugins that this program gives it.
pub(crate) fn builder(settings: Settings) -> Result<Builder> {
    let has_shop = shop_of(&settings).is_file();
    let builder = Cms::builder(settings);
    // Also when the file has been replaced meanwhile.
    #[cfg(target_os = "linux")]
    let builder = builder.script_launcher(ScriptLauncher {
        program: "/proc/self/exe".into(),
        args: vec![SCRIPT.to_owned()],
    });
    Ok(if has_shop { builder.plugin(Shop::new()?) } else { builder })
}

/// Opens the site as it is. A database that is missing or not up to date is refused.
pub(crate) async fn as_is(mut settings: Settings) -> Done<Cms> {
    settings.migrate = false;
    Ok(builder(settings)?.open().await?)
}

/// Makes the database when missing, applies pending steps and makes the tables of plugins. Returns
/// every step; steps applied just now have `applied: false`.
pub(crate) async fn bring_up_to_date(mut settings: Settings) -> Done<Vec<Migration>> {
    let steps = Cms::builder(settings.clone()).migrations(true).await?;
    settings.migrate = true;
    let cms = builder(settings)?.open().await?;
    let made = cms.indexes_made().await;
    cms.close().await;
    made?;
    Ok(steps)
}
