//! Limits the bytes of a page of records.

/// How the bytes of a page are bounded.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    /// Leaves out records that are larger than their share of the page: the others fit, whatever
    /// their number. Costs one comparison for each record.
    Share(u64),
    /// Ends the page before the record that exceeds the bound; the first record always fits. Costs
    /// more, because the engine adds up the sizes.
    Sum(u64),
}

impl Bound {
    /// The condition under which the record `r` is part of the page, and the source that `r`
    /// is read from.
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
