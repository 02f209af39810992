//! `/healthz`, `/readyz`, `/metrics`, `/api/backend/status`

use std::collections::BTreeMap;

use cms_core::{Finding, Level};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Data, NoBody, Text, operations,
    parameters::{AnyQuery, NoQuery},
};

operations! {
    /// Whether the process is up.
    Healthz: AnyQuery, NoBody => Data<Alive>;
    /// Whether the database answers and has every migration.
    Readyz: AnyQuery, NoBody => Data<Ready>;
    /// What the checks of the site find, each with its remedy.
    Status: NoQuery, NoBody => Data<Findings>;
    /// Figures for Prometheus.
    Metrics: AnyQuery, NoBody => Text;
}

/// The process is up.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Alive {
    /// `ok`.
    pub status: String,
    /// Of the system.
    pub version: String,
}

/// The service can work.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Ready {
    /// `ready`.
    pub status: String,
    /// `ok`.
    pub database: String,
    /// `applied`.
    pub migrations: String,
    /// `memory`, `redis`, `redis_away` or `off`.
    pub limiter: String,
    /// `memory`, `redis` or `redis_away`.
    pub cache: String,
    /// Milliseconds by which the oldest due delivery is late; null when that cannot be read.
    pub queue_age_ms: Option<i64>,
    /// `running` or `none`.
    pub worker: String,
    /// Milliseconds by which the oldest due mail is late; null when that cannot be read.
    pub mail_age_ms: Option<i64>,
    /// `running` or `none`: whether this process sends mails.
    pub mail: String,
    /// `running` or `none`: whether this process runs tasks on their schedule.
    pub scheduler: String,
    /// `made`: this process has no index left to make. `making`: it makes indexes of tables, or
    /// waits for its turn. `failed`: it could not make some, and tries again.
    pub indexes: String,
    /// Background tasks that failed and were started again, with how often. Empty when all is well.
    pub restarts: BTreeMap<String, u64>,
    /// Checks that found something, with the worst level of each, as they were ten seconds ago at
    /// most when this is asked all the time; null while nothing is known.
    /// `GET /api/backend/status` tells more.
    pub checks: Option<BTreeMap<String, Level>>,
}

/// What the checks of a site found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Findings {
    /// The worst level.
    pub level: Level,
    /// What each check found, in the order of docs/doctor.md.
    pub findings: Vec<Finding>,
}
