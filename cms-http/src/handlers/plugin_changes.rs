//! `/api/backend/plugins/diff`, `apply`, `remove` and `release`

use cms_core::{AuditEntry, Error, PluginDifference, Result};

use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, Done, Page,
        parameters::NoQuery,
        plugin_changes::{
            Applied, ChangeState, FreeName, PluginChanges, Released, Removed, WhichPlugin,
        },
    },
};

pub(crate) async fn diff(call: &Call<'_>, which: WhichPlugin) -> Result<Page<PluginChanges>> {
    let found = call.cms.plugin_differences(which.plugin.as_deref()).await?;
    let changes = found.into_iter().map(|one| shown(one, ChangeState::Pending, true));
    Ok(Page::whole(changes.collect()))
}

pub(crate) async fn apply(
    call: &Call<'_>,
    _: NoQuery,
    asked: Applied,
) -> Result<Success<Data<Vec<PluginChanges>>>> {
    if !asked.accept_loss.is_empty() {
        let why = "nothing can be given up yet: this version does not drop, rename or retype \
                   columns";
        return Err(Error::invalid_field("accept_loss", "unknown", why));
    }
    let only = asked.plugin.as_deref();
    let mut change = call.change().await?;
    let id = only.unwrap_or("*");
    change.audit(AuditEntry { action: "apply", table: "plugins", id, columns: &[] }).await?;
    // Indexes are made outside of any change, so the audit row comes before them.
    change.commit().await?;
    let done = call.cms.apply_plugins(only).await?;
    let done = done.into_iter().map(|one| shown(one, ChangeState::Applied, only.is_some()));
    let done = done.collect();
    call.commit(call.change().await?, Data { data: done }, false).await
}

pub(crate) async fn remove(call: &Call<'_>, _: NoQuery, asked: Removed) -> Result<Success<Done>> {
    let mut change = call.change().await?;
    call.cms.remove_plugin(&mut change, &asked.plugin).await?;
    let id = &asked.plugin;
    change.audit(AuditEntry { action: "remove", table: "plugins", id, columns: &[] }).await?;
    let done = call.commit(change, Done, false).await?;
    call.cms.refresh_plugins().await?;
    Ok(done)
}

pub(crate) async fn release(
    call: &Call<'_>,
    _: NoQuery,
    asked: Released,
) -> Result<Success<Data<Vec<FreeName>>>> {
    let mut change = call.change().await?;
    let id = &asked.plugin;
    let free = call.cms.release_names(&mut change, id).await?;
    change.audit(AuditEntry { action: "release", table: "plugins", id, columns: &[] }).await?;
    let free = free.into_iter().map(|(kind, name)| FreeName { kind: kind.to_owned(), name });
    let done = call.commit(change, Data { data: free.collect() }, false).await?;
    call.cms.refresh_plugins().await?;
    Ok(done)
}

/// `then`: the state of a plugin whose changes nothing prevents. `named`: the caller named the
/// plugin, so it comes back even if it was removed.
fn shown(found: PluginDifference, then: ChangeState, named: bool) -> PluginChanges {
    let PluginDifference { plugin, problems, changes, events, widgets, removed, .. } = found;
    let refused = !problems.is_empty() || !changes.refused.is_empty();
    let state = match then {
        ChangeState::Pending if removed => ChangeState::Removed,
        _ if removed && !named => ChangeState::Removed,
        _ if refused => ChangeState::Refused,
        _ if changes.is_empty() && events.is_empty() && widgets.is_empty() && !removed => {
            ChangeState::Current
        }
        then => then,
    };
    PluginChanges { plugin, state, problems, changes, events, widgets }
}
