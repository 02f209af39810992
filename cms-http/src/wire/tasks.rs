//! `/api/backend/tasks`

use cms_core::tasks::{Run, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Data, NoBody, OneOrPage, Page, operations,
    parameters::{Limit, Listing, paged},
};

operations! {
    /// The tasks of plugins and the service's own, sorted by plugin and name.
    Read: Listing, NoBody => Page<Task>;
    /// One run of a task, or a page of runs, newest first.
    History: WhichRuns, NoBody => OneOrPage<Run>;
    /// Runs a task now. The reply is the run as it is after 20 seconds at the latest.
    Start: WhichTask, NoBody => Data<Run>;
}

/// A task by its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichTask {
    /// Its name.
    #[schemars(example = &"cancel")]
    pub name: String,
    /// Its plugin; needed where several plugins have a task of this name.
    pub plugin: Option<String>,
}

paged! {
    /// Which runs to show.
    pub struct WhichRuns {
        /// The one to show.
        pub id: Option<i64>,
        /// Only runs of the task with this name.
        pub name: Option<String>,
        /// The plugin of this task; needed where several plugins have a task of this name.
        pub plugin: Option<String>,
    }
}
