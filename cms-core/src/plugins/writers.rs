//! What the buttons of a plugin write: table, act, columns.

use std::collections::BTreeSet;

use super::{
    Manifest,
    manifest::{Button, ButtonType},
};
use crate::access::{RecordAct, Writer};

/// Every writing button, with its table.
pub(super) fn of(manifest: &Manifest) -> Vec<(String, Writer)> {
    let mut found = Vec::new();
    for (button, listed) in manifest.listed_buttons() {
        let permission = format!("{}_{}_edit", manifest.id, button.button_id);
        let writer = |act, columns, version| Writer {
            plugin: manifest.id.clone(),
            permission: permission.clone(),
            act,
            columns,
            version,
        };
        let values = button.values.as_ref();
        let of_list = values.and_then(|values| values.table.as_deref());
        let (table, writers) = match button.button_type {
            ButtonType::Edit => {
                let mut writers = vec![writer(RecordAct::Update, fields(button), false)];
                if button.multilanguage.0 {
                    writers.push(writer(RecordAct::Create, with_language(fields(button)), true));
                }
                (button.table_of(listed), writers)
            }
            ButtonType::Insert if button.multilanguage.0 => {
                let columns = with_language(fields(button));
                (button.table_of(listed), vec![writer(RecordAct::Create, columns, false)])
            }
            ButtonType::Insert => {
                (button.table_of(listed), vec![writer(RecordAct::Create, fields(button), false)])
            }
            ButtonType::Delete => {
                (button.table_of(listed), vec![writer(RecordAct::Delete, BTreeSet::new(), false)])
            }
            ButtonType::ShowChecklist => {
                let column = values.and_then(|values| values.column.clone());
                (of_list, vec![writer(RecordAct::Check, column.into_iter().collect(), false)])
            }
            _ => continue,
        };
        if let Some(table) = table {
            found.extend(writers.into_iter().map(|writer| (table.to_owned(), writer)));
        }
    }
    found
}

fn fields(button: &Button) -> BTreeSet<String> {
    button.editable_rows.iter().map(|field| field.column.clone()).collect()
}

fn with_language(mut columns: BTreeSet<String>) -> BTreeSet<String> {
    columns.extend(["base_id".to_owned(), "language_short".to_owned()]);
    columns
}
