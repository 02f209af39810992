//! `/api/backend/keys` and what hangs below it

use cms_core::{
    Code, Result,
    access::{Access, Endpoint},
    keys::{ApiKey, ApiKeyPatch, DeniedCall, NewApiKey, PlainKey},
};
use http::{HeaderMap, Method, Uri};

use super::page_by_name;
use crate::{
    call::Call,
    request::{Canonical, bad},
    success::Success,
    wire::{
        Data, Done, OneOrPage, Page,
        keys::{Answer, Grace, Grantable, PossibleCall, Read, ShownKey},
        parameters::{ById, Listing, NoQuery, OneOrList},
    },
};

pub(crate) async fn read(call: &Call<'_>, asked: OneOrList) -> Result<OneOrPage<ApiKey>> {
    let (keys, query) = (call.cms.keys(), asked.list.query("id")?);
    call.one_or_page(asked.id.map(|id| keys.get(id)), keys.list(&query)).await
}

pub(crate) async fn create(
    call: &Call<'_>,
    _: NoQuery,
    new: NewApiKey,
) -> Result<Success<Data<ShownKey>>> {
    let mut change = call.change_of_keys().await?;
    let held = call.caller().rights(call.cms);
    let (key, value) = call.cms.keys().create(&mut change, &held, new).await?;
    call.commit(change, shown_once(call, key, &value)?, true).await
}

pub(crate) async fn update(
    call: &Call<'_>,
    which: ById,
    patch: ApiKeyPatch,
) -> Result<Success<Data<ApiKey>>> {
    let mut change = call.change_of_keys().await?;
    let held = call.caller().rights(call.cms);
    let key = call.cms.keys().update(&mut change, &held, which.id, patch).await?;
    call.commit(change, call.shown::<Read, _>(which.id, key), false).await
}

pub(crate) async fn delete(call: &Call<'_>, which: ById) -> Result<Success<Done>> {
    let mut change = call.change_of_keys().await?;
    let held = call.caller().rights(call.cms);
    call.cms.keys().delete(&mut change, &held, which.id).await?;
    call.commit(change, Done, false).await
}

pub(crate) async fn rotate(
    call: &Call<'_>,
    which: ById,
    grace: Grace,
) -> Result<Success<Data<ShownKey>>> {
    let mut change = call.change_of_keys().await?;
    let held = call.caller().rights(call.cms);
    let rotated = call.cms.keys().rotate(&mut change, &held, which.id, grace.grace_s).await?;
    let (key, value) = rotated;
    call.commit(change, shown_once(call, key, &value)?, true).await
}

/// The value of a key. No other replies hold it.
pub(super) fn shown_once(
    call: &Call<'_>,
    record: ApiKey,
    value: &PlainKey,
) -> Result<Success<Data<ShownKey>>> {
    let (id, value) = (record.id, value.expose());
    let data = ShownKey { record, key: value.to_owned() };
    call.shown_once::<Read, _>(id, Data { data }, ("key", value))
}

pub(crate) async fn endpoints(call: &Call<'_>, asked: Listing) -> Result<Page<Grantable>> {
    let all = call.cms.access().all();
    let mut grantable: Vec<_> = all.iter().filter(|one| one.access.is_for_keys()).collect();
    grantable.sort_unstable_by_key(|one| (&one.path, one.action));
    let name = |one: &&Endpoint| format!("{} {}", one.path, one.action.unwrap_or_default());
    let page = page_by_name(call, grantable, name, asked)?;
    let row = |one: &Endpoint| Grantable {
        endpoint: one.path.clone(),
        query: one.action.map(|name| ("action".to_owned(), name.to_owned())).into_iter().collect(),
        methods: one.methods.iter().map(|&method| method.to_owned()).collect(),
        public: one.access == Access::Public,
    };
    Ok(Page { data: page.data.into_iter().map(row).collect(), meta: page.meta })
}

pub(crate) async fn check(call: &Call<'_>, asked: PossibleCall) -> Result<Data<Answer>> {
    // Judged in the form that the gate would see.
    let uri: Uri = asked.path.parse().map_err(|_| {
        bad("path is a path such as /api/backend/item?table=blog, percent-encoded.")
    })?;
    // Case counts (RFC 9110, 9.1): a key may not call `get`.
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::PATCH, Method::DELETE];
    let method = methods.into_iter().find(|method| *method == asked.method.as_str());
    let method = method
        .ok_or_else(|| bad("method is GET, HEAD, POST, PATCH or DELETE, in capital letters."))?;
    let mut seen = Canonical::new(method, &uri, HeaderMap::new())?;
    let (keys, demand) = (call.cms.keys(), (call.demand_of)(&mut seen)?);
    let key = keys.get(asked.id).await?;
    let access = demand.route.map(|(_, access)| access);
    let refused = match access {
        _ if seen.is_open(access) => None,
        Some(access) if access.refuses_keys() => Some(Code::ApiKeyForbidden),
        _ => demand.as_key_call(&seen, |judged| keys.check(&key, judged)),
    };
    let forgiven = demand.tells_rights().then_some(Code::ApiKeyForbidden);
    let refused = refused.filter(|code| Some(*code) != forgiven);
    let reason = refused.map_or("allowed", |code| code.as_str()).to_owned();
    Ok(Data { data: Answer { allowed: refused.is_none(), reason } })
}

pub(crate) async fn last_denied(call: &Call<'_>, which: ById) -> Result<Data<Option<DeniedCall>>> {
    Ok(Data { data: call.cms.keys().last_denied(which.id).await? })
}
