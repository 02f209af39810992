//! Pages as editors and visitors have them at the same time.

/// What an edit and a read cost, whatever the size of the page.
mod cost;
/// Changes that end between two steps, processes that are killed.
mod crash;
/// A plugin that is applied while editors edit.
mod plugins;
/// Visitors read while editors publish.
mod readers;
/// A page against a model of it: any edits in any order.
mod walks;
