//! The words that screens are written with.

pub(super) use cms_http::wire::parameters::{Limit, Listing, NoQuery, OneOrList};
pub(super) use ratatui::{
    Frame,
    layout::{Constraint, Layout, Position, Rect},
    text::{Line, Span},
};
pub(super) use serde_json::{Map, Value as Json, json};

pub(super) use super::{
    Clicked, Look, Screen,
    acts::{self, by_id, id, name},
    browser::{ListQuery, Spec, listed, sorted},
    cells::{
        Cell, Column, Lines, active, age, clock, column, items, loading, members, others,
        paragraph, plain, plain_text, reason, texts, yes,
    },
    filter_words::{Word, parsed, pieces, since_at, unknown},
};
pub(super) use crate::{
    actions::Scene,
    calls::{Fault, Reply},
    moment,
    step::{
        Act, BulkCall, Calling, Checked, Confirm, Form, IntoStep, Menu, Place, Step, Undo, get,
        send, send_json,
    },
    text::{count, cut, fitted, number, safe, width, wrapped},
    theme::Role,
    widgets::{
        draw::{framed, lines, text_in, wrong},
        field::Field,
        form::Values,
        list::{Hit, List},
        viewer::{Viewer, json_lines, laid_out},
        window::{PAGE, Row},
    },
};
