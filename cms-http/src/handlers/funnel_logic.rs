//! `/api/backend/formfunnel`: explains conditions, tries answers and mail rules

use std::time::Duration;

use cms_core::{
    Code, Error, FieldError, Result,
    conditions::{Condition, Severity, Surroundings, check},
    funnels::{Tried, TriedRouting},
};
use tokio::sync::Semaphore;

use crate::{
    call::Call,
    wire::{
        Data,
        funnel_logic::{Explained, Explanation, RoutingTrial, Trial},
        parameters::NoQuery,
    },
};

/// Limits how many conditions are explained at once: each may take seconds of a processor.
static TURNS: Semaphore = Semaphore::const_new(2);
/// How long a request waits for its turn, with its body in memory.
const WAIT: Duration = Duration::from_secs(2);

/// Explains a condition in a thread of its own: one that could not be saved may take long, and must
/// not slow others down.
pub(crate) async fn explain(
    call: &Call<'_>,
    _: NoQuery,
    body: Explained,
) -> Result<Data<Explanation>> {
    call.judge_again().await?;
    let around = Surroundings::at(call.cms.clock().now()).zone(call.cms.zone().clone());
    let Ok(turn) = tokio::time::timeout(WAIT, TURNS.acquire()).await else {
        let why = "Too many conditions are explained at the same time: try again.";
        return Err(Error::new(Code::Unavailable, why).retry_after(1));
    };
    let turn = turn.map_err(Error::internal)?;
    let worked = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let Explained { condition, answers, validate } = body;
        let problems = check(&condition).problems;
        let bad = problems.iter().filter(|problem| problem.severity == Severity::Error);
        if validate && bad.clone().count() > 0 {
            return Err(Error::invalid(bad.map(FieldError::from).collect()));
        }
        let (result, trace) = Condition::read(&condition).trace(&answers, &around);
        Ok(Explanation { result, trace, problems })
    });
    let data = worked.await.map_err(Error::internal)??;
    Ok(Data { data })
}

pub(crate) async fn test(call: &Call<'_>, _: NoQuery, body: Trial) -> Result<Data<Tried>> {
    call.judge_again().await?;
    Ok(Data { data: call.cms.funnels().try_answers(&body.id, &body.answers).await? })
}

pub(crate) async fn routing_test(
    call: &Call<'_>,
    _: NoQuery,
    body: RoutingTrial,
) -> Result<Data<TriedRouting>> {
    call.judge_again().await?;
    let RoutingTrial { funnel_id, trigger, answers } = body;
    Ok(Data { data: call.cms.funnels().try_routing(&funnel_id, &trigger, &answers).await? })
}
