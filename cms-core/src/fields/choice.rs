//! Fields for one choice or several: from lists, dropdowns and pictures; yes or no; checkboxes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    Context,
    kind::{Kind, Refusal, ordered, refuse, text_of},
    options::{self, Choice, OTHER, OTHER_LENGTH},
    text,
};

/// How one choice is drawn.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ChoiceDisplay {
    #[default]
    Radio,
    Buttons,
    Cards,
}

/// One of several.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SingleChoice {
    options: Vec<Choice>,
    /// Whether visitors may enter their own text: the id `other`, with the text as `<id>.other`.
    allow_other: bool,
    /// Characters of that text at most.
    other_max_length: usize,
    /// Whether the options come in another order for each visitor.
    randomize: bool,
    display: ChoiceDisplay,
}

impl Default for SingleChoice {
    fn default() -> Self {
        Self {
            options: Vec::new(),
            allow_other: false,
            other_max_length: 255,
            randomize: false,
            display: ChoiceDisplay::default(),
        }
    }
}

fn is_other(allowed: bool, given: &Json) -> bool {
    allowed && given.as_str() == Some(OTHER)
}

/// The members that may be stored beside a choice.
fn members(allow_other: bool) -> &'static [&'static str] {
    if allow_other { &[OTHER] } else { &[] }
}

/// The visitor's own text, if `other` was chosen.
fn other(
    is_chosen: bool,
    most: usize,
    given: &dyn Fn(&str) -> Option<Json>,
) -> Result<Map<String, Json>, Refusal> {
    if !is_chosen {
        return Ok(Map::new());
    }
    let Some(given) = given(OTHER).filter(|given| !super::is_blank(given)) else {
        return refuse("required", "the text of the other answer is expected");
    };
    let line = text::line(text_of(&given)?)?;
    text::length(&line, 1, most)?;
    Ok(Map::from_iter([(OTHER.to_owned(), line.into())]))
}

impl Kind for SingleChoice {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        if is_other(self.allow_other, given) {
            return Ok(OTHER.into());
        }
        Ok(options::find(&self.options, given)?.id.clone().into())
    }

    fn extra_values(
        &self,
        answer: &Json,
        given: &dyn Fn(&str) -> Option<Json>,
        _: &Context,
    ) -> Result<Map<String, Json>, Refusal> {
        other(is_other(self.allow_other, answer), self.other_max_length, given)
    }

    fn members(&self) -> &'static [&'static str] {
        members(self.allow_other)
    }

    fn text(&self, answer: &Json) -> String {
        options::labels(&self.options, answer)
    }

    fn why_unanswerable(&self) -> Option<&'static str> {
        options::lack(self.options.len() + usize::from(self.allow_other), 1)
    }

    fn options(&self, row: Option<&str>) -> Option<Vec<&str>> {
        let own = self.allow_other.then_some(OTHER);
        row.is_none().then(|| options::ids(&self.options).into_iter().chain(own).collect())
    }

    fn check(&self) -> Result<(), Refusal> {
        options::check(&self.options, "options")
    }
}

/// Several of many.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MultipleChoice {
    options: Vec<Choice>,
    /// Choices at least.
    min: usize,
    /// Choices at most.
    max: Option<usize>,
    /// Whether visitors may enter their own text: the id `other`, with the text as `<id>.other`.
    allow_other: bool,
    /// The id that goes with no other, such as `none`.
    exclusive_option: Option<String>,
    /// Whether the options come in another order for each visitor.
    randomize: bool,
}

impl Kind for MultipleChoice {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let (others, ids): (Vec<_>, Vec<_>) =
            options::list(given)?.iter().cloned().partition(|one| is_other(self.allow_other, one));
        let mut chosen = options::several(&self.options, &ids.into())?;
        if !others.is_empty() {
            chosen.push(OTHER.to_owned());
        }
        options::count(chosen.len(), self.min, self.max)?;
        match &self.exclusive_option {
            Some(alone) if chosen.len() > 1 && chosen.contains(alone) => {
                refuse("exclusive", format!("{alone:?} goes with no other choice"))
            }
            _ => Ok(chosen.into()),
        }
    }

    fn extra_values(
        &self,
        answer: &Json,
        given: &dyn Fn(&str) -> Option<Json>,
        _: &Context,
    ) -> Result<Map<String, Json>, Refusal> {
        let mut chosen = answer.as_array().into_iter().flatten();
        other(chosen.any(|one| is_other(self.allow_other, one)), OTHER_LENGTH, given)
    }

    fn members(&self) -> &'static [&'static str] {
        members(self.allow_other)
    }

    fn text(&self, answer: &Json) -> String {
        options::labels(&self.options, answer)
    }

    fn cell(&self, answer: &Json) -> String {
        options::cell(&self.options, answer)
    }

    fn why_unanswerable(&self) -> Option<&'static str> {
        options::lack(self.options.len() + usize::from(self.allow_other), self.min)
    }

    fn options(&self, row: Option<&str>) -> Option<Vec<&str>> {
        let own = self.allow_other.then_some(OTHER);
        row.is_none().then(|| options::ids(&self.options).into_iter().chain(own).collect())
    }

    fn check(&self) -> Result<(), Refusal> {
        options::check(&self.options, "options")?;
        if let Some(max) = self.max {
            ordered(self.min, max, "min", "max")?;
        }
        match &self.exclusive_option {
            Some(id) if !self.options.iter().any(|option| option.id == *id) => {
                refuse("bad_config", "exclusive_option: the id of an option is expected")
            }
            _ => Ok(()),
        }
    }
}

/// Where the options of a list come from.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OptionSource {
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

    fn why_unanswerable(&self) -> Option<&'static str> {
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

    fn why_unanswerable(&self) -> Option<&'static str> {
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

/// Yes or no; both are answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct YesNo {
    yes_label: String,
    no_label: String,
}

impl Default for YesNo {
    fn default() -> Self {
        Self { yes_label: "Yes".to_owned(), no_label: "No".to_owned() }
    }
}

/// A boolean in the forms in which browsers and people send it.
pub(super) fn truth(given: &Json) -> Result<bool, Refusal> {
    let word = match given {
        Json::Bool(given) => return Ok(*given),
        Json::Number(number) => number.to_string(),
        Json::String(text) => text.trim().to_ascii_lowercase(),
        _ => String::new(),
    };
    match word.as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => refuse("type", "true or false is expected"),
    }
}

impl Kind for YesNo {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        truth(given).map(Json::from)
    }

    fn text(&self, answer: &Json) -> String {
        if answer == true { self.yes_label.clone() } else { self.no_label.clone() }
    }
}

/// How a checkbox is drawn.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CheckboxDisplay {
    #[default]
    Checkbox,
    Toggle,
}

/// A tick. A required one must be set.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Checkbox {
    /// What stands beside the tick.
    inline_label: String,
    /// Whether it is set at first.
    default: bool,
    display: CheckboxDisplay,
}

impl Kind for Checkbox {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        truth(given).map(Json::from)
    }

    fn is_enough(&self, answer: &Json) -> bool {
        *answer == Json::Bool(true)
    }
}
