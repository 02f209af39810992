//! Fields that display a text, take a value that comes with the visitor, compute one, record a
//! consent, or take a payment.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    Context,
    choice::truth,
    decimal::Decimal,
    formula::Formula,
    kind::{Kind, Refusal, Source, refuse, text_of},
    text,
};

/// What a statement shows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Variant {
    #[default]
    Text,
    Image,
    Video,
    Divider,
}

/// Something to read. It takes no answer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Statement {
    variant: Variant,
    html: String,
    media_id: Option<i64>,
    button_label: String,
}

impl Default for Statement {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            html: String::new(),
            media_id: None,
            button_label: "Continue".to_owned(),
        }
    }
}

impl Kind for Statement {
    fn source(&self) -> Source {
        Source::Nobody
    }

    fn take(&self, _: &Json, _: &Context) -> Result<Json, Refusal> {
        refuse("no_answer", "this takes no answer")
    }
}

/// A value that comes with the visitor, such as a campaign.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Hidden {
    /// The parameter of the address it is read from.
    param: Option<String>,
    /// What it is without one.
    default: Option<String>,
    /// Characters at most.
    max_length: usize,
}

impl Default for Hidden {
    fn default() -> Self {
        Self { param: None, default: None, max_length: 512 }
    }
}

impl Kind for Hidden {
    fn source(&self) -> Source {
        Source::Arrival
    }

    fn otherwise(&self) -> Option<Json> {
        self.default.clone().map(Json::from)
    }

    fn check(&self) -> Result<(), Refusal> {
        let Some(default) = self.otherwise() else { return Ok(()) };
        let taken = self.take(&default, &Context::at(0));
        taken.map(drop).or_else(|fault| refuse("bad_config", format!("default: {}", fault.message)))
    }

    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let line = text::line(text_of(given)?)?;
        text::length(&line, 0, self.max_length)?;
        Ok(line.into())
    }
}

/// What a computed value is.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Computed {
    #[default]
    Number,
}

/// A value that the service computes from other answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Calculated {
    /// `+ - * / ( )`, `min`, `max`, `sum`, `count`, `if`, over ids of fields.
    expression: String,
    #[serde(rename = "type")]
    computed: Computed,
    /// Digits after the point.
    decimals: u32,
    /// The expression, once it is read.
    #[serde(skip)]
    read: OnceLock<Formula>,
}

impl Default for Calculated {
    fn default() -> Self {
        Self {
            expression: String::new(),
            computed: Computed::default(),
            decimals: 2,
            read: OnceLock::new(),
        }
    }
}

impl Calculated {
    /// The parsed expression; `None`: it is empty. Fails for a wrong one.
    fn read(&self) -> Result<Option<&Formula>, Refusal> {
        if self.expression.trim().is_empty() || self.read.get().is_some() {
            return Ok(self.read.get());
        }
        let read = Formula::read(&self.expression);
        let read = read.or_else(|why| refuse("bad_config", format!("expression: {why}")))?;
        Ok(Some(self.read.get_or_init(|| read)))
    }
}

impl Kind for Calculated {
    fn source(&self) -> Source {
        Source::Service
    }

    fn take(&self, _: &Json, _: &Context) -> Result<Json, Refusal> {
        refuse("no_answer", "this is computed")
    }

    fn formula(&self) -> Option<&Formula> {
        self.read().ok().flatten()
    }

    fn compute(&self, answers: &Map<String, Json>) -> Option<Json> {
        let number = self.formula()?.compute(answers)?;
        number.rounded(self.decimals).map(Decimal::json)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.decimals > 15 {
            return refuse("bad_config", "decimals: 0 to 15 are expected");
        }
        self.read().map(drop)
    }
}

/// Agreement to a text. Its version and time are stored as proof.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Consent {
    text: String,
    /// The address of the text, as links have it.
    #[schemars(extend("format" = "uri-reference"))]
    document_url: Option<String>,
    /// Raised with each new wording.
    text_version: i64,
    /// Whether the visitor must accept it to continue.
    must_accept: bool,
}

impl Default for Consent {
    fn default() -> Self {
        Self { text: String::new(), document_url: None, text_version: 1, must_accept: true }
    }
}

impl Kind for Consent {
    fn members(&self) -> &'static [&'static str] {
        &["version", "at"]
    }

    fn is_required(&self) -> bool {
        self.must_accept
    }

    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        match truth(given) {
            Ok(true) => Ok(true.into()),
            // A blank answer is not stored.
            Ok(false) if !self.must_accept => Ok(Json::Null),
            _ => refuse("consent", "agreement is expected"),
        }
    }

    fn extra_values(
        &self,
        _: &Json,
        _: &dyn Fn(&str) -> Option<Json>,
        context: &Context,
    ) -> Result<Map<String, Json>, Refusal> {
        let at = context.now().timestamp().to_string();
        Ok(Map::from_iter([
            ("version".to_owned(), self.text_version.into()),
            ("at".to_owned(), at.into()),
        ]))
    }
}

/// A payment. Its provider alone says that it was made.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Payment {
    provider: Option<String>,
    /// In the currency's smallest unit, such as cents.
    amount_minor: i64,
    /// The field that holds the amount instead.
    amount_field: Option<String>,
    /// ISO 4217.
    currency: String,
}

impl Default for Payment {
    fn default() -> Self {
        Self { provider: None, amount_minor: 0, amount_field: None, currency: "EUR".to_owned() }
    }
}

impl Kind for Payment {
    fn source(&self) -> Source {
        Source::Provider
    }

    fn take(&self, _: &Json, _: &Context) -> Result<Json, Refusal> {
        refuse("no_answer", "only the payment's provider says that it was made")
    }

    fn check(&self) -> Result<(), Refusal> {
        let is_code =
            self.currency.len() == 3 && self.currency.bytes().all(|byte| byte.is_ascii_uppercase());
        if !is_code || self.amount_minor < 0 {
            return refuse(
                "bad_config",
                "an amount of 0 or more and a code such as EUR are expected",
            );
        }
        Ok(())
    }
}
