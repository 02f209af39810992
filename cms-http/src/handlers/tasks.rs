//! `/api/backend/tasks`

use std::time::Duration;

use cms_core::{
    Result,
    tasks::{Run, Task, TaskName},
};

use super::page_by_name;
use crate::{
    call::Call,
    request::bad,
    wire::{
        Data, NoBody, OneOrPage, Page,
        parameters::Listing,
        tasks::{WhichRuns, WhichTask},
    },
};

/// How long a request waits for the end of a run.
const RUN_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) async fn read(call: &Call<'_>, asked: Listing) -> Result<Page<Task>> {
    // Ids hold no slash.
    let name = |task: &Task| format!("{}/{}", task.plugin, task.name);
    let mut tasks = call.cms.tasks().list().await?;
    tasks.sort_by_key(name);
    page_by_name(call, tasks, name, asked)
}

pub(crate) async fn history(call: &Call<'_>, asked: WhichRuns) -> Result<OneOrPage<Run>> {
    let tasks = call.cms.tasks();
    if let Some(id) = asked.id {
        call.names_one("id")?;
        return Ok(OneOrPage::one(tasks.run_of(id).await?));
    }
    let which = match (asked.name, asked.plugin) {
        (Some(name), plugin) => Some(TaskName { name, plugin }),
        (None, None) => None,
        (None, Some(_)) => return Err(bad("plugin goes with name: the task of that plugin.")),
    };
    let paging = asked.limit.after(asked.cursor, asked.count);
    Ok(OneOrPage::page(tasks.history(which.as_ref(), &paging).await?))
}

pub(crate) async fn start(call: &Call<'_>, which: WhichTask, _: NoBody) -> Result<Data<Run>> {
    let WhichTask { name, plugin } = which;
    let tasks = call.cms.tasks();
    let mut change = call.change().await?;
    let claimed = tasks.claim(&mut change, &TaskName { name, plugin }).await?;
    // The reply for a repetition: it must be there even while a long run goes on, as running.
    let opened = tasks.opened(&mut change, &claimed).await?;
    call.keep(&mut change, Data { data: opened }, false).await?;
    change.commit().await?;
    let id = claimed.run_id();
    // A run that takes longer goes on; then the reply shows it as running.
    let _ = tokio::time::timeout(RUN_TIMEOUT, tasks.begin(claimed)).await;
    tasks.run_of(id).await.map(|data| Data { data })
}
