//! What code other than the service itself may raise: plugins, embedding programs, callers of
//! `/api/backend/webhooks/emit`. Pure.

use std::sync::LazyLock;

use serde_json::Value as Json;

use super::{
    conform::{Rules, SizeLimit, is_shallow},
    event::schema,
    payloads::ItemData,
    system::{FROM_OUTSIDE, find_entry, is_reserved},
};
use crate::{Code, Error, Result};

/// Most bytes of an event's data as JSON.
const MAX_DATA: usize = 1 << 20;

/// How deep lists and objects may nest.
const MAX_DEPTH: usize = 100;

/// An event from outside that was judged, and may be raised. It is judged before a change begins:
/// large data takes time.
#[derive(Clone, Debug)]
pub struct JudgedEvent {
    pub(crate) event: String,
    pub(crate) data: Json,
}

/// Judges an event that is raised from outside.
///
/// # Errors
/// `validation_failed`: for an event that the service raises itself, code `reserved`; for data that
/// does not fit the event's schema, or is nested too deeply, with the first hundred fields that are
/// wrong. `payload_too_large`.
pub(crate) fn judge(event: &str, data: Json) -> Result<JudgedEvent> {
    if is_reserved(event) {
        let message = format!(
            "the service raises {event} itself; you can raise events of plugins, and {}",
            FROM_OUTSIDE.join(", ")
        );
        return Err(Error::invalid_field("event", "reserved", message));
    }
    judge_data(event, &data)?;
    Ok(JudgedEvent { event: event.to_owned(), data })
}

/// The outline of an item's event, whatever its table: who sends data may not know its columns.
static ITEM: LazyLock<Rules> = LazyLock::new(|| Rules::new(schema::<ItemData<'_>>()));

/// Judges the data of any event.
///
/// # Errors
/// As [`judge`] for data.
pub(crate) fn judge_data(event: &str, data: &Json) -> Result<()> {
    if !is_shallow(data, MAX_DEPTH) {
        let message = format!("{MAX_DEPTH} levels at most are expected");
        return Err(Error::invalid_field("data", "range", message));
    }
    if serde_json::to_writer(SizeLimit(MAX_DATA), data).is_err() {
        let detail = format!(
            "The data of an event may have {MAX_DATA} bytes: send an id, and let receivers ask \
             for the rest."
        );
        return Err(Error::new(Code::PayloadTooLarge, detail));
    }
    let faults = match find_entry(event) {
        Some(known) => known.faults(data),
        None if event.starts_with("item.") => ITEM.faults(data, "data"),
        None => Vec::new(),
    };
    if faults.is_empty() { Ok(()) } else { Err(Error::invalid(faults)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::events::{
        conform::schema_faults,
        filter::filter,
        system::{FUNNELS, INSIDE, SYSTEM},
    };

    #[test]
    fn what_comes_from_outside_has_bounds() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        // The quotes count.
        let long = |bytes: usize| json!("x".repeat(bytes - 2));
        let order = |id: Json| json!({"order": {"id": id}});
        for (event, data, expected) in [
            ("shop.paid", json!({}), ""),
            ("shop.paid", json!([1]), ""),
            ("shop.paid", nested(MAX_DEPTH), ""),
            ("shop.paid", nested(MAX_DEPTH + 1), "validation_failed data range"),
            ("shop.paid", long(MAX_DATA), ""),
            ("shop.paid", long(MAX_DATA + 1), "payload_too_large"),
            ("page.published", json!({}), "validation_failed event reserved"),
            ("item.blog.created", json!({}), "validation_failed event reserved"),
            ("order.created", order(json!(7)), ""),
            ("order.created", order(json!("a7")), ""),
            ("order.created", order(json!("")), "validation_failed data.order.id range"),
            ("order.created", order(json!(null)), "validation_failed data.order.id type"),
            ("order.created", json!({"order": 7}), "validation_failed data.order type"),
            ("order.created", json!({}), "validation_failed data.order required"),
            ("order.created", json!([]), "validation_failed data type"),
        ] {
            let told = judge(event, data).err().map_or_else(String::new, |error| {
                let field = error.placed_fields().next();
                let field = field.map(|(field, _)| format!(" {} {}", field.field, field.code));
                format!("{}{}", error.code().as_str(), field.unwrap_or_default())
            });
            assert_eq!(told, expected, "{event}");
        }
    }

    #[test]
    fn examples_fit_their_schemas_and_lose_nothing() {
        for known in SYSTEM.iter().chain(&FUNNELS).chain(&INSIDE) {
            let (data, removed) = filter(known.name, known.example());
            assert_eq!((&data, removed), (&known.example(), Vec::new()), "{}", known.name);
            assert_eq!(known.faults(&data), Vec::new(), "{}", known.name);
            assert_ne!(known.faults(&json!({})), Vec::new());
        }
    }

    #[test]
    fn data_of_our_own_events_is_judged_too() {
        let record = json!({"table": "blog", "id": 1, "language": null, "record": {"a": 1}});
        let (page, item) = ("page.published", "item.blog.created");
        for (event, data, expected) in [
            (page, find_entry(page).unwrap().example(), ""),
            (page, json!({"page": 7}), "data.revision required"),
            (item, record, ""),
            (item, json!({"id": 1, "language": null, "record": {}}), "data.table required"),
        ] {
            let refused = judge_data(event, &data).err();
            let told = refused.iter().flat_map(Error::placed_fields).next();
            let told = told.map(|(field, _)| format!("{} {}", field.field, field.code));
            assert_eq!(told.unwrap_or_default(), expected, "{event} {data}");
        }
    }

    /// A word that nobody judges would be a promise that nobody keeps.
    #[test]
    fn the_schemas_use_no_other_words() {
        for name in FROM_OUTSIDE {
            let schema = find_entry(name).unwrap().schema();
            assert_eq!(schema_faults(schema), Vec::new(), "{name}");
            let text = schema.to_string();
            let formats = text.split("\"format\":\"").skip(1);
            let mut formats = formats.map(|rest| rest.split('"').next().unwrap());
            assert!(formats.all(|one| ["date-time", "int64", "uint64"].contains(&one)), "{name}");
        }
    }
}
