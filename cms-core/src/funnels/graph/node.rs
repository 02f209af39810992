//! A node: a step with fields, a condition, or an end; and what visitors see of it.

use serde_json::{Map, Value as Json, json};

use crate::{
    fields::{self, Field, Fields},
    ground::html::sanitize,
};

/// A node of a funnel.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) kind: NodeKind,
    /// Its settings as declared.
    pub(crate) config: Map<String, Json>,
    pub(crate) position_x: f64,
    pub(crate) position_y: f64,
    pub(crate) sort_order: i64,
    /// Its place in the list that it was read from.
    pub(crate) listed: usize,
    /// As visitors see it: without conditions and without internal settings.
    pub(crate) shown: Json,
}

/// What a node is.
#[derive(Debug)]
pub(crate) enum NodeKind {
    /// Asks.
    Step(Step),
    /// Decides; visitors never see it.
    Condition,
    /// Ends the visit.
    End(End),
}

/// What a step asks.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) fields: Fields,
}

/// How a visit ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) kind: EndKind,
    /// Where to lead the visitor.
    pub(crate) redirect_url: Option<String>,
}

/// What an end tells the visitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EndKind {
    /// Thanks.
    #[default]
    ThankYou,
    /// Another page.
    Redirect,
    /// That the offer is not for this visitor.
    Disqualified,
    /// A calendar to choose a time from.
    Booking,
}

impl EndKind {
    pub(crate) const ALL: [Self; 4] =
        [Self::ThankYou, Self::Redirect, Self::Disqualified, Self::Booking];
    /// The values of `end_kind`.
    pub(crate) const NAMES: [&'static str; 4] = [
        Self::ThankYou.as_str(),
        Self::Redirect.as_str(),
        Self::Disqualified.as_str(),
        Self::Booking.as_str(),
    ];

    /// The value of `end_kind`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ThankYou => "thank_you",
            Self::Redirect => "redirect",
            Self::Disqualified => "disqualified",
            Self::Booking => "booking",
        }
    }
}

impl NodeKind {
    /// The value of `type`.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Step(_) => "step",
            Self::Condition => "condition",
            Self::End(_) => "end",
        }
    }

    pub(crate) const fn is_condition(&self) -> bool {
        matches!(self, Self::Condition)
    }
}

impl Node {
    /// The step, when the node is one.
    pub(crate) const fn step(&self) -> Option<&Step> {
        match &self.kind {
            NodeKind::Step(step) => Some(step),
            _ => None,
        }
    }

    /// The fields that it asks for.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field> {
        self.step().into_iter().flat_map(|step| step.fields.iter())
    }

    /// The end, when the node is one.
    pub(crate) const fn end(&self) -> Option<&End> {
        match &self.kind {
            NodeKind::End(end) => Some(end),
            _ => None,
        }
    }

    /// Its condition; null when it has none. The member `rules` holds a whole condition, or only
    /// the rules of a condition whose other members are beside `rules`.
    pub(crate) fn condition(&self) -> Json {
        match self.config.get("rules") {
            Some(condition @ (Json::Object(_) | Json::String(_))) => condition.clone(),
            None | Some(Json::Null) if !self.config.contains_key("groups") => Json::Null,
            _ => {
                let is_part = |name: &str| ["operator", "rules", "groups"].contains(&name);
                Json::Object(chosen(&self.config, is_part))
            }
        }
    }

    /// How messages name it.
    pub(crate) fn title(&self) -> String {
        match self.name.as_str() {
            "" => format!("the {} {}", self.kind.name(), self.id),
            name => format!("{name:?}"),
        }
    }

    /// Its path in the list that it was read from.
    pub(in crate::funnels) fn path(&self) -> String {
        format!("nodes[{}]", self.listed)
    }

    /// The path of one of its fields in that list.
    pub(in crate::funnels) fn path_of(&self, field: &Field) -> String {
        format!("{}.config_json.fields[{}]", self.path(), field.listed())
    }
}

/// The members of settings whose names are chosen.
fn chosen(config: &Map<String, Json>, is_chosen: impl Fn(&str) -> bool) -> Map<String, Json> {
    let members = config.iter().filter(|(name, _)| is_chosen(name));
    members.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether the visitor answers the field at its step. Hidden fields come with the visitor, and
/// computed fields are computed.
pub(crate) fn is_asked(field: &Field) -> bool {
    !matches!(field.type_name(), "hidden" | "calculated")
}

/// Members of a node's settings that visitors see, beside the fields of a step; `public` holds
/// whatever the page needs. Visitors see no other members.
const PUBLIC: [&str; 6] = ["title", "text", "html", "button_label", "media_id", "public"];
/// Further members of an end that visitors see.
const OF_ENDS: [&str; 4] = ["end_kind", "kind", "redirect_url", "url"];

/// The node as visitors see it. Each field has all settings of its type except the internal ones.
pub(super) fn shown(id: i64, kind: &str, name: &str, config: &Map<String, Json>) -> Json {
    let is_public = |name: &str| match kind {
        "step" => PUBLIC.contains(&name) || name == "fields",
        "end" => PUBLIC.contains(&name) || OF_ENDS.contains(&name),
        _ => false,
    };
    let mut config = chosen(config, is_public);
    if let Some(Json::String(html)) = config.get_mut("html") {
        *html = sanitize(html);
    }
    if let Some(Json::Array(fields)) = config.get_mut("fields") {
        for declared in fields {
            *declared = fields::for_visitors(declared);
        }
    }
    json!({"id": id, "type": kind, "name": name, "config": config})
}
