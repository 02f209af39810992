//! `/api/backend/pagebuilder/widgets`, `icon` and `components`

use cms_core::pages::widgets::{Components, PickedWidget};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Data, NoBody, OneOrPage, Text, operations,
    parameters::{Limit, NoQuery, paged},
};

operations! {
    /// One widget, or a page of those that can be placed, in the order of the picker.
    Read: WhichWidgets, NoBody => OneOrPage<PickedWidget>;
    /// The icon of a widget.
    ShowIcon: WhichIcon, NoBody => Text;
    /// The component of each template.
    ShowComponents: NoQuery, NoBody => Data<Components>;
}

paged! {
    /// One widget by its name, else a page of the list.
    pub struct WhichWidgets {
        /// The one to show.
        pub widget: Option<String>,
    }
}

/// Whose icon.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichIcon {
    /// The name of the widget.
    #[schemars(example = &"gallery")]
    pub widget: String,
}
