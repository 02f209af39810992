//! Every fixed statement of the library is declared through [`statements!`], so that a test can
//! prepare them all.

/// Declares `const` statements and a list of them named `ALL`.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$doc])* pub(crate) const $name: &str = $sql;)*
        pub(crate) const ALL: &[&str] = &[$($name),*];
    };
}
pub(crate) use statements;
