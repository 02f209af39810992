//! Every action of the interface has its command line, and every verb of `cms` its action.

use std::collections::BTreeSet;

use clap::{CommandFactory, Parser};

use crate::{args::Cli, commands::tui::paths};

/// Verbs without an action: they start, print or check something outside a session, or the
/// interface does their work by itself.
const NEED_NONE: &[&str] = &[
    "init",
    "serve",
    "items import",
    "items export",
    "items list",
    "tables list",
    "origins activate",
    "origins check",
    "plugins apply",
    "plugins check",
    "plugins remove",
    "plugins new",
    "plugins schema",
    "users enable",
    "users show",
    "users 2fa-status",
    "groups show",
    "keys enable",
    "webhooks listen",
    "webhooks verify",
    "auth audit",
    "whoami",
    "context add",
    "context list",
    "context use",
    "context show",
    "context remove",
    "cache on",
    "cache exclude list",
    "cache exclude add",
    "cache exclude remove",
    "cache inspect",
    "limits list",
    "config get",
    "config path",
    "config validate",
    "migrate up",
    "tui",
    "version",
    "completions",
    "exit-codes",
];

fn lines() -> Vec<(&'static str, &'static str)> {
    let actions = cms_tui::actions().into_iter();
    actions.map(|[name, _, _, cli]| (name, cli)).filter(|(_, cli)| !cli.is_empty()).collect()
}

/// The line with numbers for what stands for values.
fn filled(line: &str) -> Vec<String> {
    let word = |word: &str| match word {
        "EVENT" => "item.pages.updated".to_owned(),
        "RIGHT" => "GET /api/pages".to_owned(),
        "PATH" => "/api/pages".to_owned(),
        "URL" => "https://example.org".to_owned(),
        "{network}" => "203.0.113.7".to_owned(),
        "{owner}" => "key:7".to_owned(),
        word if word.starts_with('{') => "7".to_owned(),
        "N" => "3".to_owned(),
        word => word.to_owned(),
    };
    line.split(' ').map(word).collect()
}

#[test]
fn every_command_line_of_an_action_is_one() {
    for (name, line) in lines() {
        let words = ["cms".to_owned()].into_iter().chain(filled(line));
        if let Err(error) = Cli::try_parse_from(words) {
            panic!("{name}: cms {line}\n{error}");
        }
    }
}

/// The words of a line that name the verb.
fn leaves(command: &clap::Command, path: &str, into: &mut BTreeSet<String>) {
    let mut below = command.get_subcommands().filter(|one| one.get_name() != "help").peekable();
    if below.peek().is_none() {
        into.insert(path.trim().to_owned());
    }
    for one in below {
        leaves(one, &format!("{path} {}", one.get_name()), into);
    }
}

#[test]
fn every_verb_has_an_action_or_needs_none() {
    let (mut verbs, lines) = (BTreeSet::new(), lines());
    leaves(&Cli::command(), "", &mut verbs);
    let has_action = |verb: &str| {
        lines.iter().any(|(_, line)| *line == verb || line.starts_with(&format!("{verb} ")))
    };
    let gone: Vec<_> = NEED_NONE.iter().filter(|verb| !verbs.contains(**verb)).collect();
    assert!(gone.is_empty(), "no verbs any more: {gone:?}");
    let missing: Vec<_> = verbs
        .iter()
        .filter(|verb| !has_action(verb) && !NEED_NONE.contains(&verb.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "no action in cms-tui/src/actions/table.rs, and not on the list: {missing:?}"
    );
}

#[test]
fn a_site_has_a_file_name_of_its_own() {
    if let Some(path) = paths::state("https://cms.example.org:8443 (context prod)") {
        assert!(path.ends_with("https___cms_example_org_8443__context_prod_.json"), "{path:?}");
    }
}
