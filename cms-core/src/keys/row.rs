//! A key as it is stored, shown, created and changed: its members, their columns and their checks.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::expiry;
use crate::{
    Change, Error, Millis, Result,
    access::{self, Endpoints, Right},
    content::ResourceColumn,
    db::{Db, Statement, Value, args, read, record, statements},
    ground::{clock, plain},
    items::{Made, OwnColumn, RowList},
};

/// A key as the API shows it. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ApiKey {
    /// Its id.
    pub id: i64,
    /// Label for people.
    pub name: String,
    /// First part of the value, to recognise the key by.
    pub prefix: String,
    /// Day of expiry: the key stops at its start in the site's `timezone`.
    pub expires_on: Option<String>,
    /// False: the key is refused.
    pub active: bool,
    /// Calls that the key allows.
    pub rights: Vec<Right>,
    /// Time of the last request, up to a minute old.
    pub last_used_at: Option<String>,
    /// When the key was created.
    pub created_at: String,
    /// Number of requests made with the key.
    pub requests: i64,
    /// Number of requests refused for lack of a right.
    pub denied: i64,
}

/// The members that people set, rights apart. The flags of `cms keys create` and `cms keys edit`,
/// the terminal's forms and the checks of lengths come from this list.
pub const EDITED: &[ResourceColumn] = &[
    ResourceColumn {
        is_required: true,
        max_length: Some(100),
        ..ResourceColumn::new("name", "text", "Name for people")
    },
    ResourceColumn::new(
        "expires_on",
        "date",
        "The key stops at the start of this day; empty: never",
    ),
    ResourceColumn::new("active", "checkbox", "Whether the key works"),
];

/// Declares the columns of a key once. Each row names a member, then as far as they apply:
/// - `= "$3"`: people write the member. INSERT and UPDATE take its value from this place; places
///   follow the order of the rows. `by` names the function that makes the value.
/// - `: text searched`: how lists filter and sort by the column.
/// - `=>`: the function that reads the column, as in `record!`.
macro_rules! stored {
    // The tokens, for a member with a place.
    (@at $place:literal $($tokens:tt)*) => { $($tokens)* };
    (@value $member:expr) => { Value::from($member.clone()) };
    (@value $member:expr, $write:path) => { Value::from($write(&$member)?) };
    ($list:ident {
        $($name:ident $(= $place:literal $(by $write:path)?)? $(: $kind:ident $($more:ident)*)?
            $(=> $read:expr)?;)+
    }) => {
        record! { ApiKey: $list { $($name: [stringify!($name)] $(=> $read)?),+ } }

        const LISTED: &[OwnColumn] = &[$($(OwnColumn::$kind(stringify!($name)) $(.$more())*,)?)+];

        /// The columns that a key is created with.
        pub(super) const COLUMNS: &[&str] = &[$($(stored!(@at $place stringify!($name)),)?)+];

        const INSERTED: &str = concat!(
            "insert into cms_api_keys (created_at, prefix"
            $($(, ", ", stored!(@at $place stringify!($name)))?)+,
            ") values ($1, $2" $($(, ", ", $place)?)+, ") returning id"
        );

        const UPDATED: &str = concat!(
            "update cms_api_keys set prefix = $2"
            $($(, ", ", stored!(@at $place stringify!($name)), " = ", $place)?)+,
            " where id = $1"
        );

        /// The values of INSERT and UPDATE. `first` is `$1`.
        fn values(first: i64, key: &ApiKey) -> Result<Vec<Value>> {
            Ok(vec![
                Value::from(first),
                Value::from(&key.prefix),
                $($(stored!(@at $place stored!(@value key.$name $(, $write)?)),)?)+
            ])
        }

        impl ApiKey {
            /// A key to insert.
            pub(super) fn of(mut new: NewApiKey, prefix: String, now: Millis) -> Self {
                new.name = plain::composed(&new.name).into_owned();
                let (last_used_at, created_at) = (None, clock::rfc3339(now));
                Self {
                    id: 0, prefix, last_used_at, created_at, requests: 0, denied: 0,
                    $($($name: stored!(@at $place new.$name),)?)+
                }
            }

            /// Takes the members that the patch names. Returns their columns.
            fn set(&mut self, patch: ApiKeyPatch) -> Vec<&'static str> {
                let mut columns = Vec::new();
                $($(if let Some(value) = stored!(@at $place patch.$name) {
                    self.$name = value;
                    columns.push(stringify!($name));
                })?)+
                columns
            }
        }
    };
}

stored! { key_columns {
    id: integer;
    name = "$3": text searched;
    prefix: text searched;
    expires_on = "$4": text nullable;
    active = "$5": boolean;
    rights = "$6" by text => read::json;
    last_used_at: time nullable => read::optional_time;
    created_at: time => read::time;
    requests: integer;
    denied: integer;
} }

/// The list of keys. Recent counts of this process are not in the table yet.
pub(crate) static LIST: RowList = RowList {
    name: "The list of keys",
    table: "cms_api_keys",
    columns: LISTED,
    rows: Statement::new(
        concat!(module_path!(), "::LIST"),
        concat!("select ", key_columns!(), " from cms_api_keys where id in"),
    ),
    made: Made::new(),
};

statements! {
    INSERT = INSERTED;
    LOCK = concat!(
        "update cms_api_keys set active = active where id = $1 returning ", key_columns!()
    );
    GET = concat!("select ", key_columns!(), " from cms_api_keys where id = $1");
    UPDATE = UPDATED;
}

pub(super) async fn get(db: &Db, id: i64) -> Result<Option<ApiKey>> {
    db.optional(GET, args![id]).await
}

/// Reads and locks the key until this change ends.
pub(super) async fn lock(change: &mut Change, id: i64) -> Result<Option<ApiKey>> {
    change.optional(LOCK, args![id]).await
}

pub(super) async fn insert(change: &mut Change, key: &ApiKey) -> Result<i64> {
    let (id,): (i64,) = change.one(INSERT, values(change.now(), key)?).await?;
    Ok(id)
}

pub(super) async fn update(change: &mut Change, key: &ApiKey) -> Result<()> {
    change.run_one(UPDATE, values(key.id, key)?).await
}

fn text(rights: &[Right]) -> Result<String> {
    serde_json::to_string(rights).map_err(Error::internal)
}

/// A key to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "name": "shop",
    "expires_on": "2027-01-31",
    "rights": [{"endpoint": "/api/pages", "methods": ["GET"]}],
}]))]
#[non_exhaustive]
pub struct NewApiKey {
    /// Label, 1 to 100 characters.
    #[schemars(length(min = 1, max = 100), regex(pattern = plain::NAME_PATTERN))]
    pub name: String,
    /// Day of expiry; None: never.
    #[serde(default)]
    #[schemars(extend("format" = "date"))]
    pub expires_on: Option<String>,
    /// False creates a key that is refused until switched on.
    #[serde(default = "crate::ground::yes")]
    pub active: bool,
    /// Rows of rights. Without a row the key allows no call.
    #[serde(default)]
    pub rights: Vec<Right>,
}

impl NewApiKey {
    /// A key of this name that never expires and has no rights.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), expires_on: None, active: true, rights: Vec::new() }
    }
}

/// Changes to a key. None leaves a member as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"active": true}]))]
#[non_exhaustive]
pub struct ApiKeyPatch {
    /// New label.
    #[schemars(length(min = 1, max = 100), regex(pattern = plain::NAME_PATTERN))]
    pub name: Option<String>,
    /// New day of expiry; `Some(None)` removes it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date"))]
    pub expires_on: Option<Option<String>>,
    /// Switches the key on or off.
    pub active: Option<bool>,
    /// Replaces all rows of rights.
    pub rights: Option<Vec<Right>>,
    /// Rights to add to those that the key has then; a row for the same calls gets the methods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grant: Vec<Right>,
    /// Rights to take away first; what the key does not have is ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revoke: Vec<Right>,
}

/// Tells a member that is null from a missing one.
fn present<'de, D, T>(value: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(value).map(Some)
}

impl ApiKey {
    /// Applies a patch and checks the key. Returns the columns that the patch names.
    pub(super) fn apply(
        &mut self,
        mut patch: ApiKeyPatch,
        endpoints: &Endpoints,
    ) -> Result<Vec<&'static str>> {
        let renamed = patch.name.as_ref().is_some_and(|name| *name != self.name);
        if let Some(name) = patch.name.as_mut().filter(|_| renamed) {
            *name = plain::composed(name).into_owned();
        }
        let grant = std::mem::take(&mut patch.grant);
        if patch.rights.is_some() || !grant.is_empty() || !patch.revoke.is_empty() {
            let rights = patch.rights.unwrap_or_else(|| std::mem::take(&mut self.rights));
            patch.rights = Some(access::changed_rights(rights, Vec::new(), &patch.revoke));
        }
        let columns = self.set(patch);
        self.check(renamed, &grant, endpoints)?;
        self.rights = access::changed_rights(std::mem::take(&mut self.rights), grant, &[]);
        Ok(columns)
    }

    /// Checks a key. `named`: its name is new. `grant`: rights that the key is about to get.
    pub(super) fn check(&self, named: bool, grant: &[Right], endpoints: &Endpoints) -> Result<()> {
        let mut problems = access::problems("rights", &self.rights, endpoints);
        problems.extend(access::problems("grant", grant, endpoints));
        let members = serde_json::to_value(self).map_err(Error::internal)?;
        problems.extend(EDITED.iter().filter_map(|one| one.length_problem(&members[one.name])));
        problems.extend(plain::name_problem("name", &self.name).filter(|_| named));
        if let Some(Err(error)) = self.expires_on.as_deref().map(expiry::checked) {
            problems.extend_from_slice(error.fields());
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::invalid(problems)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_order_of_their_places() {
        let number = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
        let places = |text: &str| text.split('$').skip(1).map(number).collect::<Vec<_>>();
        let count = COLUMNS.len() + 2;
        let ascending = |from: usize| (from..=count).map(|place| place.to_string());
        assert_eq!(places(INSERTED), ascending(1).collect::<Vec<_>>());
        assert_eq!(places(UPDATED), ascending(2).chain(ascending(1).take(1)).collect::<Vec<_>>());
    }

    #[test]
    fn what_people_set_is_stored() {
        for member in EDITED {
            assert!(COLUMNS.contains(&member.name), "{}", member.name);
        }
    }
}
