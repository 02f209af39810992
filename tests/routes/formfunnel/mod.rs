//! `/api/backend/formfunnel?action=`: funnels as their authors draw them.

mod preview;
mod publish;
mod records;
mod save;
