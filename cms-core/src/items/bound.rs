//! Where a page of records ends that would be too large.

/// What bounds the bytes of a page.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    /// Records that are larger than their share of the page are left out: the others fit, however
    /// many they are. This costs one comparison a record.
    Share(u64),
    /// Records fit up to the one that passes the bound; the first always does. The engine adds
    /// their sizes up, which costs more.
    Sum(u64),
}

impl Bound {
    /// The condition under which the record `r` is part of the page, and what it is read from.
    pub(super) fn applied(self, records: &str, limit: u32) -> (String, String) {
        match self {
            Self::Share(bytes) => {
                let share = bytes / (u64::from(limit) + 1);
                (format!("octet_length(r.j) <= {share}"), format!("({records}) r"))
            }
            Self::Sum(bytes) => (
                format!("(r.upto <= {bytes} or r.upto = octet_length(r.j))"),
                format!(
                    "(select r.j, r.k, sum(octet_length(r.j)) over (rows unbounded preceding) as \
                     upto from ({records}) r) r"
                ),
            ),
        }
    }
}
