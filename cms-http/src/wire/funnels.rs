//! `/api/backend/formfunnel`: funnels as their authors draw them

use cms_core::funnels::{
    Created, EmailRouting, Funnel, FunnelDetail, NewFunnel, Preview, Previewed, Published,
    Routings, Saved, SavedFunnel, SavedRoutings, StartVisit, StartedTest,
};
pub use cms_core::funnels::{Duplicated, WhichFunnel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Body, Data, NoBody, Page, operations,
    parameters::{ListQuery, NoQuery},
};

operations! {
    /// Funnels, a page at a time.
    List: WhichFunnels, NoBody => Page<Funnel>, of "funnels";
    /// A funnel with its nodes, edges and mail rules.
    Get: OneFunnel, NoBody => Data<FunnelDetail>;
    /// The field types that a step may ask with, each with all its settings.
    FieldTypes: NoQuery, NoBody => Page<ShownFieldType>;
    /// The mail rules of a funnel, in the order in which they are tried.
    EmailRoutings: OfFunnel, NoBody => Page<EmailRouting>;
    /// Makes a draft of a funnel.
    Create: NoQuery, NewFunnel => Data<Created>;
    /// Saves a funnel, all or nothing. Visitors see nothing of it before it is published.
    Save: MayName, Saved => Data<SavedFunnel>;
    /// Replaces all mail rules of a funnel. They count at once.
    SaveEmailRoutings: MayNameFunnel, Routings => Data<SavedRoutings>;
    /// Freezes a funnel as it is drawn: new visits begin with that.
    Publish: MayName, Publication => Data<Published>;
    /// Copies a funnel with all that belongs to it. The copy is a draft.
    Duplicate: MayName, Duplicated => Data<Created>;
    /// A step as visitors see it, where answers lead from there, and why. Nothing is stored.
    LookAt: MayNameFunnel, Previewed => Data<Preview>;
    /// Begins a visit of a published funnel that is marked as a test: no statistics count it, and
    /// it raises no event and no mail. It goes on by the calls of visitors.
    StartTest: NoQuery, StartVisit => Data<StartedTest>;
    /// Deletes a funnel with all that belongs to it, what visitors sent included.
    Delete: MayName, Deletion => Data<Deleted>;
}

impl Body for NewFunnel {}
impl Body for Saved {
    // The whole drawing of a funnel.
    const MOST_VALUES: usize = 100_000;
}
impl Body for Routings {}
impl Body for Duplicated {
    const OPTIONAL: bool = true;
}
impl Body for Previewed {}

/// Which funnels.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WhichFunnels {
    /// Only those in this language; `*` for all. Otherwise those in the site's first language, and
    /// in none.
    pub language: Option<String>,
    /// Only those in this state.
    pub status: Option<FunnelStatus>,
    /// Which page of the list.
    #[serde(flatten)]
    pub list: ListQuery,
}

/// The state of a funnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FunnelStatus {
    /// Never public, or no more.
    Draft,
    /// Visits begin with its version.
    Published,
    /// Put aside.
    Archived,
}

impl FunnelStatus {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Published => "published",
            Self::Archived => "archived",
        }
    }
}

/// One funnel.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneFunnel {
    /// Its id or its slug.
    #[schemars(example = &"leads")]
    pub id: String,
}

/// Of one funnel.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfFunnel {
    /// The funnel's id or its slug.
    #[schemars(example = &"leads")]
    pub funnel_id: String,
}

/// The funnel, when the body does not name it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MayName {
    /// Its id or slug.
    pub id: Option<String>,
}

/// The funnel, when the body does not name it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MayNameFunnel {
    /// Its id or slug.
    pub funnel_id: Option<String>,
    /// The same under another name.
    pub id: Option<String>,
}

/// A publication.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PublishFunnel")]
#[schemars(extend("examples" = [{"id": 1}]))]
pub struct Publication {
    /// The funnel by its id or slug, when the query does not name it.
    #[serde(default)]
    pub id: Option<WhichFunnel>,
    /// The `rev` that the author has seen: a funnel that was saved since is not published.
    #[serde(default)]
    pub rev: Option<i64>,
    /// Whether warnings refuse it.
    #[serde(default)]
    pub strict: bool,
    /// Whether the funnel is only judged, and nothing is published.
    #[serde(default)]
    pub dry_run: bool,
}

impl Body for Publication {
    const DRY_RUN_READS: bool = true;
    const OPTIONAL: bool = true;
}

/// A deletion.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DeleteFunnel")]
#[schemars(extend("examples" = [{"id": 1}]))]
pub struct Deletion {
    /// The funnel by its id or slug, when the query does not name it.
    #[serde(default)]
    pub id: Option<WhichFunnel>,
    /// What its author has seen: a funnel that was saved since stays.
    #[serde(default)]
    pub rev: Option<i64>,
}

impl Body for Deletion {
    const OPTIONAL: bool = true;
}

/// What was deleted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeletedFunnel")]
#[non_exhaustive]
pub struct Deleted {
    /// The funnel that is gone.
    pub id: i64,
    /// True.
    pub deleted: bool,
}

/// A field type.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FunnelFieldType")]
#[non_exhaustive]
pub struct ShownFieldType {
    /// Its name in declarations.
    #[serde(rename = "type")]
    pub name: String,
    /// Where editors list it.
    #[schemars(with = "String")]
    pub group: cms_core::fields::Group,
    /// What it asks for.
    pub about: String,
    /// What its answer is, as Markdown.
    pub answer: String,
    /// An answer; null for a type without answer.
    pub example: Json,
    /// All settings as they are when nobody sets them.
    pub default_config: Json,
    /// Its own settings, as JSON Schema.
    pub config_schema: Json,
}
