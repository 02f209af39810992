//! The statement of the theme.

use crate::db::statements;

statements! {
    SETTING = "select cast(value as text) from cms_settings where name = $1";
}
