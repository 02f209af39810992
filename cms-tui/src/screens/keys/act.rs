//! What can be done with keys.

use cms_http::wire::keys::{
    Check, Create, Delete, EDITED, Endpoints, Grace, PossibleCall, Rotate, Update,
};

use super::{KEY, rights};
use crate::screens::{cells::label, prelude::*, records};

pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "new" => new(),
        "edit" => acts::edit::<Update>(&KEY, row.clone(), fields(&row)).step(),
        "rights" => Step::Open(Place::about("rights", &row)),
        "show" => (KEY.again)(&row).view(name(&row)),
        "endpoints" => {
            get::<Endpoints>(&Listing { limit: Limit(500), ..Listing::default() }).then(endpoints)
        }
        "check" => check(&row),
        "grant" => rights::grant_denied(row),
        "rotate" => rotate(row),
        "toggle" => acts::toggle::<Update>(scene, &KEY),
        "expire" => expire(row),
        "delete" => acts::delete::<Delete>(&KEY, &row, "The next call with it is refused."),
        _ => Step::None,
    }
}

/// A right as people write it: `GET,POST /path?a=b`, or `*`.
pub(super) fn right(text: &str) -> Result<Json, String> {
    let text = text.trim();
    if text == "*" {
        return Ok(json!({"endpoint": "*"}));
    }
    let fault = || format!("{text:?} is no right: write GET,POST /path?name=value, or *");
    let (methods, path) = text.split_once(' ').ok_or_else(fault)?;
    let path = path.trim();
    if !path.starts_with('/') {
        return Err(fault());
    }
    let (endpoint, query) = path.split_once('?').unwrap_or((path, ""));
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let query: Map<_, _> = pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (name.to_owned(), Json::from(value)))
        .collect();
    let methods: Vec<_> = methods.split(',').map(|method| method.trim().to_uppercase()).collect();
    Ok(json!({"endpoint": endpoint, "query": query, "methods": methods}))
}

/// A field for each member that people set.
fn fields(key: &Json) -> Vec<Field> {
    let members = EDITED.iter().map(|one| {
        let column = json!({"name": one.name, "type": one.field_type, "required": one.is_required});
        let choice = |value: &i64| (value.to_string(), Json::from(*value));
        let choices: Vec<_> = one.allowed.iter().map(choice).collect();
        let choices = Some(&choices).filter(|choices| !choices.is_empty());
        let mut field = records::field(&column, &key[one.name], choices);
        field.hint = match one.field_type {
            "date" => format!("{}. {}", field.hint, one.help),
            _ => one.help.to_owned(),
        };
        field.label = label(one.name);
        field
    });
    members.collect()
}

fn new() -> Step {
    let mut fields = fields(&json!({"active": true}));
    let rights = Field::lines("rights", "Rights", "")
        .hint("one a line, such as GET /api/backend/item?table=blog; e edits them as a matrix");
    fields.insert(1, rights);
    Form::new("New key", fields, |values| {
        let mut body = values.all.clone();
        body.retain(|_, value| !value.is_null());
        let rights = values.text("rights");
        let rights = rights.lines().filter(|line| !line.trim().is_empty()).map(right);
        let rights: Result<Vec<_>, _> = rights.collect();
        let rights = match rights {
            Ok(rights) => rights,
            Err(why) => return Step::Fault(Fault::at("rights", why)),
        };
        let (named, has_any) = (values.text("name"), !rights.is_empty());
        body.insert("rights".to_owned(), rights.into());
        if has_any {
            return create(named, body);
        }
        let text = format!("Make {named} without a right? It may call nothing until it gets one.");
        Step::Confirm(Confirm::new(text, move || create(named, body)))
    })
    .step()
}

fn create(named: String, body: Map<String, Json>) -> Step {
    send_json::<Create>(&NoQuery {}, Json::Object(body))
        .then(move |reply| shown(&named, "is made", &reply))
}

fn shown(name: &str, done: &str, reply: &Reply) -> Step {
    let key = reply.data["key"].as_str().unwrap_or_default().to_owned();
    let about = "Callers send it in the header X-Api-Key.";
    Step::Several(vec![
        Step::did(format!("{name} {done}")),
        Step::View(Viewer::once(format!("Key {name}"), about, key)),
    ])
}

fn rotate(row: Json) -> Step {
    let title = format!("New value for {}", name(&row));
    let cost = format!(
        "End the old value of {} at once? Programs that use it are refused from the next call on.",
        name(&row)
    );
    acts::rotate(title, cost, move |grace_s| {
        (KEY.again)(&row).then(move |now| match now.data["prefix"] == row["prefix"] {
            true => new_value(&row, grace_s),
            false => ask_again(row, grace_s),
        })
    })
}

fn new_value(row: &Json, grace_s: i64) -> Step {
    let named = name(row);
    send::<Rotate>(&by_id(row), &Grace { grace_s })
        .then(move |reply| shown(&named, "has a new value", &reply))
}

/// Asks again: somebody may be handing out the value that would stop working.
fn ask_again(row: Json, grace_s: i64) -> Step {
    let entries = ["keep that value", "make another one all the same"].map(str::to_owned);
    let title = format!("Somebody gave {} a new value too", name(&row));
    Step::Menu(Menu::new(title, entries.to_vec(), move |n| match n {
        0 => Step::tell("Theirs is kept."),
        _ => new_value(&row, grace_s),
    }))
}

fn expire(row: Json) -> Step {
    let fields = fields(&row).into_iter().filter(|field| field.name == "expires_on").collect();
    Form::new(format!("When does {} expire?", name(&row)), fields, move |values| {
        let day = values.all["expires_on"].clone();
        let done = match day.as_str() {
            Some(day) => format!("expires on {day}"),
            None => "does not expire".to_owned(),
        };
        acts::change::<Update>(&KEY, &row, json!({"expires_on": day}), &done)
    })
    .step()
}

/// Asks the service's own check of a call.
pub(super) fn check(row: &Json) -> Step {
    let (key, named) = (id(row), name(row));
    let methods = ["GET", "POST", "PATCH", "DELETE"];
    let fields = vec![
        Field::one("method", "Method", &methods, 0),
        Field::text("path", "Path", "/api/backend/item?table=").required(),
    ];
    Form::new(format!("May {named} make this call?"), fields, move |values| {
        let (method, path) = (values.text("method"), values.text("path"));
        let asked = PossibleCall { id: key, method: method.clone(), path: path.clone() };
        let named = named.clone();
        get::<Check>(&asked)
            .then(move |reply| Step::View(answer(&named, &method, &path, &reply.data)))
    })
    .step()
}

fn answer(named: &str, method: &str, path: &str, data: &Json) -> Viewer {
    let allowed = data["allowed"] == true;
    let reason = data["reason"].as_str().unwrap_or_default();
    let why = match reason {
        "allowed" => "a row of its rights covers it",
        "api_key_forbidden" => "no row of its rights covers it: e grants one",
        "api_key_disabled" => "the key is switched off: t switches it on",
        "api_key_expired" => "the key has expired: E sets another day",
        other => other,
    };
    let said = if allowed { "✓ allowed" } else { "✗ denied" };
    let role = if allowed { Role::Good } else { Role::Bad };
    let lines = vec![
        (role, format!("{said}: {why} ({reason})")),
        (Role::Plain, String::new()),
        (Role::Plain, safe(&format!("{named}: {method} {path}")).into()),
    ];
    Viewer::new("Why?", lines)
}

fn endpoints(reply: Reply) -> Step {
    let rows = items(&reply.data).iter();
    let lines = rows.map(|row| {
        let public = if row["public"] == true { "  (public)" } else { "" };
        let line = format!("{}{public}", super::right_text(row));
        (Role::Plain, safe(&line).into_owned())
    });
    Step::View(Viewer::new("What rights can name", lines.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_field_of_a_new_key_is_left_out() {
        let Step::Form(form) = new() else { panic!("no form") };
        let all = json!({"name": "ci", "expires_on": null, "active": null,
                         "rights": "GET /api/menu"});
        let all = all.as_object().cloned().unwrap_or_default();
        let step = (form.submit)(&Values { all, ..Values::default() });
        assert!(matches!(step, Step::Call(_)), "null is no state of a key");
    }

    #[test]
    fn the_day_of_expiry_is_the_only_field() {
        let Step::Form(form) = expire(json!({"id": 1, "expires_on": "2099-01-01"})) else {
            panic!("no form")
        };
        let [field] = &form.fields[..] else { panic!("another number of fields") };
        assert_eq!(field.value(), Ok("2099-01-01".into()));
        assert!(field.hint.starts_with("YYYY-MM-DD. The key stops"), "{}", field.hint);
    }
}
