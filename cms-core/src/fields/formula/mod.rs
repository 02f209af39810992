//! Formulas over answers: `+ - * / ( )`, comparisons, `min`, `max`, `sum`, `count`, `if`. Formulas
//! never fail: a value that cannot be computed is absent. The module `parse` parses them.

mod parse;

use serde_json::{Map, Value as Json};

use super::{decimal::Decimal, is_blank};

/// Maximum length of a formula in bytes.
pub(super) const MOST_BYTES: usize = 2000;
/// Maximum depth of nested parentheses, calls and signs.
pub(super) const MOST_DEPTH: usize = 32;
/// Maximum number of numbers, fields and calls; computing a formula takes as many levels.
pub(super) const MOST_PARTS: usize = 200;

/// A parsed formula.
#[derive(Clone, Debug)]
pub(super) struct Formula(Expression);

#[derive(Clone, Debug)]
enum Expression {
    Number(Decimal),
    Text(String),
    Name(Name),
    Negative(Box<Expression>),
    Two(Operation, Box<[Expression; 2]>),
    Call(Function, Vec<Expression>),
}

/// A field, possibly with members of its answer.
#[derive(Clone, Debug)]
struct Name {
    field: String,
    members: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Plus,
    Minus,
    Times,
    Over,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Sum,
    Count,
    If,
}

impl Formula {
    /// Parses a formula.
    ///
    /// # Errors
    /// The position of the fault, and what is expected there.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        parse::formula(text).map(Self)
    }

    /// The fields that it depends on.
    pub(super) fn fields(&self) -> Vec<&str> {
        let (mut fields, mut left) = (Vec::new(), vec![&self.0]);
        while let Some(one) = left.pop() {
            match one {
                Expression::Number(_) | Expression::Text(_) => {}
                Expression::Name(name) if fields.contains(&name.field.as_str()) => {}
                Expression::Name(name) => fields.push(name.field.as_str()),
                Expression::Negative(inner) => left.push(inner),
                Expression::Two(_, both) => left.extend(both.iter()),
                Expression::Call(_, arguments) => left.extend(arguments),
            }
        }
        fields
    }

    /// The result over these answers, by the ids of their fields. `None`: the result is absent.
    pub(super) fn compute(&self, answers: &Map<String, Json>) -> Option<Decimal> {
        self.0.value(answers).number()
    }
}

impl Expression {
    fn value<'a>(&'a self, answers: &'a Map<String, Json>) -> Value<'a> {
        match self {
            Self::Number(number) => Value::Number(*number),
            Self::Text(text) => Value::Text(text),
            Self::Name(name) => Value::of(answers.get(&name.field), &name.members),
            Self::Negative(inner) => inner.value(answers).number().map(Decimal::negative).into(),
            Self::Two(operation, both) => {
                operation.of(&both[0].value(answers), &both[1].value(answers)).into()
            }
            Self::Call(function, arguments) => function.of(arguments, answers),
        }
    }
}

impl Operation {
    fn of(self, one: &Value<'_>, other: &Value<'_>) -> Option<Decimal> {
        let truth = |holds: bool| Decimal::whole(holds.into());
        match self {
            Self::Equal => return truth(one.is_equal(other)),
            Self::NotEqual => return truth(!one.is_equal(other)),
            _ => {}
        }
        let numbers = one.number().zip(other.number());
        let holds = |judge: fn(&Decimal, &Decimal) -> bool| {
            truth(numbers.is_some_and(|(one, other)| judge(&one, &other)))
        };
        match self {
            Self::Less => holds(Decimal::lt),
            Self::LessOrEqual => holds(Decimal::le),
            Self::Greater => holds(Decimal::gt),
            Self::GreaterOrEqual => holds(Decimal::ge),
            _ => {
                let (one, other) = numbers?;
                match self {
                    Self::Plus => one.plus(other),
                    Self::Minus => one.minus(other),
                    Self::Times => one.times(other),
                    _ => one.over(other),
                }
            }
        }
    }
}

impl Function {
    fn of<'a>(self, arguments: &'a [Expression], answers: &'a Map<String, Json>) -> Value<'a> {
        if let (Self::If, [condition, then, otherwise]) = (self, arguments) {
            let holds = condition.value(answers).number().is_some_and(|n| n != Decimal::ZERO);
            return if holds { then.value(answers) } else { otherwise.value(answers) };
        }
        let values: Vec<_> = arguments.iter().map(|one| one.value(answers)).collect();
        let mut numbers = values.iter().flat_map(Value::numbers);
        match self {
            Self::Min => numbers.min().into(),
            Self::Max => numbers.max().into(),
            Self::Sum => numbers.try_fold(Decimal::ZERO, Decimal::plus).into(),
            Self::Count | Self::If => {
                let count: usize = values.iter().map(Value::count).sum();
                i64::try_from(count).ok().and_then(Decimal::whole).into()
            }
        }
    }
}

/// An answer, or a result.
enum Value<'a> {
    Absent,
    Number(Decimal),
    /// A text in the formula itself, which is not a number.
    Text(&'a str),
    Answer(&'a Json),
    /// A member of each row of a list.
    Many(Vec<&'a Json>),
}

impl From<Option<Decimal>> for Value<'_> {
    fn from(number: Option<Decimal>) -> Self {
        number.map_or(Self::Absent, Self::Number)
    }
}

impl<'a> Value<'a> {
    /// Follows member names into an answer. Members of a list's rows are many values, even with
    /// only one row.
    fn of(answer: Option<&'a Json>, members: &[String]) -> Self {
        let mut found: Vec<&Json> = answer.into_iter().collect();
        let mut is_many = false;
        for member in members {
            is_many |= found.iter().any(|one| one.is_array());
            found = found.into_iter().flat_map(rows).filter_map(|row| row.get(member)).collect();
        }
        found.retain(|one| !is_blank(one));
        match found.as_slice() {
            [] => Self::Absent,
            [one] if !is_many => Self::Answer(one),
            _ => Self::Many(found),
        }
    }

    /// The value as a number: `true` is 1, `false` is 0, and a text counts as the number that
    /// it spells.
    fn number(&self) -> Option<Decimal> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Answer(answer) => number(answer),
            Self::Absent | Self::Text(_) | Self::Many(_) => None,
        }
    }

    /// All numbers in the value.
    fn numbers(&self) -> Vec<Decimal> {
        match self {
            Self::Number(number) => vec![*number],
            _ => self.answers().into_iter().filter_map(number).collect(),
        }
    }

    /// The number of answers in the value.
    fn count(&self) -> usize {
        match self {
            Self::Number(_) | Self::Text(_) => 1,
            _ => self.answers().into_iter().filter(|one| !is_blank(one)).count(),
        }
    }

    /// Texts are compared as texts. A number equals a text that spells the same number. An absent
    /// value equals nothing.
    fn is_equal(&self, other: &Self) -> bool {
        match (self.text(), other.text()) {
            (Some(one), Some(other)) => one == other,
            _ => self.compared().is_some_and(|number| other.compared() == Some(number)),
        }
    }

    /// The number for comparisons.
    fn compared(&self) -> Option<Decimal> {
        match self {
            Self::Text(text) => Decimal::parse(text.trim()),
            _ => self.number(),
        }
    }

    /// The text for comparisons; of a list with one text, that text.
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Answer(Json::Array(entries)) => match entries.as_slice() {
                [Json::String(only)] => Some(only),
                _ => None,
            },
            Self::Answer(answer) => answer.as_str(),
            Self::Absent | Self::Number(_) | Self::Many(_) => None,
        }
    }

    fn answers(&self) -> Vec<&'a Json> {
        match self {
            Self::Answer(answer) => rows(answer).collect(),
            Self::Many(answers) => answers.iter().copied().flat_map(rows).collect(),
            Self::Absent | Self::Number(_) | Self::Text(_) => Vec::new(),
        }
    }
}

/// The entries of a list, or otherwise the value itself.
fn rows(value: &Json) -> Box<dyn Iterator<Item = &Json> + '_> {
    match value {
        Json::Array(rows) => Box::new(rows.iter()),
        one => Box::new(std::iter::once(one)),
    }
}

fn number(value: &Json) -> Option<Decimal> {
    match value {
        Json::Number(number) => Decimal::of(number),
        Json::Bool(truth) => Decimal::whole((*truth).into()),
        Json::String(text) => Decimal::parse(text.trim()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn answers() -> Map<String, Json> {
        let answers = json!({
            "a": 3, "b": 0.5, "zero": 0, "yes": true, "plan": "pro", "three": "3", "gone": null,
            "c-1": 7, "2nd": 2, "many": ["x", "y"],
            "only": ["x"], "row": [{"price": 2.5}], "code": "01234",
            "rows": [{"price": 2.5, "n": 2}, {"price": 1.25}, {"n": 4}],
            "grid": {"r": "1", "s": "2"},
        });
        answers.as_object().expect("answers").clone()
    }

    fn computed(formula: &str) -> Option<String> {
        let formula = Formula::read(formula).unwrap_or_else(|why| panic!("{formula}: {why}"));
        formula.compute(&answers()).map(|number| number.to_string())
    }

    #[test]
    fn formulas_have_these_results() {
        for (formula, result) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("10 - 2 - 3", "5"),
            ("12 / 2 / 3", "2"),
            ("-a * -b", "1.5"),
            ("--a", "3"),
            ("0.1+0.2", "0.3"),
            ("a-b", "2.5"),
            ("{c-1} - {2nd}", "5"),
            ("yes * 10", "10"),
            ("three + 1", "4"),
            ("min(a, b, 7)", "0.5"),
            ("max(a, b, gone)", "3"),
            ("sum(a, b, gone)", "3.5"),
            ("sum(gone)", "0"),
            ("sum(rows.price)", "3.75"),
            ("max(rows.price, rows.n)", "4"),
            ("count(rows)", "3"),
            ("count(rows.price)", "2"),
            ("count(many, a, gone, nobody)", "3"),
            ("grid.r + grid.s", "3"),
            ("if(a > 2, 10, 20)", "10"),
            ("if(a >= 4, 10, 20)", "20"),
            ("if(gone > 2, 10, 20)", "20"),
            ("if(plan = \"pro\", 9, 5)", "9"),
            ("if(plan != \"pro\", 9, 5)", "5"),
            ("if(gone != \"pro\", 9, 5)", "9"),
            ("if(three = 3, 1, 0)", "1"),
            ("if(three = \"3\", 1, 0)", "1"),
            ("if(a = \"3\", 1, 0)", "1"),
            ("if(a = \"three\", 1, 0)", "0"),
            ("if(code = \"1234\", 1, 0)", "0"),
            ("if(code = 1234, 1, 0)", "1"),
            ("if(only = \"x\", 1, 0)", "1"),
            ("if(many = \"x\", 1, 0)", "0"),
            ("if(gone = nobody, 1, 0)", "0"),
            ("row.price + 1", "absent"),
            ("rows.price + 1", "absent"),
            ("sum(row.price) + 1", "3.5"),
            ("if(zero, 1, 2)", "2"),
            ("if(a = 3, gone, 1)", "absent"),
            ("if(zero != 0, 1 / zero, 7)", "7"),
            ("a / zero", "absent"),
            ("a + gone", "absent"),
            ("a + nobody", "absent"),
            ("plan + 1", "absent"),
            ("many + 1", "absent"),
            ("min(gone)", "absent"),
            ("\"3\" + 1", "absent"),
            ("999999999999999 * 10", "absent"),
            ("1 < 2", "1"),
            ("(1 < 2) + (2 = 2)", "2"),
        ] {
            assert_eq!(computed(formula).unwrap_or("absent".to_owned()), result, "{formula}");
        }
    }

    #[test]
    fn wrong_formulas_are_told_with_their_place() {
        for (formula, at) in [
            ("1 +", 4),
            ("(1", 3),
            ("1)", 2),
            ("1 2", 3),
            ("a b", 3),
            ("avg(a)", 1),
            ("min()", 5),
            ("if(a, b)", 1),
            ("if(a, b, 1, 2)", 1),
            ("1 < 2 < 3", 7),
            ("a.", 3),
            ("{a", 1),
            ("{a b}", 1),
            ("{}", 1),
            ("\"open", 1),
            ("1234567890123456", 1),
            ("1.", 1),
            ("a % 2", 3),
            ("ä + 1", 1),
            ("1 + ä", 5),
            ("", 1),
        ] {
            let why = Formula::read(formula).expect_err(formula);
            assert!(why.starts_with(&format!("at {at}: ")), "{formula}: {why}");
        }
    }

    #[test]
    fn length_and_depth_are_bounded() {
        let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(Formula::read(&nested(MOST_DEPTH - 2)).is_ok());
        for formula in [
            nested(MOST_DEPTH + 1),
            nested(900),
            "-".repeat(1900),
            "if(".repeat(600),
            "1+".repeat(2000),
            format!("1{}", "+1".repeat(MOST_PARTS)),
        ] {
            assert!(Formula::read(&formula).is_err());
        }
        let long = format!("1{}", "+1".repeat(MOST_PARTS - 1));
        assert_eq!(computed(&long).as_deref(), Some("200"));
    }

    #[test]
    fn a_formula_names_its_fields_once() {
        let formula = Formula::read("if(a > {c-1}, sum(rows.price), a)").expect("a formula");
        let mut fields = formula.fields();
        fields.sort_unstable();
        assert_eq!(fields, ["a", "c-1", "rows"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+*/()<>=!,.{}\"ab0-9 if]{0,60}") {
            if let Ok(formula) = Formula::read(&text) {
                formula.compute(&answers());
            }
        }

        #[test]
        fn whole_numbers_are_as_in_rust(a in -999_i64..999, b in -999_i64..999, c in 1_i64..99) {
            let text = format!("({a}) + ({b}) * {c} - ({a} - {c})");
            let expected = a + b * c - (a - c);
            let result = Formula::read(&text).expect("a formula").compute(&Map::new());
            prop_assert_eq!(result.map(|n| n.to_string()), Some(expected.to_string()));
        }
    }
}
