//! Cases and laws of conditions.

mod cases;
mod laws;
