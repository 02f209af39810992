//! Widgets: what a site knows of them, and what it shows.

mod attacks;
mod content;
mod elements;
mod golden;
mod registry;
