//! Plugins: what extends the service, declared as JSON or as a Rust value.

mod declaration;
mod load;

pub use declaration::{ColumnDeclaration, EventDeclaration, Plugin, TableDeclaration};
pub use load::{LoadedPlugin, load_folder};
