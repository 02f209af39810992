//! `/api/backend/auth/…`, a file for each endpoint.

mod attempts;
mod login;
mod own;
mod verify;
