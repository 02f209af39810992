//! Fields of forms as they were read last: reading them compiles their patterns.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value as Json;

use super::form::Form;
use crate::{Result, fields::Fields};

/// Forms at most.
const MOST: usize = 64;

/// By the id of the form: what was declared, and what that means.
#[derive(Default)]
pub(super) struct Known(Mutex<HashMap<i64, (Json, Arc<Fields>)>>);

impl Known {
    /// The fields of this form, as it is declared.
    pub(super) fn fields(&self, form: &Form) -> Result<Arc<Fields>> {
        let held = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((declared, fields)) = held().get(&form.id)
            && *declared == form.declared
        {
            return Ok(fields.clone());
        }
        let fields = Arc::new(form.fields()?);
        let mut held = held();
        if held.len() >= MOST && !held.contains_key(&form.id) {
            // Any of them: a map gives its keys in no order.
            let left = held.keys().next().copied();
            left.and_then(|id| held.remove(&id));
        }
        held.insert(form.id, (form.declared.clone(), fields.clone()));
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(id: i64, declared: Json) -> Form {
        Form {
            id,
            name: "contact".to_owned(),
            title: String::new(),
            declared,
            recipients: Vec::new(),
            thanks: None,
            redirect_url: None,
            min_seconds: 0,
            active: true,
        }
    }

    #[test]
    fn fields_are_read_once_and_again_when_they_change() {
        let known = Known::default();
        let fields = |id, name: &str| {
            let declared = json!([{"id": name, "type": "short_text", "pattern": "a+"}]);
            known.fields(&form(id, declared)).expect("fields")
        };
        let first = fields(1, "a");
        assert!(Arc::ptr_eq(&first, &fields(1, "a")));
        let changed = fields(1, "b");
        assert_eq!(changed.iter().next().map(|field| field.id()), Some("b"));
        for id in 2..200 {
            fields(id, "a");
        }
        assert!(known.0.lock().expect("a lock").len() <= MOST);
    }
}
