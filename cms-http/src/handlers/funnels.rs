//! `/api/backend/formfunnel`: funnels as their authors draw them

use cms_core::{
    Code, Error, Result,
    fields::FieldType,
    funnels::{
        Created, Duplicated, EmailRouting, Funnel, FunnelDetail, FunnelLanguage, NewFunnel,
        Preview, Previewed, Published, Routings, Saved, SavedFunnel, SavedRoutings, StartVisit,
        StartedTest, WhichFunnel,
    },
    items::eq,
};

use super::formfunnel::visitor;
use crate::{
    call::Call,
    success::Success,
    wire::{
        Data, Page,
        funnels::{
            Deleted, Deletion, MayName, MayNameFunnel, OfFunnel, OneFunnel, Publication,
            ShownFieldType, WhichFunnels,
        },
        parameters::NoQuery,
    },
};

pub(crate) async fn list(call: &Call<'_>, asked: WhichFunnels) -> Result<Page<Funnel>> {
    let mut query = asked.list.query("language, status")?;
    if let Some(status) = asked.status {
        query = query.filter("status", eq(status.as_str()));
    }
    let first = || call.cms.settings().languages.first().cloned();
    let spoken = match asked.language.as_deref() {
        Some("*") => FunnelLanguage::Any,
        Some(language) => FunnelLanguage::Only(language.to_owned()),
        None => first().map_or(FunnelLanguage::Any, FunnelLanguage::OrNone),
    };
    call.cms.funnels().list(&spoken, &query).await.map(Page::from)
}

pub(crate) async fn get(call: &Call<'_>, asked: OneFunnel) -> Result<Data<FunnelDetail>> {
    let data = call.cms.funnels().get(&WhichFunnel::from(asked.id)).await?;
    Ok(Data { data })
}

pub(crate) async fn field_types(_: &Call<'_>, _: NoQuery) -> Result<Page<ShownFieldType>> {
    let shown = |found: &FieldType| ShownFieldType {
        name: found.name.to_owned(),
        group: found.group,
        about: found.about.to_owned(),
        answer: found.answer.to_owned(),
        example: serde_json::from_str(found.example).unwrap_or_default(),
        default_config: found.default_config(),
        config_schema: found.config_schema(),
    };
    Ok(Page::whole(FieldType::ALL.iter().map(shown).collect()))
}

pub(crate) async fn email_routings(call: &Call<'_>, asked: OfFunnel) -> Result<Page<EmailRouting>> {
    let of = WhichFunnel::from(asked.funnel_id);
    call.cms.funnels().routings(&of).await.map(Page::whole)
}

pub(crate) async fn create(
    call: &Call<'_>,
    _: NoQuery,
    new: NewFunnel,
) -> Result<Success<Data<Created>>> {
    let mut change = call.change().await?;
    let data = call.cms.funnels().create(&mut change, new).await?;
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn save(
    call: &Call<'_>,
    named: MayName,
    mut saved: Saved,
) -> Result<Success<Data<SavedFunnel>>> {
    saved.id = Some(which(saved.id, named.id)?);
    let tries = saved.dry_run;
    let mut change = call.change().await?;
    let data = call.cms.funnels().save(&mut change, saved).await?;
    if tries {
        return Ok(Data { data }.into());
    }
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn save_email_routings(
    call: &Call<'_>,
    named: MayNameFunnel,
    mut given: Routings,
) -> Result<Success<Data<SavedRoutings>>> {
    let body = given.funnel_id.take().or(given.id.take());
    given.funnel_id = Some(which(body, in_query(named)?)?);
    let mut change = call.change().await?;
    let data = call.cms.funnels().save_routings(&mut change, given).await?;
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn publish(
    call: &Call<'_>,
    named: MayName,
    asked: Publication,
) -> Result<Success<Data<Published>>> {
    let which = which(asked.id, named.id)?;
    let mut change = call.change().await?;
    let data = call.cms.funnels().publish(&mut change, which, asked.rev, asked.strict).await?;
    if asked.dry_run {
        return Ok(Data { data }.into());
    }
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn duplicate(
    call: &Call<'_>,
    named: MayName,
    mut asked: Duplicated,
) -> Result<Success<Data<Created>>> {
    asked.id = Some(which(asked.id, named.id)?);
    let mut change = call.change().await?;
    let data = call.cms.funnels().duplicate(&mut change, asked).await?;
    call.commit(change, Data { data }, false).await
}

pub(crate) async fn preview(
    call: &Call<'_>,
    named: MayNameFunnel,
    mut asked: Previewed,
) -> Result<Data<Preview>> {
    call.judge_again().await?;
    if asked.definition.is_some() && !call.caller().may_draw_funnels(call.cms) {
        let detail = "You may not save funnels, so you can preview only a stored one: name it in \
                      funnel_id.";
        return Err(Error::new(Code::PermissionDenied, detail));
    }
    let query = in_query(named)?;
    if asked.definition.is_none() || asked.funnel_id.is_some() || query.is_some() {
        asked.funnel_id = Some(which(asked.funnel_id.take(), query)?);
    }
    let data = call.cms.funnels().preview(asked).await?;
    Ok(Data { data })
}

pub(crate) async fn start_test(
    call: &Call<'_>,
    _: NoQuery,
    body: StartVisit,
) -> Result<Success<Data<StartedTest>>> {
    let funnels = call.cms.funnels();
    let beginning = funnels.begin_visit(body).await?;
    let visitor = visitor(call);
    let mut change = call.change().await?;
    let data = funnels.start_test(&mut change, beginning, visitor).await?;
    call.commit(change, Data { data }, true).await
}

pub(crate) async fn delete(
    call: &Call<'_>,
    named: MayName,
    asked: Deletion,
) -> Result<Success<Data<Deleted>>> {
    let which = which(asked.id, named.id)?;
    let mut change = call.change().await?;
    let id = call.cms.funnels().delete(&mut change, which, asked.rev).await?;
    call.commit(change, Data { data: Deleted { id, deleted: true } }, false).await
}

/// The funnel that the query names. A right may fix either name, so both must name the same funnel.
fn in_query(named: MayNameFunnel) -> Result<Option<String>> {
    match (named.funnel_id, named.id) {
        (Some(one), Some(other)) if one != other => {
            let detail = "id and funnel_id name different funnels: leave one of them out.";
            Err(Error::new(Code::BadQuery, detail))
        }
        (one, other) => Ok(one.or(other)),
    }
}

/// The funnel that the body or the query names. If both name one, it must be the same.
fn which(body: Option<WhichFunnel>, query: Option<String>) -> Result<WhichFunnel> {
    let body = body.map(|body| match body {
        WhichFunnel::Slug(text) => WhichFunnel::from(text),
        id => id,
    });
    match (body, query.map(WhichFunnel::from)) {
        (Some(body), Some(query)) if body != query => {
            Err(Error::invalid_field("id", "unknown", "the query names another funnel"))
        }
        (body, query) => body
            .or(query)
            .ok_or_else(|| Error::invalid_field("id", "required", "the id or slug of a funnel")),
    }
}
