//! Widgets: what a site knows of them, and what it shows.

mod registry;
