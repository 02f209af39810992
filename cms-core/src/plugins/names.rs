//! Names that plugins declare. A name belongs to the plugin that was first in service with it;
//! any other plugin that declares it is refused. Load order never decides about a name that has
//! an owner.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    LoadedPlugin, Manifest, Problem, installed,
    manifest::{FieldType, meet},
    order::order,
};
use crate::{
    Change, Result,
    access::keys_of,
    change::Reader,
    content::{
        TableDeclaration,
        install::{in_a_circle, in_order_of_reference},
    },
    db::{Kind, args},
};

pub(crate) mod sql {
    crate::db::statements! {
        NAMES = "select kind, name, plugin_id from cms_plugin_names";
        CLAIM = "insert into cms_plugin_names (kind, name, plugin_id, claimed_at) \
                 values ($1, $2, $3, $4) on conflict (kind, name) do nothing";
        RELEASE = "delete from cms_plugin_names where kind = $1 and name = $2 and plugin_id = $3";
        RELEASE_TABLE = "update cms_content_tables set plugin_id = '' \
                         where name = $1 and plugin_id = $2";
    }
}

/// The kinds of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameKind {
    Table,
    Event,
    Endpoint,
    Widget,
    Permission,
    /// A column or a field that holds passwords. Their sealed texts must not be shown, even if
    /// later declarations leave it out for a while. See [`sealed`].
    Sealed,
}

impl NameKind {
    const ALL: [Self; 6] =
        [Self::Table, Self::Event, Self::Endpoint, Self::Widget, Self::Permission, Self::Sealed];

    /// The spelling in the database and the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Event => "event",
            Self::Endpoint => "endpoint",
            Self::Widget => "widget",
            Self::Permission => "permission",
            Self::Sealed => "sealed",
        }
    }
}

/// A name in a manifest.
struct Declared {
    kind: NameKind,
    name: String,
    /// JSON pointer to the member.
    at: String,
    /// For the address of a record: the path of the endpoint.
    below: Option<String>,
}

fn declared(manifest: &Manifest) -> Vec<Declared> {
    let one =
        |kind, name: &str, at: String| Declared { kind, name: name.to_owned(), at, below: None };
    let tables = manifest.tables.iter().enumerate();
    let tables =
        tables.map(|(i, table)| one(NameKind::Table, &table.name, format!("/tables/{i}/name")));
    let events =
        manifest.webhook_events.iter().enumerate().map(|(i, event)| {
            one(NameKind::Event, &event.name, format!("/webhook_events/{i}/name"))
        });
    let endpoints = manifest.endpoints.iter().enumerate().flat_map(|(i, endpoint)| {
        let (shape, at) = (endpoint.shape(), format!("/endpoints/{i}/endpoint"));
        let records = manifest.record_shape(endpoint).map(|records| Declared {
            below: Some(shape.clone()),
            ..one(NameKind::Endpoint, &records, at.clone())
        });
        std::iter::once(one(NameKind::Endpoint, &shape, at)).chain(records)
    });
    let widgets = manifest.pagebuilder_widgets.iter().enumerate().map(|(i, widget)| {
        let at = format!("/pagebuilder_widgets/{i}/widget_template");
        one(NameKind::Widget, &widget.widget_template, at)
    });
    let keys = manifest.buttons().into_iter().flat_map(|(at, button)| {
        let keys = keys_of(&format!("{}_{}", manifest.id, button.button_id));
        keys.map(|key| one(NameKind::Permission, &key, format!("{at}/button_id")))
    });
    let keys: Vec<_> = keys.collect();
    tables.chain(events).chain(endpoints).chain(widgets).chain(keys).collect()
}

/// The database tables that a plugin adopts under another name, in lower case: only some engines
/// distinguish case.
fn sources(manifest: &Manifest) -> impl Iterator<Item = Declared> {
    let tables = manifest.tables.iter().enumerate();
    tables.filter(|(_, table)| table.adopt).filter_map(|(i, table)| {
        let (name, at) = (table.source.as_ref()?.to_lowercase(), format!("/tables/{i}/source"));
        Some(Declared { kind: NameKind::Table, name, at, below: None })
    })
}

fn source(table: &TableDeclaration) -> String {
    table.source.as_ref().unwrap_or(&table.name).to_lowercase()
}

/// The remedy for a declaration that would show passwords.
fn exposure(name: &str) -> String {
    format!(
        "{name} has held passwords, and another type would show their sealed text: write \
         \"password\""
    )
}

/// The columns and fields of a plugin that could show sealed passwords, each with whether it is
/// declared as a password: columns of adopted tables and fields of widgets. The plugin's own
/// tables are left out, because they lose a column together with its values.
fn sealable(manifest: &Manifest) -> Vec<(Declared, bool)> {
    let one = |name: String, at| Declared { kind: NameKind::Sealed, name, at, below: None };
    let tables = manifest.tables.iter().enumerate().filter(|(_, table)| table.adopt);
    let columns = tables.flat_map(|(t, table)| {
        let source = source(table);
        table.columns.iter().enumerate().map(move |(c, column)| {
            let name = format!("{source}.{}", column.name.to_lowercase());
            let at = format!("/tables/{t}/columns/{c}/type");
            (one(name, at), column.kind() == Some(Kind::Password))
        })
    });
    let widgets = manifest.pagebuilder_widgets.iter().enumerate();
    let fields = widgets.flat_map(|(w, widget)| {
        let lists =
            [("widget_menu", &widget.widget_menu), ("widget_item_menu", &widget.widget_item_menu)];
        let entries = lists.into_iter().flat_map(|(list, entries)| {
            entries.iter().enumerate().map(move |(place, entry)| (list, place, entry))
        });
        entries.map(move |(list, place, entry)| {
            let name = format!("{}: {list}.{}", widget.widget_template, entry.row);
            let at = format!("/pagebuilder_widgets/{w}/{list}/{place}/type");
            (one(name, at), entry.field_type == FieldType::Password)
        })
    });
    columns.chain(fields).collect()
}

/// The columns and fields that a plugin declares as passwords.
fn sealed(manifest: &Manifest) -> impl Iterator<Item = Declared> {
    sealable(manifest).into_iter().filter(|(_, is_sealed)| *is_sealed).map(|(one, _)| one)
}

/// The permission keys of a plugin's buttons.
pub(crate) fn permission_keys(manifest: &Manifest) -> impl Iterator<Item = String> {
    let buttons = manifest.buttons().into_iter();
    buttons.flat_map(|(_, button)| keys_of(&format!("{}_{}", manifest.id, button.button_id)))
}

/// Names, each with the plugin that owns it.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<(NameKind, String), String>);

impl Names {
    pub(crate) async fn load(from: impl Into<Reader<'_>>) -> Result<Self> {
        let rows: Vec<(String, String, String)> = from.into().all(sql::NAMES, args![]).await?;
        let kind = |text: &str| NameKind::ALL.into_iter().find(|kind| kind.name() == text);
        let entry =
            |(text, name, plugin): (String, String, String)| Some(((kind(&text)?, name), plugin));
        Ok(Self(rows.into_iter().filter_map(entry).collect()))
    }

    /// Makes a plugin the owner of the names that it declares and nobody owns.
    pub(crate) fn hold(&mut self, manifest: &Manifest) {
        for one in declared(manifest).into_iter().chain(sealed(manifest)) {
            self.0.entry((one.kind, one.name)).or_insert_with(|| manifest.id.clone());
        }
    }

    /// The plugin that owns a name.
    fn owner(&self, one: &Declared) -> Option<&str> {
        self.0.get(&(one.kind, one.name.clone())).map(String::as_str)
    }

    /// The plugin that conflicts over a name, after the name that it owns. A path also conflicts
    /// with another path if one request could match both. The owner of a path keeps it, and the
    /// addresses of its records: in older databases those had no owner.
    fn rival(&self, one: &Declared, id: &str) -> Option<(&str, &str)> {
        let owner_of = |path: &String| self.0.get(&(NameKind::Endpoint, path.clone()));
        if one.below.as_ref().and_then(owner_of).is_some_and(|owner| owner == id) {
            return None;
        }
        let meets = |kind: NameKind, shape: &str| {
            kind == NameKind::Endpoint && kind == one.kind && meet(shape, &one.name)
        };
        let owned = match self.0.get_key_value(&(one.kind, one.name.clone())) {
            Some(exact) => Some(exact).filter(|(_, owner)| *owner != id),
            None => {
                self.0.iter().find(|((kind, shape), owner)| *owner != id && meets(*kind, shape))
            }
        };
        owned.map(|((_, name), owner)| (name.as_str(), owner.as_str()))
    }

    /// Whether a plugin declares names without an owner.
    pub(crate) fn lack(&self, manifest: &Manifest) -> bool {
        let mut names = declared(manifest).into_iter().chain(sealed(manifest));
        names.any(|one| !self.0.contains_key(&(one.kind, one.name)))
    }

    /// The names that a plugin owns but a declaration lacks; without a declaration, all of them.
    /// Columns and fields that hold passwords are left out.
    pub(crate) fn undeclared(
        &self,
        plugin: &str,
        manifest: Option<&Manifest>,
    ) -> Vec<(NameKind, String)> {
        let declared: Vec<_> = manifest.into_iter().flat_map(declared).collect();
        let own = self.0.iter().filter(|(_, owner)| *owner == plugin).map(|(name, _)| name);
        own.filter(|(kind, _)| *kind != NameKind::Sealed)
            .filter(|(kind, name)| !declared.iter().any(|one| one.is(*kind, name)))
            .cloned()
            .collect()
    }

    /// The tables that plugins own, each with its owner.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&str, &str)> {
        let tables = self.0.iter().filter(|((kind, _), _)| *kind == NameKind::Table);
        tables.map(|((_, name), plugin)| (name.as_str(), plugin.as_str()))
    }

    /// The plugins that conflict with this one over names.
    pub(crate) fn rivals(&self, manifest: &Manifest) -> BTreeSet<&str> {
        let declared = declared(manifest);
        declared.iter().filter_map(|one| self.rival(one, &manifest.id)).map(|(_, id)| id).collect()
    }

    /// Problems of a plugin that declares names of others, adopts their tables, or would show text
    /// that was sealed as a password.
    pub(crate) fn clashes(&self, manifest: &Manifest) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        for one in declared(manifest) {
            let Some(rival) = self.rival(&one, &manifest.id) else { continue };
            // A button has two keys.
            if problems.iter().all(|problem| problem.pointer != one.at) {
                problems.push(Problem::new(one.at.clone(), one.clash(rival, &manifest.id)));
            }
        }
        for one in sources(manifest) {
            if let Some(owner) = self.owner(&one).filter(|owner| *owner != manifest.id) {
                let remedy = format!(
                    "the table {} belongs to {owner}, whose rights guard it: serve it there",
                    one.name
                );
                problems.push(Problem::new(one.at, remedy));
            }
        }
        let shown = sealable(manifest).into_iter().filter(|(_, is_sealed)| !is_sealed);
        for (one, _) in shown.filter(|(one, _)| self.owner(one).is_some()) {
            problems.push(Problem::new(one.at, exposure(&one.name)));
        }
        let whole = |table: &TableDeclaration| table.adopt && table.columns.is_empty();
        for (t, table) in manifest.tables.iter().enumerate().filter(|(_, table)| whole(table)) {
            let of_table = format!("{}.", source(table));
            let mut sealed = self.0.keys().filter(|(kind, _)| *kind == NameKind::Sealed);
            if let Some((_, name)) = sealed.find(|(_, name)| name.starts_with(&of_table)) {
                problems.push(Problem::new(format!("/tables/{t}/columns"), exposure(name)));
            }
        }
        problems
    }

    /// Problems of names that a plugin shares with its neighbours: names with an owner, and names
    /// without one.
    #[must_use]
    pub fn problems_of(&self, plugin: &LoadedPlugin, beside: &[LoadedPlugin]) -> Vec<Problem> {
        let Ok(manifest) = &plugin.outcome else { return Vec::new() };
        let others = beside.iter().filter(|other| other.id != plugin.id);
        let mut all: Vec<_> = others.filter_map(|other| other.outcome.as_ref().ok()).collect();
        all.push(manifest);
        all.sort_by(|one, other| one.id.cmp(&other.id));
        let mut mutual = self.mutual(&all, None);
        let mut names = self.clone();
        // The first plugin to come into service gets the names without an owner, except
        // permission keys.
        for other in order(all).into_iter().take_while(|other| other.id != manifest.id) {
            if !mutual.contains_key(&other.id) && names.clashes(other).is_empty() {
                names.hold(other);
            }
        }
        names.0.retain(|name, _| name.0 != NameKind::Permission || self.0.contains_key(name));
        let mut problems = names.clashes(manifest);
        problems.extend(mutual.remove(&manifest.id).unwrap_or_default());
        plugin.located(problems)
    }

    /// Problems that new plugins have only in combination, by plugin: their references, and their
    /// permission keys. `only` limits the keys to one plugin.
    pub(crate) fn mutual(
        &self,
        plugins: &[&Manifest],
        only: Option<&str>,
    ) -> BTreeMap<String, Vec<Problem>> {
        let in_question = plugins.iter().copied().filter(|one| only.is_none_or(|id| id == one.id));
        let mut problems = self.ambiguous(in_question);
        for (id, problem) in self.circle(plugins) {
            problems.entry(id).or_default().push(problem);
        }
        problems
    }

    /// Problems of tables without an owner that refer to each other in a circle: none can be
    /// created before the others.
    fn circle(&self, plugins: &[&Manifest]) -> Vec<(String, Problem)> {
        let is_new = |table: &&TableDeclaration| {
            !self.0.contains_key(&(NameKind::Table, table.name.clone()))
        };
        let tables = plugins.iter().flat_map(|one| &one.tables).filter(is_new);
        let tables: Vec<_> = tables.cloned().collect();
        let mut problems = Vec::new();
        for circle in in_order_of_reference(&tables).err().into_iter().flatten() {
            for manifest in plugins {
                if let Some(at) = manifest.reference_in(&circle) {
                    problems.push((manifest.id.clone(), Problem::new(at, in_a_circle(&circle))));
                }
            }
        }
        problems
    }

    /// Problems of permission keys without an owner that several of these plugins declare: a group
    /// that holds such a key could mean any of them.
    fn ambiguous<'m>(
        &self,
        plugins: impl Iterator<Item = &'m Manifest>,
    ) -> BTreeMap<String, Vec<Problem>> {
        let mut meant = BTreeMap::<String, Vec<(String, String)>>::new();
        for manifest in plugins {
            for one in declared(manifest) {
                if one.kind == NameKind::Permission && self.owner(&one).is_none() {
                    let at = (manifest.id.clone(), one.at);
                    meant.entry(one.name).or_default().push(at);
                }
            }
        }
        let mut problems = BTreeMap::<String, Vec<Problem>>::new();
        for (key, places) in meant.iter().filter(|(_, places)| places.len() > 1) {
            let ids: Vec<_> = places.iter().map(|(id, _)| id.as_str()).collect();
            for (id, at) in places {
                let remedy = format!(
                    "the permission key {key} could mean a button of {}, and none of them is in \
                     service: give one of the buttons another button_id, or decide with `cms \
                     plugins apply {id}`",
                    ids.join(" or of ")
                );
                let known = problems.entry(id.clone()).or_default();
                if known.iter().all(|problem| problem.pointer != *at) {
                    known.push(Problem::new(at.clone(), remedy));
                }
            }
        }
        problems
    }
}

impl Declared {
    fn is(&self, kind: NameKind, name: &str) -> bool {
        self.kind == kind && self.name == name
    }

    /// The message about a conflict with the name that another plugin owns.
    fn clash(&self, (owned, owner): (&str, &str), id: &str) -> String {
        let Self { kind, name, .. } = self;
        match kind {
            NameKind::Table => format!(
                "The content table {name} already belongs to {owner}, so {id} is refused: give it \
                 another name in {id} (and `source` for the name in the database)."
            ),
            NameKind::Event => format!(
                "The event {name} belongs to {owner} already, so {id} is refused: write \
                 \"{id}.{}\".",
                name.rsplit('.').next().unwrap_or_default()
            ),
            NameKind::Endpoint => {
                let path = if name.contains('{') { owned } else { name.as_str() };
                format!(
                    "{path} belongs to {owner} already, so {id} is refused: choose another \
                     endpoint."
                )
            }
            NameKind::Widget => format!(
                "The widget {name} belongs to {owner} already, so {id} is refused: choose another \
                 widget_template, such as {id}_{name}."
            ),
            NameKind::Permission => format!(
                "The permission key {name} belongs to a button of {owner} already, so {id} is \
                 refused: give the button of {id} another button_id."
            ),
            NameKind::Sealed => exposure(name),
        }
    }
}

/// Makes a plugin the owner of the names that it declares and nobody owns.
pub(crate) async fn claim(change: &mut Change, manifest: &Manifest) -> Result<()> {
    for one in declared(manifest).into_iter().chain(sealed(manifest)) {
        let args = args![one.kind.name(), one.name, &manifest.id, change.now()];
        change.run(sql::CLAIM, args).await?;
    }
    Ok(())
}

/// Releases names of a plugin. A table keeps its rows for the next plugin that declares it.
pub(crate) async fn release(
    change: &mut Change,
    plugin: &str,
    names: &[(NameKind, String)],
) -> Result<()> {
    for (kind, name) in names {
        change.run(sql::RELEASE, args![kind.name(), name, plugin]).await?;
        if *kind == NameKind::Table {
            change.run(sql::RELEASE_TABLE, args![name, plugin]).await?;
        }
    }
    change.announce(installed::TABLE);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(text: &str) -> Manifest {
        serde_json::from_str(text).expect("a manifest")
    }

    #[test]
    fn names_belong_to_whoever_has_them_first() {
        let shop = manifest(
            r#"{"id": "shop", "content_button": [{"button_id": "orders_list", "type": "delete"}],
                "webhook_events": [{"name": "shop.paid"}]}"#,
        );
        let orders = manifest(
            r#"{"id": "shop_orders", "content_button":
                [{"button_id": "list", "type": "delete"}, {"button_id": "open", "type": "delete"}],
                "webhook_events": [{"name": "shop.paid"}]}"#,
        );
        for (first, second) in [(&shop, &orders), (&orders, &shop)] {
            let mut names = Names::default();
            names.hold(first);
            assert!(names.clashes(first).is_empty() && !names.lack(first));
            names.hold(second);
            let problems = names.clashes(second);
            let told: Vec<_> = problems.iter().map(|one| one.remedy.as_str()).collect();
            assert_eq!(told.len(), 2, "one for the event, one for the button: {told:?}");
            for one in told {
                let owned = one.contains(&format!("{} already", first.id));
                assert!(owned && one.contains(&format!("so {} is refused", second.id)), "{one}");
            }
            assert_eq!(names.rivals(second), BTreeSet::from([first.id.as_str()]));
        }
        // Neither has an owner: a group that holds the key could mean either.
        let both = Names::default().ambiguous([&shop, &orders].into_iter());
        let ids: Vec<_> = both.keys().map(String::as_str).collect();
        assert_eq!(ids, ["shop", "shop_orders"]);
        assert_eq!(both["shop"][0].pointer, "/content_button/0/button_id");
    }

    /// The first plugin owns the path. Ids in tables that the service created are numbers.
    #[test]
    fn paths_that_one_request_could_mean_belong_to_one_plugin() {
        let tours = manifest(
            r#"{"id": "tours", "tables": [
                {"name": "tours", "columns": []},
                {"name": "wp_posts", "adopt": true}], "endpoints": [
                {"modelPath": "tours", "endpoint": "tour-list"},
                {"modelPath": "wp_posts", "endpoint": "wp"},
                {"modelPath": "pay", "endpoint": "pay/{id}"}]}"#,
        );
        for (endpoint, told) in [
            ("tour-list", Some("/api/tour_list belongs")),
            ("tour-list/1", Some("/api/tour_list/1 belongs")),
            ("tour-list/{id}", Some("/api/tour_list/{")),
            ("tour-list/authors", None),
            ("wp/authors", Some("/api/wp/authors belongs")),
            ("pay/7", Some("/api/pay/7 belongs")),
            ("tour-list/1/x", None),
            ("pay", None),
            ("tours/1", None),
        ] {
            let other = format!(
                r#"{{"id": "b", "endpoints": [{{"modelPath": "h", "endpoint": "{endpoint}"}}]}}"#
            );
            let other = manifest(&other);
            for (first, second) in [(&tours, &other), (&other, &tours)] {
                let mut names = Names::default();
                names.hold(first);
                assert!(names.clashes(first).is_empty() && !names.lack(first));
                let problems = names.clashes(second);
                assert_eq!(problems.is_empty(), told.is_none(), "{endpoint}: {problems:?}");
                let is_told = |one: &Problem| told.is_some_and(|told| one.remedy.contains(told));
                assert!(problems.iter().all(is_told), "{endpoint}: {problems:?}");
                // A plugin that was in service beside it stays.
                names.hold(second);
                assert!(names.clashes(first).is_empty(), "{endpoint}");
            }
        }
        // Addresses of records once had no owner: the plugin in service keeps them.
        for endpoint in ["tour-list/1", "tour-list/{id}", "wp/{id}"] {
            let other = format!(
                r#"{{"id": "b", "endpoints": [{{"modelPath": "h", "endpoint": "{endpoint}"}}]}}"#
            );
            let other = manifest(&other);
            let mut names = Names::default();
            names.hold(&tours);
            names.0.retain(|(_, name), _| !name.ends_with('}'));
            names.hold(&other);
            let problems = [names.clashes(&tours), names.clashes(&other)].concat();
            assert!(problems.is_empty(), "{endpoint}: {problems:?}");
        }
    }

    #[test]
    fn a_circle_of_new_tables_is_told_to_all_that_are_in_it() {
        let plugin = |id: &str, targets: &[&str]| {
            let column = |target: &&str| {
                format!(
                    r#"{{"name": "r_{target}", "type": "integer", "references": "{target}_t"}}"#
                )
            };
            let columns: Vec<_> = targets.iter().map(column).collect();
            let columns = columns.join(", ");
            manifest(&format!(
                r#"{{"id": "{id}", "tables": [{{"name": "{id}_t", "columns": [{columns}]}}]}}"#
            ))
        };
        let (a, b, c) = (plugin("a", &["b"]), plugin("b", &["a"]), plugin("c", &["a"]));
        let mut names = Names::default();
        let found = names.mutual(&[&a, &b, &c], Some("a"));
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "b"], "c only waits for it");
        assert_eq!(found["b"][0].pointer, "/tables/0/columns/0/references");
        assert!(found["b"][0].remedy.contains("a_t, b_t refer to each other in a circle"));
        // Two circles, connected by c.
        let (d, e) = (plugin("d", &["c", "e"]), plugin("e", &["d"]));
        let found = names.mutual(&[&a, &b, &c, &d, &e], None);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "b", "d", "e"]);
        assert_eq!((found["a"].len(), found["d"].len()), (1, 1), "{found:?}");
        assert!(found["a"][0].remedy.contains("a_t, b_t refer"), "{found:?}");
        assert!(found["d"][0].remedy.contains("d_t, e_t refer"), "{found:?}");
        assert_eq!(found["d"][0].pointer, "/tables/0/columns/1/references");
        // An existing table can be referred to.
        names.hold(&a);
        assert!(names.mutual(&[&a, &b, &c], None).is_empty());
    }

    #[test]
    fn what_is_declared_no_longer_stays_owned() {
        let before =
            manifest(r#"{"id": "a", "webhook_events": [{"name": "a.x"}, {"name": "a.y"}]}"#);
        let after = manifest(r#"{"id": "a", "webhook_events": [{"name": "a.x"}]}"#);
        let mut names = Names::default();
        names.hold(&before);
        assert_eq!(names.undeclared("a", Some(&after)), [(NameKind::Event, "a.y".to_owned())]);
        assert_eq!(names.undeclared("a", None).len(), 2);
        let other = manifest(r#"{"id": "b", "webhook_events": [{"name": "a.y"}]}"#);
        assert_eq!(names.clashes(&other).len(), 1);
    }
}
