//! `/api/backend/actions/…`, a file for each endpoint.

/// Lists in a column change as one step.
mod checklist;
/// Scripts of plugins: files and handlers, their limits and their faults.
mod script;
