//! Every action of the interface has a command line, and every verb of `cms` has an action.

use std::collections::BTreeSet;

use clap::{CommandFactory, Parser};

use crate::args::Cli;

/// Verbs without an action: they start, print or check something outside of a session, or
/// work on files.
const VERBS_ALONE: &str = "api, auth passwd, auth recovery-codes, auth sessions, completions, \
    config get, config path, config validate, context add, context list, context remove, \
    context show, context use, cache inspect, db backup, db check, db restore, db shrink, db copy, \
    exit-codes, forms create, forms delete, forms edit, forms export, funnels apply, funnels edit, \
    funnels explain, funnels export, funnels field-types, funnels import, funnels preview, \
    funnels routing list, funnels routing set, funnels test, funnels try, init, items export, \
    items import, mail sink, migrate up, origins check, plugins apply, plugins check, plugins new, \
    plugins release, plugins remove, plugins schema, redirects create, redirects delete, \
    redirects edit, redirects list, redirects show, serve, status, theme env, theme safelist, \
    types typescript, update apply, update check, update download, update rollback, update serve, \
    version, webhooks listen, webhooks verify, whoami";

/// Actions without a command line: they only move within the interface.
const ACTIONS_ALONE: &str = "analytics.day_after analytics.day_before app.back app.command \
    app.copy app.copy_id app.help app.last app.next app.palette app.previous app.quit app.redo \
    app.reload delivery.search delivery.search_before delivery.search_next delivery.tab \
    delivery.tab_back delivery.wrap go.home go.system inbox.next_state inbox.state_before \
    list.columns list.down list.filter list.first list.half_down list.half_up list.last \
    list.mark list.mark_all list.open list.pane list.range list.reverse list.sort list.up \
    list.zoom page.fold page.left page.right records.language rights.add rights.left \
    rights.right rights.toggle";

fn lines() -> Vec<(&'static str, &'static str)> {
    let of = |(name, lines): (&'static str, Vec<&'static str>)| {
        lines.into_iter().map(move |line| (name, line))
    };
    cms_tui::actions().into_iter().flat_map(of).collect()
}

/// A command line with numbers in place of its placeholders.
fn filled(line: &str) -> Vec<String> {
    let word = |word: &str| match word {
        "EVENT" => "item.pages.updated".to_owned(),
        "RIGHT" => "GET /api/pages".to_owned(),
        "PATH" => "/api/pages".to_owned(),
        "URL" => "https://example.org".to_owned(),
        "ADDRESS" => "ana@example.org".to_owned(),
        "{network}" => "203.0.113.7".to_owned(),
        "{owner}" => "key:7".to_owned(),
        "{kind}" => "widget".to_owned(),
        word if word.starts_with('{') => "7".to_owned(),
        "N" => "3".to_owned(),
        "DAY" => "2026-11-01".to_owned(),
        word => word.to_owned(),
    };
    line.split(' ').map(word).collect()
}

/// The verb that a line runs, as clap parses it.
fn verb(name: &str, line: &str) -> String {
    let words = ["cms".to_owned()].into_iter().chain(filled(line));
    if let Err(error) = Cli::try_parse_from(words.clone()) {
        panic!("{name}: cms {line}\n{error}");
    }
    let matches = Cli::command().try_get_matches_from(words).expect("it was read before");
    let (mut at, mut path) = (&matches, Vec::new());
    while let Some((word, below)) = at.subcommand() {
        path.push(word);
        at = below;
    }
    path.join(" ")
}

/// The words that name each verb.
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
fn every_verb_has_an_action_or_stands_alone() {
    let mut verbs = BTreeSet::new();
    leaves(&Cli::command(), "", &mut verbs);
    let run: BTreeSet<String> = lines().into_iter().map(|(name, line)| verb(name, line)).collect();
    let without: Vec<_> = verbs.difference(&run).map(String::as_str).collect();
    let alone: Vec<_> = BTreeSet::from_iter(VERBS_ALONE.split(", ")).into_iter().collect();
    assert_eq!(without, alone, "left: verbs without an action in cms-tui/src/actions/table.rs");
    assert_eq!(run.difference(&verbs).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn every_action_has_a_line_or_stands_alone() {
    let without = cms_tui::actions().into_iter().filter(|(_, lines)| lines.is_empty());
    let without: BTreeSet<_> = without.map(|(name, _)| name).collect();
    assert_eq!(without, BTreeSet::from_iter(ACTIONS_ALONE.split(' ')));
}

#[test]
fn a_filter_is_for_a_screen() {
    let read = |line: &str| Cli::try_parse_from(line.split(' ')).is_ok();
    assert!(read("cms tui inbox --where assigned:me"));
    assert!(!read("cms tui --where assigned:me"));
}

#[test]
fn a_site_has_a_file_name_of_its_own() {
    if let Some(path) = super::state_file("https://cms.example.org:8443 (context prod)") {
        assert!(path.ends_with("https___cms_example_org_8443__context_prod_.json"), "{path:?}");
    }
}
