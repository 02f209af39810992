//! Runs the checks from outside a running site: reads the settings and opens the site for them, as
//! far as possible.

use std::{path::Path, sync::Arc};

use super::{CheckInput, Door, Finding, ask};
use crate::{Builder, Cms, Error, Result, settings::Settings};

/// The outcome of opening the site.
pub(super) enum Opening {
    /// There was nothing to open.
    Untried,
    /// The database cannot be reached, or is not one of this service.
    Away(Error),
    /// This many steps of the schema are missing.
    Behind(usize),
    /// The database answers, but the site cannot be opened.
    Refused(Error),
    /// It is open.
    Open(Cms),
}

/// Runs the checks on the site of a folder. `variables` are those of the environment; `builder`
/// adds the plugins of the program.
pub async fn examine(
    dir: &Path,
    variables: impl Iterator<Item = (String, String)>,
    door: Door,
    builder: impl FnOnce(Settings) -> Result<Builder>,
) -> Vec<Finding> {
    let files = Settings::load(dir, variables, &[]);
    let mut asked =
        CheckInput { settings: Settings::default(), opening: Opening::Untried, files: Some(files) };
    if let Some(Ok(loaded)) = &asked.files {
        asked.settings = loaded.settings.clone();
        if loaded.is_site() {
            asked.opening = opened(asked.settings.clone(), builder).await;
        } else {
            // These checks would describe a site that is elsewhere.
            let untold = |finding: &Finding| ["clock", "settings"].contains(&&*finding.check);
            let mut findings = ask(Arc::new(asked), door).await;
            findings.retain(untold);
            return findings;
        }
    }
    let asked = Arc::new(asked);
    let findings = ask(asked.clone(), door).await;
    if let Some(cms) = asked.cms() {
        cms.close().await;
    }
    findings
}

async fn opened(settings: Settings, builder: impl FnOnce(Settings) -> Result<Builder>) -> Opening {
    match Cms::builder(settings.clone()).migrations(false).await {
        Err(error) => return Opening::Away(error),
        Ok(steps) => match steps.iter().filter(|step| !step.applied).count() {
            0 => {}
            open => return Opening::Behind(open),
        },
    }
    let open = async { builder(settings)?.inspect().await };
    match open.await {
        Ok(cms) => Opening::Open(cms),
        Err(error) => Opening::Refused(error),
    }
}
