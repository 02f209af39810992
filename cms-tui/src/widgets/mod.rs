//! Parts of screens that know nothing of nouns: state, what keys do to it, how it is drawn.

pub(crate) mod ask;
pub(crate) mod draw;
pub(crate) mod field;
pub(crate) mod form;
pub(crate) mod input;
pub(crate) mod list;
pub(crate) mod pager;
pub(crate) mod qr;
pub(crate) mod shape;
pub(crate) mod viewer;
pub(crate) mod window;
