//! `/api/backend/plugins/diff`, `apply`, `remove` and `release`

use cms_core::{content::Changes, pages::widgets::WidgetChange, plugins::Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Body, Data, Done, NoBody, Page, operations, parameters::NoQuery};

operations! {
    /// What applying the plugins of the folder would change.
    Diff: WhichPlugin, NoBody => Page<PluginChanges>;
    /// Reads the plugins of the folder again and gives their tables the declared form.
    Apply: NoQuery, Applied => Data<Vec<PluginChanges>>;
    /// Takes a plugin out of service until it is applied by name; tables and rows stay, its other
    /// names are free.
    Remove: NoQuery, Removed => Done;
    /// Gives up the names that a plugin owns and does not declare; all of them when it is not in
    /// service. The next plugin that declares such a table gets it with its rows.
    Release: NoQuery, Released => Data<Vec<FreeName>>;
}

/// One plugin, or all.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichPlugin {
    /// Its id; all without it.
    pub plugin: Option<String>,
}

/// What to apply.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"plugin": "shop"}]))]
pub struct Applied {
    /// Id of the one plugin to apply, also when it was removed; all others without it.
    #[serde(default)]
    pub plugin: Option<String>,
    /// Columns whose values may be lost: `table.column`. None yet: no change drops, renames or
    /// retypes columns.
    #[serde(default)]
    #[schemars(length(max = 0))]
    pub accept_loss: Vec<String>,
}

/// What to remove.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"plugin": "shop"}]))]
pub struct Removed {
    /// The plugin's id.
    pub plugin: String,
}

/// Whose names to give up.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"plugin": "shop"}]))]
pub struct Released {
    /// The plugin's id.
    pub plugin: String,
}

/// A name that belongs to nobody any more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FreeName {
    /// `table`, `event`, `endpoint`, `widget` or `permission`.
    pub kind: String,
    /// The name.
    pub name: String,
}

impl Body for Released {}
impl Body for Applied {}
impl Body for Removed {}

/// What applying a plugin changes, or has changed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct PluginChanges {
    /// The plugin.
    pub plugin: String,
    /// `current`: nothing to do. `pending`: the steps are to be done. `applied`: they were done.
    /// `refused`: nothing is changed, and the earlier declaration stays in service. `removed`:
    /// only applying it by name takes it back.
    pub state: ChangeState,
    /// What is wrong with its declaration.
    pub problems: Vec<Problem>,
    /// What changes in the database, and what is in the way.
    #[serde(flatten)]
    pub changes: Changes,
    /// Names of events that are new.
    pub events: Vec<String>,
    /// Widgets that are declared otherwise than they are registered.
    #[serde(default)]
    pub widgets: Vec<WidgetChange>,
}

/// How far the changes of a plugin are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "told where it is used")]
pub enum ChangeState {
    Current,
    Pending,
    Applied,
    Refused,
    Removed,
}
