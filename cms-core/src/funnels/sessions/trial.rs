//! A funnel tried by its author: which way answers take, and who is written to. Nothing is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    mails::{Values, compose, consider, date, resume_link, submission_link},
    moves,
    simulator::Simulator,
};
use crate::{
    Error, FieldError, Result,
    conditions::Traced,
    funnels::{
        Funnels, WhichFunnel,
        graph::Node,
        rules::{Own, Rule, Trigger},
    },
};

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
    ///
    /// # Errors
    /// `not_found`.
    pub async fn try_answers(
        &self,
        which: &WhichFunnel,
        answers: &Map<String, Json>,
    ) -> Result<Tried> {
        Ok(self.simulator(which).await?.walk_through(answers))
    }

    /// Says which mail rule would send what to whom for these answers.
    ///
    /// # Errors
    /// `not_found`; `validation_failed` for a trigger that is none.
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

impl Simulator {
    fn walk_through(&self, answers: &Map<String, Json>) -> Tried {
        let (context, walk) = (self.context(), self.walk());
        let (mut path, mut taken, mut steps) = (Vec::new(), answers.clone(), Vec::new());
        let (mut at, mut completes) = (self.graph.start(), false);
        let mut used: Vec<String> = Vec::new();
        // A drawing may have cycles.
        for _ in self.graph.nodes() {
            let Some(node) = at else { break };
            if node.end().is_some() {
                completes = true;
                path.push(TriedNode::of(node));
                break;
            }
            if let Some(step) = node.step() {
                steps.push(node.id);
                let given = step.fields.iter().filter(|field| field.type_name() != "calculated");
                used.extend(given.flat_map(|field| field.names()));
                match moves::take(step, answers, &context, &[], false) {
                    Ok(answered) => taken.extend(answered.answers),
                    Err(faults) => {
                        let errors = faults.into_iter().map(TriedFault::from).collect();
                        path.push(TriedNode { errors, ..TriedNode::of(node) });
                        break;
                    }
                }
            }
            let way = walk.traced(node.id, &walk.effective(&steps, &taken));
            path.extend(way.decisions.into_iter().map(|decision| TriedNode {
                branch: decision.edge.map(|edge| edge.branch.as_str().to_owned()),
                trace: decision.rules,
                ..TriedNode::of(decision.node)
            }));
            at = way.to;
            completes = at.is_none();
        }
        let ignored = answers.keys().filter(|name| !used.contains(name)).cloned().collect();
        Tried { path, completes, ignored }
    }

    fn route(&self, trigger: Trigger, answers: &Map<String, Json>) -> TriedRouting {
        let walk = self.walk();
        let steps: Vec<_> = self.graph.nodes().iter().map(|node| node.id).collect();
        let counting = walk.effective(&steps, answers);
        let rules: Vec<Rule> = self.rules.iter().cloned().map(Rule::from).collect();
        let considered = consider(&rules, trigger, &counting, walk.around);
        let chosen = considered.iter().find(|one| one.matches).map(|one| one.rule);
        let told = walk.answers(&steps, answers);
        let values = Values::new(&told, &counting, walk.around, self.known(trigger, answers));
        let composed = chosen.map(|rule| compose(rule, &values)).unwrap_or_default();
        let mails = composed.mails.into_iter().map(|(kind, mail)| TriedMail {
            kind: kind.to_owned(),
            to: mail.to.to_string(),
            reply_to: mail.reply_to.map(|to| to.to_string()),
            subject: mail.subject.as_str().to_owned(),
            text: mail.text,
            html: mail.html,
        });
        TriedRouting {
            chosen: chosen.map(|rule| rule.id),
            mails: mails.collect(),
            skipped: composed.skipped,
            rules: considered
                .into_iter()
                .map(|one| TriedRule { id: one.rule.id, matches: one.matches, trace: one.trace })
                .collect(),
        }
    }

    /// What tokens of the service's own stand for, in the place of a visit that there is not.
    fn known(&self, trigger: Trigger, answers: &Map<String, Json>) -> Vec<(&'static str, String)> {
        let is_completed = trigger == Trigger::Completed;
        let last = is_completed.then(|| self.walk_through(answers).path.pop()).flatten();
        let end = last.filter(|node| node.kind == "end");
        let page = self.header.settings.page_url.as_deref().filter(|_| !is_completed);
        Own::filled(|own| match own {
            Own::FunnelName => self.header.name.clone(),
            Own::FunnelSlug => self.header.slug.clone(),
            Own::SubmissionId => "0".to_owned(),
            Own::SubmissionReference if is_completed => "0000-0000".to_owned(),
            Own::SubmissionReference => String::new(),
            Own::SubmissionUrl => submission_link(self.base.settings(), None, 0),
            Own::EndName => end.as_ref().map(|node| node.name.clone()).unwrap_or_default(),
            Own::Date => date(self.now, &self.zone),
            Own::ResumeUrl => page.map(|page| resume_link(page, "…")).unwrap_or_default(),
        })
    }
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
