//! `/api/backend/formfunnel?action=`: funnels as their authors draw them.

/// A step as visitors see it.
mod preview;
/// Versions frozen, funnels taken off.
mod publish;
/// New ones, listed, shown, copied, deleted.
mod records;
/// Mail rules alone.
mod routing;
/// Saves: all or nothing, every problem at once.
mod save;
/// Funnels tried by their authors.
mod trial;
