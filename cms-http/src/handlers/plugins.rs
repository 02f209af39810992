//! `/api/backend/plugins`

use std::{collections::BTreeSet, sync::Arc};

use cms_core::{
    Code, Error, Result,
    access::HeldPermissions,
    items::{Query, eq},
    plugins::{
        ButtonViewer, Manifest, PluginState, RowStatuses, ShownButton, manifest::ButtonType,
    },
};
use serde::Deserialize;
use serde_json::{Value as Json, value::RawValue};

use super::{item, page_by_name};
use crate::{
    call::Call,
    caller::Caller,
    request::bad,
    wire::{
        Data, OneOrPage, Page, Record,
        parameters::Listing,
        plugins::{PluginInfo, ShownContent, ShownRow, WhichButtons, WhichContent, WhichPlugins},
    },
};

pub(crate) async fn read(call: &Call<'_>, asked: WhichPlugins) -> Result<OneOrPage<PluginInfo>> {
    let states = call.cms.plugins().states();
    let mut seen: Vec<&PluginState> = states.iter().filter(|state| sees(call, &state.id)).collect();
    if let Some(id) = &asked.id {
        let Some(state) = seen.into_iter().find(|state| state.id == *id) else {
            return Err(no_plugin(id));
        };
        let mut shown = info(call, state);
        if shows_faults(call) {
            let manifest = state.manifest.as_deref().map(serde_json::to_value).transpose();
            shown.manifest = manifest.map_err(Error::internal)?;
        }
        return Ok(OneOrPage::One(Data { data: shown }));
    }
    seen.sort_by(|one, other| one.id.cmp(&other.id));
    let shown: Vec<_> = seen.into_iter().map(|state| info(call, state)).collect();
    let listing = Listing { limit: asked.limit, cursor: asked.cursor, count: asked.count };
    let page = page_by_name(call, shown, |one: &PluginInfo| one.id.clone(), listing)?;
    Ok(OneOrPage::Page(page))
}

fn info(call: &Call<'_>, state: &PluginState) -> PluginInfo {
    let manifest = state.manifest.as_deref();
    let tables = manifest.map(|m| m.tables.iter().map(|table| table.name.clone()).collect());
    PluginInfo {
        id: state.id.clone(),
        name: manifest.map(|manifest| manifest.name.clone()).unwrap_or_default(),
        version: manifest.map(|manifest| manifest.version.clone()).unwrap_or_default(),
        in_service: manifest.is_some(),
        earlier: state.is_earlier(),
        problems: if shows_faults(call) {
            let left = call.cms.plugins().left_tables(&state.id);
            [state.problems.clone(), left, call.cms.failed_indexes(&state.id)].concat()
        } else {
            Vec::new()
        },
        tables: tables.unwrap_or_default(),
        permissions: call.cms.plugins().index().permissions_of(&state.id).iter().cloned().collect(),
        manifest: None,
    }
}

/// Whether the caller sees a plugin. Keys see all: their right is to this endpoint. Users see
/// those with a button of theirs.
fn sees(call: &Call<'_>, plugin: &str) -> bool {
    let Some(rights) = call.caller().user_rights() else { return true };
    let index = call.cms.plugins().index();
    *rights == HeldPermissions::Admin
        || index.permissions_of(plugin).iter().any(|key| rights.may_use(plugin, key))
}

fn shows_faults(call: &Call<'_>) -> bool {
    call.caller().user_rights().is_none_or(|rights| *rights == HeldPermissions::Admin)
}

pub(crate) async fn buttons(call: &Call<'_>, asked: WhichButtons) -> Result<Page<ShownButton>> {
    let manifest = in_service(call, &asked.plugin)?;
    let rights = call.caller().permissions();
    let viewer = shown(call, &rights);
    let row = match &asked.row {
        Some(id) => Some(statuses(call, viewer.row_tables(&manifest), id).await?),
        None => None,
    };
    Ok(Page::whole(viewer.buttons(&manifest, row.as_ref()).await))
}

fn shown<'a>(call: &'a Call<'_>, rights: &'a HeldPermissions) -> ButtonViewer<'a> {
    ButtonViewer {
        items: call.cms.items(),
        rights,
        sees_all: call.caller().user_rights().is_none(),
        may_read: Box::new(move |table| opens(call, table)),
        languages: &call.cms.settings().languages,
        index: call.cms.plugins().index(),
    }
}

/// Whether the caller may open a table through a button. Users may open what their buttons show;
/// keys need a right to read the table.
fn opens(call: &Call<'_>, table: &str) -> bool {
    !matches!(call.caller(), Caller::Key(_)) || call.caller().may_read(call.cms, table)
}

fn admit_to(call: &Call<'_>, table: &str) -> Result<()> {
    if opens(call, table) {
        return Ok(());
    }
    let detail = format!("The key has no right to read {table}, so its rows cannot be shown.");
    Err(Error::new(Code::ApiKeyForbidden, detail))
}

/// Rights come before existence: callers without a right do not learn which plugins exist.
fn in_service(call: &Call<'_>, id: &str) -> Result<Arc<Manifest>> {
    if !sees(call, id) {
        let detail = format!("You hold no permission of a plugin {id:?}.");
        return Err(Error::new(Code::PermissionDenied, detail));
    }
    call.cms.plugins().manifest(id).ok_or_else(|| no_plugin(id))
}

fn no_plugin(id: &str) -> Error {
    let detail = format!("There is no plugin {id:?} in service: `cms plugins list` shows all.");
    Error::new(Code::NotFound, detail)
}

/// The members of a record that buttons ask for. The rest goes out as the database made it.
#[derive(Deserialize)]
struct Facts<'r> {
    #[serde(borrow, default)]
    status: Option<&'r RawValue>,
    #[serde(borrow, default)]
    url_rewrite: Option<&'r RawValue>,
}

impl<'r> Facts<'r> {
    fn of(record: &'r str) -> Result<Self> {
        serde_json::from_str(record).map_err(Error::internal)
    }

    fn status(&self) -> Option<Json> {
        serde_json::from_str(self.status?.get()).ok()
    }

    fn url_rewrite(&self) -> Option<String> {
        serde_json::from_str(self.url_rewrite?.get()).ok()
    }
}

/// Why a table shows the caller no such row, the most useful answer first. Callers without a
/// right learn nothing of a row, and an id may not fit the type of the table's key.
const LACKS: [Code; 4] =
    [Code::NotFound, Code::BadQuery, Code::UnknownTable, Code::ApiKeyForbidden];

/// The status of a row in each of these tables. At least one table must have the row.
async fn statuses(call: &Call<'_>, tables: BTreeSet<&str>, id: &str) -> Result<RowStatuses> {
    if tables.is_empty() {
        return Err(bad("The plugin has no table, so it has no rows."));
    }
    let rank = |error: &Error| LACKS.iter().position(|code| *code == error.code());
    let (mut statuses, mut lacks) = (RowStatuses::new(), Vec::new());
    for table in tables {
        let status = match status_of(call, table, id).await {
            Ok(status) => Some(status),
            Err(error) if rank(&error).is_some() => {
                lacks.push(error);
                None
            }
            Err(error) => return Err(error),
        };
        statuses.insert(table.to_owned(), status);
    }
    match lacks.into_iter().min_by_key(rank) {
        Some(error) if statuses.values().all(Option::is_none) => Err(error),
        _ => Ok(statuses),
    }
}

async fn status_of(call: &Call<'_>, table: &str, id: &str) -> Result<Json> {
    admit_to(call, table)?;
    let record = call.cms.items().get(table, id, &Query::default()).await?;
    Ok(Facts::of(record.json())?.status().unwrap_or_default())
}

pub(crate) async fn content(call: &Call<'_>, asked: WhichContent) -> Result<Data<ShownContent>> {
    let rights = call.caller().permissions();
    let shown = shown(call, &rights);
    if !shown.sees(&asked.plugin, &asked.button) {
        let detail = format!("You hold no permission {}_{}_view.", asked.plugin, asked.button);
        return Err(Error::new(Code::PermissionDenied, detail));
    }
    let manifest = in_service(call, &asked.plugin)?;
    let all = manifest.listed_buttons();
    let Some((button, listed)) = all.into_iter().find(|(one, _)| one.button_id == asked.button)
    else {
        let detail = format!("{} has no button {:?}.", asked.plugin, asked.button);
        return Err(Error::new(Code::NotFound, detail));
    };
    let values = button.values.clone().unwrap_or_default();
    let buttons = shown.nested(&manifest, &asked.button).await;
    let mut content = ShownContent {
        template: values.template.unwrap_or_default(),
        rows: None,
        next: None,
        content: None,
        buttons,
    };
    match button.button_type {
        ButtonType::ShowModuleList => {
            let table = values.table.unwrap_or_default();
            admit_to(call, &table)?;
            // The row belongs to a table that a button beside this one writes, or to
            // the first table.
            let beside = manifest.content_button.iter();
            let stands = beside.clone().any(|one| one.button_id == asked.button);
            let written = beside.filter(|_| stands).filter_map(|one| one.row_table(listed));
            let of: Vec<&str> = written.chain(listed).collect();
            let row = asked.row.as_deref().map(|id| (id, of.as_slice()));
            let query = query(call, &asked, &table, row)?;
            let list = call.cms.items().list(&table, &query).await?;
            let records: Vec<Record> =
                serde_json::from_str(&format!("[{}]", list.joined())).map_err(Error::internal)?;
            let row = |item: Record| {
                let facts = Facts::of(item.json())?;
                let (url_rewrite, status) = (facts.url_rewrite(), facts.status());
                let buttons = visible(&content.buttons, status.as_ref());
                Ok(ShownRow { item, url_rewrite, buttons })
            };
            let mut rows = records.into_iter().map(row).collect::<Result<Vec<_>>>()?;
            if call.cms.items().has_read_hooks(&table, None) {
                let shown = item::hooked(call, &table, &[], &list.records()?).await?;
                let shown: Vec<Record> =
                    serde_json::from_str(&format!("[{shown}]")).map_err(Error::internal)?;
                rows.iter_mut().zip(shown).for_each(|(row, item)| row.item = item);
            }
            (content.rows, content.next) = (Some(rows), list.next);
        }
        ButtonType::ShowCustomContent => {
            let class = values.class.unwrap_or_default();
            let made = call.cms.plugins();
            let made = made.content(call.cms.items(), &asked.plugin, &class, asked.row).await;
            content.content = made.transpose()?;
        }
        other => {
            let detail = format!("A button of the type {} shows no content.", other.name());
            return Err(bad(detail));
        }
    }
    Ok(Data { data: content })
}

/// The rows of a module list. If its table refers to one of these tables, only those that refer
/// to the given row of the first such table.
fn query(
    call: &Call<'_>,
    asked: &WhichContent,
    table: &str,
    row: Option<(&str, &[&str])>,
) -> Result<Query> {
    let found = call.cms.items().table(table)?;
    let mut query = Query::new().limit(asked.limit.0);
    query.cursor.clone_from(&asked.cursor);
    let refers = row.and_then(|(id, tables)| {
        let to = |table: &&str| {
            found.columns.iter().find(|column| column.references.as_deref() == Some(*table))
        };
        Some((tables.iter().find_map(to)?.name.clone(), id.to_owned()))
    });
    Ok(match refers {
        Some((column, id)) => query.filter(&column, eq(id)),
        None => query,
    })
}

/// The ids of the buttons that a row's status shows.
fn visible(buttons: &[ShownButton], status: Option<&Json>) -> Vec<String> {
    let shown = buttons
        .iter()
        .filter(|button| button.for_status.as_ref().is_none_or(|rule| rule.shows(status)));
    shown.map(|button| button.button_id.clone()).collect()
}
