//! Problems of a plugin's handlers: faults of their own, and conflicts with the manifest.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    MAX_ICON_BYTES, Manifest, Problem,
    guard::DeclaredGuard,
    handlers::{EventHandler, Handlers},
    widgets::BUILT_IN_WIDGETS,
};

impl Handlers {
    /// Handlers of events with an invalid name or pattern.
    pub(crate) fn faulty_events(&self) -> Vec<Problem> {
        let mut seen = BTreeSet::new();
        let mut problems = Vec::new();
        for EventHandler { pattern, name, .. } in &self.events {
            let is_known = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-');
            if !(1..=40).contains(&name.len()) || !name.chars().all(is_known) {
                let what = "the name of a handler of events is 1 to 40 of a-z, 0-9, _ and -";
                problems.push(Problem::whole(format!("{what}: {name:?} is not")));
            }
            if !seen.insert(name) {
                problems.push(Problem::whole(format!("two handlers of events are named {name}")));
            }
            if pattern.is_empty() || pattern.strip_suffix('*').unwrap_or(pattern).contains('*') {
                let what = "the events of a handler are a name, or the beginning of names and *";
                problems.push(Problem::whole(format!("{what}: {pattern:?} is neither")));
            }
        }
        problems
    }

    /// Guards with an invalid name or pattern.
    pub(crate) fn faulty_guards(&self) -> Vec<Problem> {
        DeclaredGuard::faults(&self.guards)
    }

    /// Names that two handlers of one kind share. Names of hooks count per table.
    pub(crate) fn repeated(&self) -> Vec<Problem> {
        let mut seen = BTreeSet::new();
        let hooks = self.hooks.iter().map(|one| ("hooks before writes", &one.table, &one.name));
        let reads = self.read_hooks.iter().map(|one| ("hooks on reads", &one.table, &one.name));
        let hooks = hooks.chain(reads).filter(|hook| !seen.insert(*hook));
        let hooks = hooks.map(|(kind, table, name)| (format!("{kind} of {table}"), name.as_str()));
        let others = self.repeated.iter().map(|(kind, name)| ((*kind).to_owned(), name.as_str()));
        let told = others.chain(hooks);
        told.map(|(kind, name)| Problem::whole(format!("two {kind} are named {name}"))).collect()
    }

    /// Handlers that a manifest names and that do not exist.
    pub(crate) fn missing(&self, manifest: &Manifest) -> Vec<Problem> {
        [
            self.missing_tasks(manifest),
            self.missing_endpoints(manifest),
            self.missing_classes(manifest),
        ]
        .concat()
    }

    /// Handlers that the manifest does not name, so that nothing would call them. Contents of
    /// widgets may belong to any plugin of the program.
    pub(crate) fn unnamed(&self, manifest: &Manifest, program: &[Manifest]) -> Vec<Problem> {
        let buttons = manifest.buttons();
        let widgets = &manifest.pagebuilder_widgets;
        let is_read = |name: &str| manifest.tables.iter().any(|table| table.name == name);
        let tasks = manifest.tasks.iter().filter_map(|task| task.handler.as_deref());
        let scripts = buttons.iter().filter_map(|(_, button)| button.script.as_deref());
        let classes = buttons.iter().filter_map(|(_, button)| button.values.as_ref());
        let classes = classes.filter_map(|values| values.class.as_deref());
        let endpoints = manifest.endpoints.iter().map(|endpoint| endpoint.model_path.as_str());
        let icons = widgets.iter().map(|widget| widget.widget_icon.as_str());
        let templates = program.iter().flat_map(|one| one.pagebuilder_widgets.iter());
        let templates = templates.map(|widget| widget.widget_template.as_str());
        [
            unnamed(&self.tasks, "no task of the manifest has the handler", tasks),
            unnamed(&self.scripts, "no button of the manifest has the script", scripts),
            unnamed(&self.contents, "no button of the manifest has the class", classes),
            unnamed(
                &self.endpoints,
                "no endpoint of the manifest has the handler",
                endpoints.filter(|name| !is_read(name)),
            ),
            unnamed(&self.icons, "no widget of the manifest has the icon", icons),
            unnamed(
                &self.widgets,
                "no widget of the program's plugins, and no built-in one, is named",
                templates.chain(BUILT_IN_WIDGETS),
            ),
        ]
        .concat()
    }

    fn missing_tasks(&self, manifest: &Manifest) -> Vec<Problem> {
        let named = manifest.tasks.iter().enumerate();
        let named = named.filter_map(|(i, task)| Some((i, task.handler.as_deref()?)));
        let missing = named.filter(|(_, name)| !self.tasks.contains_key(*name));
        missing
            .map(|(i, name)| {
                let remedy = format!(
                    "no handler is named {name:?}: only a plugin written in Rust has handlers, \
                     others name a script"
                );
                Problem::new(format!("/tasks/{i}/handler"), remedy)
            })
            .collect()
    }

    fn missing_endpoints(&self, manifest: &Manifest) -> Vec<Problem> {
        let is_table = |name: &str| manifest.tables.iter().any(|table| table.name == name);
        let named = manifest.endpoints.iter().enumerate();
        let missing = named.filter(|(_, endpoint)| {
            let name = &endpoint.model_path;
            !is_table(name) && !self.endpoints.contains_key(name)
        });
        missing
            .map(|(i, endpoint)| {
                let remedy = format!(
                    "{:?} is no table of this plugin: only a plugin written in Rust has handlers",
                    endpoint.model_path
                );
                Problem::new(format!("/endpoints/{i}/modelPath"), remedy)
            })
            .collect()
    }

    /// Icons of widgets that were not added. A plugin without code has its icons as files.
    pub(crate) fn missing_icons(&self, manifest: &Manifest) -> Vec<Problem> {
        let named = manifest.pagebuilder_widgets.iter().enumerate();
        let fits = |icon: &[u8]| icon.len() as u64 <= MAX_ICON_BYTES;
        let missing = named.filter(|(_, widget)| {
            !self.icons.get(&widget.widget_icon).is_some_and(|icon| fits(icon))
        });
        missing
            .map(|(i, widget)| {
                let remedy = format!(
                    "no icon is named {:?}: add one of at most 256 KiB with Handlers::icon",
                    widget.widget_icon
                );
                Problem::new(format!("/pagebuilder_widgets/{i}/widget_icon"), remedy)
            })
            .collect()
    }

    fn missing_classes(&self, manifest: &Manifest) -> Vec<Problem> {
        let named = manifest.buttons().into_iter();
        let named =
            named.filter_map(|(at, button)| Some((at, button.values.as_ref()?.class.clone()?)));
        let missing = named.filter(|(_, class)| !self.contents.contains_key(class));
        missing
            .map(|(at, class)| {
                let remedy = format!(
                    "there is no class {class:?}: only a plugin written in Rust has custom content"
                );
                Problem::new(format!("{at}/values/class"), remedy)
            })
            .collect()
    }
}

/// The handlers of one kind whose name is not among these.
fn unnamed<'n, T>(
    all: &BTreeMap<String, T>,
    what: &str,
    named: impl Iterator<Item = &'n str>,
) -> Vec<Problem> {
    let named: BTreeSet<&str> = named.collect();
    let unnamed = all.keys().filter(|name| !named.contains(name.as_str()));
    unnamed.map(|name| Problem::whole(format!("{what} {name:?}"))).collect()
}
