//! Walks through a drawing without a visit, for the preview of a step, the trial of answers and
//! the trial of mail rules. Nothing is written.

use std::collections::HashMap;

use jiff::tz::TimeZone;

use super::moves::Walk;
use crate::{
    Millis,
    base::Base,
    conditions::{Condition, Surroundings},
    fields::Context,
    funnels::{definitions::Drawing, graph::Graph, header::Header, record::EmailRouting},
};

/// A drawing, with the surroundings that its conditions see now.
pub(super) struct Simulator {
    pub(super) header: Header,
    pub(super) graph: Graph,
    pub(super) now: Millis,
    /// The funnel's time zone.
    pub(super) zone: TimeZone,
    pub(super) rules: Vec<EmailRouting>,
    pub(super) base: Base,
    conditions: HashMap<i64, Condition>,
    around: Surroundings,
}

impl Simulator {
    pub(super) fn new(base: &Base, drawing: Drawing) -> Self {
        let Drawing { header, graph, rules } = drawing;
        let zone = header.settings.timezone.clone().unwrap_or_else(|| base.zone().clone());
        let now = base.clock().now();
        let around = Surroundings::at(now).zone(zone.clone()).language(&header.language_short);
        let conditions = graph.conditions();
        Self { header, graph, now, zone, rules, base: base.clone(), conditions, around }
    }

    pub(super) fn walk(&self) -> Walk<'_> {
        Walk { graph: &self.graph, conditions: &self.conditions, around: &self.around }
    }

    /// The context in which the fields of its steps are judged.
    pub(super) fn context(&self) -> Context {
        Context::at(self.now).zone(self.zone.clone()).language(&self.header.language_short)
    }
}
