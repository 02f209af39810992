//! `/api/backend/theme`

use cms_core::theme::Environment;

use super::{
    Data, NoBody,
    keys::{Grace, ShownKey},
    operations,
    parameters::NoQuery,
};

operations! {
    /// What the build of a theme needs to know: the name of the active theme, and two addresses.
    Read: NoQuery, NoBody => Data<Environment>;
    /// Gives the key named `theme` a new value, or creates the key, and shows the value, once.
    RotateKey: NoQuery, Grace => Data<ShownKey>;
}
