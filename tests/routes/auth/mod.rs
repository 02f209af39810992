//! `/api/backend/auth/…`, a file for each endpoint.

/// Who is locked out after wrong logins (`/api/backend/loginattempts`).
mod attempts;
/// Name and password.
mod login;
/// Codes, recovery codes, and what is used up.
mod verify;
