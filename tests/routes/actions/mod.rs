//! `/api/backend/actions/…`, a file for each endpoint.

mod checklist;
mod script;
