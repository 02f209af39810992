//! An author's trial of a funnel: which way answers take, and who would get mails. Nothing is
//! stored. Values of names such as `_bucket` can be given beside the answers.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    mails::{compose, consider, date, resume_link, submission_link},
    moves::Walk,
    start::arriving,
    template::Values,
    visit::is_file,
};
use crate::{
    Error, FieldError, Millis, Result,
    base::Base,
    conditions::{AROUND, Condition, Surroundings, Traced},
    fields::{Context, Field, is_blank},
    funnels::{
        Funnels, WhichFunnel,
        definitions::Drawing,
        graph::{Graph, Node, Step, is_asked},
        header::Header,
        record::EmailRouting,
        rules::{BuiltinToken, Rule, Trigger},
    },
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

/// The way that answers take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FunnelTrial")]
#[non_exhaustive]
pub struct Tried {
    /// The nodes on the way, condition nodes included.
    pub path: Vec<TriedNode>,
    /// Whether the way comes to an end.
    pub completes: bool,
    /// Names of answers that no step on the way takes.
    pub ignored: Vec<String>,
}

/// A node on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FunnelTrialNode")]
#[non_exhaustive]
pub struct TriedNode {
    /// Its id.
    pub id: i64,
    /// `step`, `condition` or `end`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Why the way stops here: answers that are missing or refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<TriedFault>,
    /// Which branch leads on; none where no edge does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Why this branch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<Traced>,
}

/// An answer that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FunnelTrialFault")]
#[non_exhaustive]
pub struct TriedFault {
    /// The field.
    pub field: String,
    /// Why.
    pub code: String,
    /// How to mend it.
    pub message: String,
}

/// Who would be written to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RoutingTrial")]
#[non_exhaustive]
pub struct TriedRouting {
    /// The active rules for the event, in the order in which they are tried.
    pub rules: Vec<TriedRule>,
    /// The rule that writes: the first that matches.
    pub chosen: Option<i64>,
    /// Its mails.
    pub mails: Vec<TriedMail>,
    /// Why some recipients get none.
    pub skipped: Vec<String>,
    /// Answers on the way that are missing or refused. No visitor completes the visit with these;
    /// the rules are tried without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<TriedFault>,
}

/// A mail rule that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RoutingTrialRule")]
#[non_exhaustive]
pub struct TriedRule {
    /// Its id.
    pub id: i64,
    /// Whether its condition holds; a rule without one always matches.
    pub matches: bool,
    /// Why.
    pub trace: Vec<Traced>,
}

/// A mail that would be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RoutingTrialMail")]
#[non_exhaustive]
pub struct TriedMail {
    /// `notice`, or `reply` for the confirmation.
    pub kind: String,
    /// Who gets it.
    pub to: String,
    /// Who gets the answer.
    pub reply_to: Option<String>,
    /// Its subject.
    pub subject: String,
    /// Its plain part.
    pub text: String,
    /// Its HTML part.
    pub html: Option<String>,
}

impl Funnels {
    /// Walks a funnel as it is drawn now, with all answers given at once.
    pub async fn try_answers(
        &self,
        which: &WhichFunnel,
        answers: &Map<String, Json>,
    ) -> Result<Tried> {
        Ok(self.simulator(which).await?.walk_through(answers))
    }

    /// Returns which mail rule would send which mails to whom for these answers.
    ///
    /// # Errors
    /// `not_found`; `validation_failed` for an unknown trigger.
    pub async fn try_routing(
        &self,
        which: &WhichFunnel,
        trigger: &str,
        answers: &Map<String, Json>,
    ) -> Result<TriedRouting> {
        let Some(trigger) = Trigger::named(trigger) else {
            let message = "completed or abandoned is expected";
            return Err(Error::invalid_field("trigger", "format", message));
        };
        Ok(self.simulator(which).await?.route(trigger, answers))
    }

    async fn simulator(&self, which: &WhichFunnel) -> Result<Simulator> {
        Ok(Simulator::new(&self.0.base, self.drawing(which).await?))
    }
}

/// A way that was walked.
struct Walked {
    path: Vec<TriedNode>,
    /// The ids of the nodes that were presented, like the path of a visit.
    presented: Vec<i64>,
    /// The good answers, as a visit stores them.
    answers: Map<String, Json>,
    completes: bool,
}

/// What a walk does at answers that are missing or refused.
#[derive(Clone, Copy, PartialEq)]
enum AtFaults {
    Stop,
    GoOn,
}

impl Simulator {
    /// The answers that decide where a node leads: the good ones of the way to the node. If the
    /// answers lead elsewhere, all good ones. Also what is wrong with the answers to the node.
    pub(super) fn answers_at(
        &self,
        node: &Node,
        given: &Map<String, Json>,
    ) -> (Map<String, Json>, Vec<TriedFault>) {
        let judge = |node: &Node| node.step().map(|step| self.judge(step, given));
        let (good, faults) = judge(node).unwrap_or_default();
        let mut walked = self.walked(given, AtFaults::GoOn);
        let way: Vec<i64> = walked.path.iter().map(|one| one.id).collect();
        if let Some(at) = way.iter().position(|id| *id == node.id) {
            walked.presented = way[..=at].to_vec();
            return (self.counting(&walked, given), faults);
        }
        let nodes = self.graph.nodes();
        walked.presented = nodes.iter().map(|one| one.id).collect();
        walked.answers.extend(nodes.iter().filter_map(judge).flat_map(|(good, _)| good));
        walked.answers.extend(good);
        let mut counting = self.counting(&walked, given);
        self.graph.compute(&[node.id], &mut counting);
        (counting, faults)
    }

    fn walk_through(&self, answers: &Map<String, Json>) -> Tried {
        let Walked { path, presented, completes, .. } = self.walked(answers, AtFaults::Stop);
        let nodes = presented.iter().filter_map(|id| self.graph.node(*id));
        let fields = nodes.flat_map(|node| node.fields());
        let given = fields.filter(|field| field.type_name() != "calculated");
        let used: Vec<String> = given.flat_map(Field::names).collect();
        let is_ignored = |name: &&String| !used.contains(name) && !is_around(name);
        let ignored = answers.keys().filter(is_ignored).cloned().collect();
        Tried { path, completes, ignored }
    }

    fn walked(&self, answers: &Map<String, Json>, at_faults: AtFaults) -> Walked {
        let arrived = arriving(&self.graph, answers, None, &self.context());
        let (path, presented) = (Vec::new(), Vec::new());
        let mut walked = Walked { path, presented, answers: arrived, completes: false };
        let (walk, mut at) = (self.walk(), self.graph.start());
        // A drawing may have cycles.
        for _ in self.graph.nodes() {
            let Some(node) = at else { break };
            walked.presented.push(node.id);
            if node.end().is_some() {
                walked.completes = true;
                walked.path.push(TriedNode::of(node));
                break;
            }
            let judged = node.step().map(|step| self.judge(step, answers));
            let (good, mut errors) = judged.unwrap_or_default();
            if !errors.is_empty() && at_faults == AtFaults::Stop {
                walked.path.push(TriedNode { errors, ..TriedNode::of(node) });
                break;
            }
            walked.answers.extend(good);
            let way = walk.traced(node.id, &self.counting(&walked, answers));
            walked.path.extend(way.decisions.into_iter().map(|decision| TriedNode {
                errors: std::mem::take(&mut errors),
                branch: decision.edge.map(|edge| edge.branch.as_str().to_owned()),
                trace: decision.rules,
                ..TriedNode::of(decision.node)
            }));
            at = way.to;
            walked.completes = at.is_none();
        }
        walked
    }

    /// The good answers to a step, and what is wrong with the others.
    fn judge(
        &self,
        step: &Step,
        given: &Map<String, Json>,
    ) -> (Map<String, Json>, Vec<TriedFault>) {
        let (mut good, mut faults, context) = (Map::new(), Vec::new(), self.context());
        for field in step.fields.iter().filter(|field| is_asked(field)) {
            let named = given.get(field.id()).filter(|named| !is_blank(named));
            // A trial sends no files, so any value counts as a file.
            if let Some(file) = named.filter(|_| is_file(field.type_name())) {
                good.insert(field.id().to_owned(), file.clone());
                continue;
            }
            match field.take(given, &context) {
                Ok(taken) => good.extend(taken),
                Err(fault) => faults.push(TriedFault::from(fault)),
            }
        }
        (good, faults)
    }

    /// The answers that count, with the surroundings that `given` names.
    fn counting(&self, walked: &Walked, given: &Map<String, Json>) -> Map<String, Json> {
        let mut counting = self.walk().effective(&walked.presented, &walked.answers);
        let around = given.iter().filter(|(name, _)| is_around(name));
        counting.extend(around.map(|(name, value)| (name.clone(), value.clone())));
        counting
    }

    fn route(&self, trigger: Trigger, answers: &Map<String, Json>) -> TriedRouting {
        let walk = self.walk();
        let walked = self.walked(answers, AtFaults::GoOn);
        let counting = self.counting(&walked, answers);
        let rules: Vec<Rule> = self.rules.iter().cloned().map(Rule::from).collect();
        let considered = consider(&rules, trigger, &counting, walk.around);
        let chosen = considered.iter().find(|(_, (matches, _))| *matches).map(|(rule, _)| *rule);
        let told = walk.answers(&walked.presented, &walked.answers);
        let known = self.builtin_values(trigger, walked.path.last());
        let values = Values::new(&told, &counting, walk.around, known);
        let composed = chosen.map(|rule| compose(rule, &values)).unwrap_or_default();
        let mails = composed.mails.into_iter().map(|(kind, mail)| TriedMail {
            kind: kind.to_owned(),
            to: mail.to.to_string(),
            reply_to: mail.reply_to.map(|to| to.to_string()),
            subject: mail.subject.as_str().to_owned(),
            text: mail.text,
            html: mail.html,
        });
        let faults = walked.path.into_iter().flat_map(|node| node.errors);
        // A visitor who leaves has not answered everything.
        let is_told = |fault: &TriedFault| {
            trigger == Trigger::Completed || answers.contains_key(&fault.field)
        };
        TriedRouting {
            chosen: chosen.map(|rule| rule.id),
            mails: mails.collect(),
            skipped: composed.skipped,
            rules: considered
                .into_iter()
                .map(|(rule, (matches, trace))| TriedRule { id: rule.id, matches, trace })
                .collect(),
            errors: faults.filter(is_told).collect(),
        }
    }

    /// The values of the service's own tokens, although there is no visit. `last`: the last
    /// node on the way.
    fn builtin_values(
        &self,
        trigger: Trigger,
        last: Option<&TriedNode>,
    ) -> Vec<(&'static str, String)> {
        let is_completed = trigger == Trigger::Completed;
        let end = last.filter(|node| is_completed && node.kind == "end");
        let page = self.header.settings.page_url.as_deref().filter(|_| !is_completed);
        BuiltinToken::with_values(|token| match token {
            BuiltinToken::FunnelName => self.header.name.clone(),
            BuiltinToken::FunnelSlug => self.header.slug.clone(),
            BuiltinToken::SubmissionId => "0".to_owned(),
            BuiltinToken::SubmissionReference if is_completed => "0000-0000".to_owned(),
            BuiltinToken::SubmissionReference => String::new(),
            BuiltinToken::SubmissionUrl => submission_link(self.base.settings(), None, 0),
            BuiltinToken::EndName => end.map(|node| node.name.clone()).unwrap_or_default(),
            BuiltinToken::Date => date(self.now, &self.zone),
            BuiltinToken::ResumeUrl => page.map(|url| resume_link(url, "…")).unwrap_or_default(),
        })
    }
}

/// Whether conditions read surroundings, not an answer, under this name.
fn is_around(name: &str) -> bool {
    AROUND.contains(&name)
}

impl TriedNode {
    fn of(node: &Node) -> Self {
        Self {
            id: node.id,
            kind: node.kind.name().to_owned(),
            name: node.name.clone(),
            errors: Vec::new(),
            branch: None,
            trace: Vec::new(),
        }
    }
}

impl From<FieldError> for TriedFault {
    fn from(fault: FieldError) -> Self {
        Self { field: fault.field, code: fault.code.to_owned(), message: fault.message }
    }
}
