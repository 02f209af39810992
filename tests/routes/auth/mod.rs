//! `/api/backend/auth/…`, a file for each endpoint.

/// Who is locked out after wrong logins (`/api/backend/loginattempts`).
mod attempts;
/// Name and password.
mod login;
/// What users change by themselves.
mod own;
/// Codes, recovery codes, and what is used up.
mod verify;
