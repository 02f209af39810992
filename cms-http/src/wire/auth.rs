//! `/api/backend/auth/...` and the wrong logins it counts

use cms_core::{
    Secret,
    access::HeldPermissions,
    accounts::{Attempts, MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARS, Membership, Session},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Body, Data, Done, NoBody, Page, operations,
    parameters::{Listing, NoQuery},
    users::RecoveryCodes,
};

operations! {
    /// First step of a login: name and password.
    Login: NoQuery, Credentials => Data<Pending>;
    /// Second step: a one-time code or a recovery code.
    Verify: NoQuery, Verification => Data<LoggedIn>;
    /// Ends the session.
    Logout: NoQuery, NoBody => Done;
    /// Who the caller is.
    WhoAmI: NoQuery, NoBody => Data<Me>;
    /// Gives the caller a new password and ends all other sessions of that user.
    ChangePassword: NoQuery, PasswordChange => Done;
    /// Makes new recovery codes for the caller and shows them, once.
    NewRecoveryCodes: NoQuery, OwnProof => Data<RecoveryCodes>;
    /// The open sessions of the caller's user.
    OwnSessions: Listing, NoBody => Page<OwnSession>;
    /// Ends one session of the caller's user, or all others.
    EndSessions: WhichOwn, NoBody => Done;
    /// Networks with wrong logins in the last hour.
    ListAttempts: Listing, NoBody => Page<Attempts>;
    /// Lets a network try again.
    ClearAttempts: Whose, NoBody => Done;
}

impl Body for Credentials {}
impl Body for Verification {}
impl Body for PasswordChange {}
impl Body for OwnProof {}

/// Name and password.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "username": "ana",
    "password": "correct horse battery staple",
}]))]
pub struct Credentials {
    /// The name.
    pub username: String,
    /// The password.
    #[serde(serialize_with = "Secret::send")]
    pub password: Secret,
}

/// A login that waits for its second step.
#[derive(Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Pending {
    /// `totp_required`, or `totp_setup_required` at the first login.
    pub status: String,
    /// To be sent with the second step.
    pub pending_token: String,
    /// Seconds that it is good for.
    pub expires_in: i64,
    /// What the authenticator needs, at the first login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Setup>,
}

/// What an authenticator needs.
#[derive(Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Setup {
    /// The secret, in base32.
    pub secret: String,
    /// The same with its parameters.
    pub otpauth_url: String,
    /// The same as a QR code.
    pub qr_svg: String,
}

/// The second step: either code.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"pending_token": "V9Xw1sFj5lGm", "code": "287082"}], "oneOf" = [
    {"required": ["code"], "properties": {
        "code": {"type": "string"}, "recovery_code": {"type": "null"},
    }},
    {"required": ["recovery_code"], "properties": {
        "recovery_code": {"type": "string"}, "code": {"type": "null"},
    }},
]))]
pub struct Verification {
    /// From the first step.
    #[serde(serialize_with = "Secret::send")]
    pub pending_token: Secret,
    /// Six digits of the authenticator.
    #[serde(default, serialize_with = "Secret::send_maybe")]
    pub code: Option<Secret>,
    /// One of the recovery codes.
    #[serde(default, serialize_with = "Secret::send_maybe")]
    pub recovery_code: Option<Secret>,
}

/// A session that has begun.
#[derive(Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct LoggedIn {
    /// For `Authorization: Bearer`.
    pub token: String,
    /// When it ends at the latest.
    pub expires_at: String,
    /// Whose it is.
    pub user: Named,
    /// Shown once, at the first login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_codes: Option<Vec<String>>,
}

/// A user by id and name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Named {
    /// The id.
    pub id: i64,
    /// The name.
    pub username: String,
}

/// Who the caller is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Me {
    /// The user's id; null for the local operator.
    pub id: Option<i64>,
    /// The user's name.
    pub username: String,
    /// The groups.
    pub groups: Vec<Membership>,
    /// What all groups together allow.
    pub rights: HeldPermissions,
    /// Recovery codes that are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_codes: Option<i64>,
    /// When the session ends at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// A new password of one's own.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "current": "correct horse battery staple",
    "new": "three men in a boat",
}]))]
pub struct PasswordChange {
    /// The present password.
    #[serde(serialize_with = "Secret::send")]
    pub current: Secret,
    /// 8 characters or more, 1,024 bytes at most, without the user's name.
    #[serde(serialize_with = "Secret::send")]
    #[schemars(length(min = MIN_PASSWORD_CHARS, max = MAX_PASSWORD_BYTES))]
    pub new: Secret,
}

/// Who the caller is, once more: either the password or a code.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"code": "287082"}], "oneOf" = [
    {"required": ["password"], "properties": {
        "password": {"type": "string"}, "code": {"type": "null"},
    }},
    {"required": ["code"], "properties": {
        "code": {"type": "string"}, "password": {"type": "null"},
    }},
]))]
pub struct OwnProof {
    /// The password.
    #[serde(default, serialize_with = "Secret::send_maybe")]
    pub password: Option<Secret>,
    /// Six digits of the authenticator.
    #[serde(default, serialize_with = "Secret::send_maybe")]
    pub code: Option<Secret>,
}

/// An open session of one's own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct OwnSession {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// Whether this call came by it.
    pub current: bool,
}

/// Which sessions of one's own.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichOwn {
    /// One session; without it all but the one that the call comes by.
    pub session: Option<i64>,
}

/// Whose wrong logins to forget.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AttemptsOf")]
pub struct Whose {
    /// An IP address.
    #[schemars(example = &"203.0.113.7")]
    #[schemars(extend("anyOf" = [{"format": "ipv4"}, {"format": "ipv6"}]))]
    pub address: String,
}
