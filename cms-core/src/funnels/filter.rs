//! Which funnels a list has.

/// Which funnels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunnelFilter {
    /// Only those in this language, whatever the case of its letters.
    pub language: Option<String>,
    /// With them those in no language.
    pub or_none: bool,
    /// Only `draft`, `published` or `archived` ones.
    pub status: Option<String>,
}
