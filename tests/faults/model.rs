//! 27: the walk beside the model, a long one.

use std::sync::Arc;

use crate::{
    lab::{Engine, Run},
    report::Finding,
    support::TestDatabase,
    webhook_model::walk,
};

pub async fn run(run: Arc<Run>) -> Vec<Finding> {
    let steps = run.scaled(100_000, 10_000);
    // It has a runtime of its own.
    let walked = tokio::task::spawn_blocking(move || match run.engine {
        Engine::Sqlite => walk(steps, TestDatabase::sqlite),
        Engine::Postgres => walk(steps, TestDatabase::new),
    });
    let divergence = walked.await.unwrap().err();
    let criterion = "after every step rows and counters are those of the model";
    vec![Finding::new(
        criterion,
        divergence.as_ref().map_or(format!("{steps} steps"), Clone::clone),
        divergence.is_none(),
    )]
}
