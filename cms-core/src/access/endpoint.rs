//! One address of an API: its methods, and who may call it.

/// Who may call an endpoint before rights are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody; a key that is sent is checked all the same.
    Public,
    /// Keys with a row for it, and users with the area's `_view` permission to read, with its
    /// `_edit` permission to change.
    Area(&'static str),
    /// Keys with a row for it, and users as their permissions for the table say.
    Table,
    /// Keys with a row for it, and every user who is logged in. The handler shows what they may
    /// see.
    User,
    /// Keys with a row for it, and administrators.
    Admin,
    /// Everybody who is about to log in; never a key.
    Login,
    /// Every user who is logged in; never a key.
    Session,
    /// Whoever can open the site's folder. Over the network there is nothing at this address.
    Operator,
    /// Everybody, outside of `/api`: no keys, no rights.
    Open,
}

impl Access {
    /// Whether an API key can reach it.
    #[must_use]
    pub fn is_for_keys(self) -> bool {
        !matches!(self, Self::Open | Self::Login | Self::Session | Self::Operator)
    }
}

/// What an API serves at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The canonical path, such as `/api/backend/item`.
    pub path: String,
    /// The value of the parameter `action` that selects it among others at the same path.
    pub action: Option<&'static str>,
    /// Some of `GET`, `POST`, `PATCH`, `DELETE`. HEAD counts as GET.
    pub methods: Vec<&'static str>,
    /// Who may call it.
    pub access: Access,
}
