//! `/api/backend/actions/…`, a file for each endpoint.

/// Lists in a column change as one step.
mod checklist;
