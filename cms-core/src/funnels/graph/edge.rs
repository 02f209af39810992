//! An edge and its branch.

/// The way from a node to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) id: i64,
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) branch: Branch,
    pub(crate) sort_order: i64,
    /// Its place in the list that it was read from.
    pub(super) listed: usize,
}

impl Edge {
    /// Its place in the list that it was read from.
    pub(in crate::funnels) fn listed(&self) -> usize {
        self.listed
    }

    /// Its path in that list.
    pub(in crate::funnels) fn path(&self) -> String {
        format!("edges[{}]", self.listed)
    }
}

/// When an edge is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Branch {
    /// When no condition decides, or there is no edge for what it says.
    Default,
    /// When the node's condition holds.
    True,
    /// When it does not.
    False,
}

impl Branch {
    pub(crate) const ALL: [Self; 3] = [Self::Default, Self::True, Self::False];

    /// The value of `branch_label`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::True => "true",
            Self::False => "false",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|branch| branch.as_str() == name)
    }
}
