//! Replies that hold one thing, and those that hold a page.

use cms_core::funnels::FunnelSubmission;
use cms_http::wire::{Data, Meta, Noted, OneOrPage, Page, inbox::Inbox};

/// A reply that may hold one thing.
pub(crate) trait Single {
    /// The thing.
    type One;

    /// The thing, unless the reply holds a list.
    fn one(self) -> Option<Self::One>;
}

/// A reply that may hold a page of a list.
pub(crate) trait Paged {
    /// A row of the list.
    type Row;

    /// The page, unless the reply holds one thing.
    fn page(self) -> Option<Page<Self::Row>>;
}

impl<T> Single for Data<T> {
    type One = T;

    fn one(self) -> Option<T> {
        Some(self.data)
    }
}

impl<T> Single for Noted<T> {
    type One = T;

    fn one(self) -> Option<T> {
        Some(self.data)
    }
}

impl<T, One> Single for OneOrPage<T, One> {
    type One = One;

    fn one(self) -> Option<One> {
        match self {
            Self::One(one) => Some(one.data),
            Self::Page(_) => None,
        }
    }
}

impl<T> Paged for Page<T> {
    type Row = T;

    fn page(self) -> Option<Self> {
        Some(self)
    }
}

impl Paged for Inbox {
    type Row = FunnelSubmission;

    fn page(self) -> Option<Page<FunnelSubmission>> {
        let meta = Meta { limit: self.meta.limit, next: self.meta.next, total: None };
        Some(Page { data: self.data, meta })
    }
}

impl<T, One> Paged for OneOrPage<T, One> {
    type Row = T;

    fn page(self) -> Option<Page<T>> {
        match self {
            Self::Page(page) => Some(page),
            Self::One(_) => None,
        }
    }
}
