//! `/api/backend/formfunnel?action=`: funnels as their authors draw them.

/// A step as visitors see it, funnels tried by their authors.
mod preview;
/// Versions frozen, funnels taken off.
mod publish;
/// New ones, listed, shown, copied, deleted.
mod records;
/// Saves: all or nothing, every problem at once; mail rules alone.
mod save;
