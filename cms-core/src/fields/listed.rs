//! Choices from a list that opens, and from pictures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Context,
    kind::{Kind, Refusal, ordered, text_of},
    options::{self, Choice, OTHER_LENGTH},
    text,
};

/// Where the options of a list come from.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum OptionSource {
    /// They stand in `options`.
    #[default]
    Static,
}

/// One or several of a list that opens.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Dropdown {
    options: Vec<Choice>,
    source: OptionSource,
    /// Whether several may be chosen; the answer is a list then.
    multiple: bool,
    /// Whether the list has a search line.
    searchable: bool,
    /// Whether a text that is no option is an answer.
    allow_create: bool,
}

impl Default for Dropdown {
    fn default() -> Self {
        Self {
            options: Vec::new(),
            source: OptionSource::default(),
            multiple: false,
            searchable: true,
            allow_create: false,
        }
    }
}

impl Dropdown {
    fn one(&self, given: &Json) -> Result<String, Refusal> {
        match options::find(&self.options, given) {
            Ok(option) => Ok(option.id.clone()),
            Err(_) if self.allow_create => {
                let line = text::line(text_of(given)?)?;
                text::length(&line, 1, OTHER_LENGTH)?;
                Ok(line)
            }
            Err(refusal) => Err(refusal),
        }
    }
}

impl Kind for Dropdown {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        if !self.multiple {
            return self.one(given).map(Json::from);
        }
        let chosen: Vec<_> =
            options::list(given)?.iter().map(|one| self.one(one)).collect::<Result<_, _>>()?;
        let known = self.options.iter().map(|option| &option.id).filter(|id| chosen.contains(id));
        let mut answer: Vec<String> = known.cloned().collect();
        for one in chosen {
            if !answer.contains(&one) {
                answer.push(one);
            }
        }
        Ok(answer.into())
    }

    fn text(&self, answer: &Json) -> String {
        options::labels(&self.options, answer)
    }

    fn cell(&self, answer: &Json) -> String {
        options::cell(&self.options, answer)
    }

    fn lacks(&self) -> Option<&'static str> {
        options::lack(self.options.len() + usize::from(self.allow_create), 1)
    }

    fn options(&self, row: Option<&str>) -> Option<Vec<&str>> {
        (row.is_none() && !self.allow_create).then(|| options::ids(&self.options))
    }

    fn check(&self) -> Result<(), Refusal> {
        options::check(&self.options, "options")
    }
}

/// One or several of many pictures.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PictureChoice {
    /// Each with the `media_id` of its picture.
    options: Vec<Choice>,
    /// Whether several may be chosen; the answer is a list then.
    multiple: bool,
    /// Choices at least, of several.
    min: usize,
    /// Choices at most, of several.
    max: Option<usize>,
    /// Whether the labels are shown.
    show_labels: bool,
}

impl Default for PictureChoice {
    fn default() -> Self {
        Self { options: Vec::new(), multiple: false, min: 0, max: None, show_labels: true }
    }
}

impl Kind for PictureChoice {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        if !self.multiple {
            return Ok(options::find(&self.options, given)?.id.clone().into());
        }
        let chosen = options::several(&self.options, given)?;
        options::count(chosen.len(), self.min, self.max)?;
        Ok(chosen.into())
    }

    fn text(&self, answer: &Json) -> String {
        options::labels(&self.options, answer)
    }

    fn cell(&self, answer: &Json) -> String {
        options::cell(&self.options, answer)
    }

    fn lacks(&self) -> Option<&'static str> {
        options::lack(self.options.len(), if self.multiple { self.min } else { 1 })
    }

    fn options(&self, row: Option<&str>) -> Option<Vec<&str>> {
        row.is_none().then(|| options::ids(&self.options))
    }

    fn check(&self) -> Result<(), Refusal> {
        options::check(&self.options, "options")?;
        self.max.map_or(Ok(()), |max| ordered(self.min, max, "min", "max"))
    }
}
