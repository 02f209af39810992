//! Parses a formula. Depth and length are limited, so no text takes much stack or time.
//!
//! ```text
//! formula   = sum [("=" | "!=" | "<" | "<=" | ">" | ">=") sum]
//! sum       = product {("+" | "-") product}
//! product   = value {("*" | "/") value}
//! value     = "-" value | number | text | name | function "(" formula {"," formula} ")"
//!           | "(" formula ")"
//! name      = part {"." part}; part = letters, digits, "_" | "{" id "}"
//! ```

use Operation::{
    Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Minus, NotEqual, Over, Plus, Times,
};

use super::{Expression, Function, MOST_BYTES, MOST_DEPTH, MOST_PARTS, Name, Operation};
use crate::fields::{decimal::Decimal, is_id};

/// Longer operators first, so that `<=` is not read as `<`.
const COMPARISONS: [(&str, Operation); 6] = [
    ("!=", NotEqual),
    ("<=", LessOrEqual),
    (">=", GreaterOrEqual),
    ("=", Equal),
    ("<", Less),
    (">", Greater),
];

pub(super) fn formula(text: &str) -> Result<Expression, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("a formula of at most {MOST_BYTES} bytes is expected"));
    }
    let mut parser = Parser { text, at: 0, depth: 0, parts: 0 };
    let formula = parser.formula()?;
    match parser.rest() {
        "" => Ok(formula),
        _ => parser.wrong("an operator or the end is expected"),
    }
}

struct Parser<'a> {
    text: &'a str,
    /// The position in bytes.
    at: usize,
    depth: usize,
    parts: usize,
}

type Read<T = Expression> = Result<T, String>;

impl<'a> Parser<'a> {
    /// The remaining text, without leading blanks.
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn wrong<T>(&mut self, expected: &str) -> Read<T> {
        self.rest();
        self.wrong_at(self.at, expected)
    }

    /// The position in the message is counted in characters, from 1.
    fn wrong_at<T>(&self, at: usize, expected: &str) -> Read<T> {
        let place = self.text[..at].chars().count() + 1;
        Err(format!("at {place}: {expected}"))
    }

    fn takes(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Read<()> {
        if self.takes(token) { Ok(()) } else { self.wrong(&format!("{token} is expected")) }
    }

    /// The operation of the first of these tokens that comes next.
    fn operation(&mut self, tokens: &[(&str, Operation)]) -> Option<Operation> {
        tokens.iter().find(|(token, _)| self.takes(token)).map(|(_, operation)| *operation)
    }

    fn formula(&mut self) -> Read {
        let one = self.sum()?;
        match self.operation(&COMPARISONS) {
            None => Ok(one),
            Some(operation) => Ok(two(operation, one, self.sum()?)),
        }
    }

    fn sum(&mut self) -> Read {
        let mut sum = self.product()?;
        while let Some(operation) = self.operation(&[("+", Plus), ("-", Minus)]) {
            sum = two(operation, sum, self.product()?);
        }
        Ok(sum)
    }

    fn product(&mut self) -> Read {
        let mut product = self.value()?;
        while let Some(operation) = self.operation(&[("*", Times), ("/", Over)]) {
            product = two(operation, product, self.value()?);
        }
        Ok(product)
    }

    fn value(&mut self) -> Read {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return self.wrong(&format!("at most {MOST_DEPTH} levels are expected"));
        }
        self.parts += 1;
        if self.parts > MOST_PARTS {
            return self.wrong(&format!("at most {MOST_PARTS} numbers, fields and calls"));
        }
        let value = self.shallow();
        self.depth -= 1;
        value
    }

    fn shallow(&mut self) -> Read {
        if self.takes("-") {
            return Ok(Expression::Negative(Box::new(self.value()?)));
        }
        if self.takes("(") {
            let inner = self.formula()?;
            self.expect(")")?;
            return Ok(inner);
        }
        match self.rest().chars().next() {
            Some('0'..='9') => self.number(),
            Some('"') => self.quoted(),
            Some('a'..='z' | 'A'..='Z' | '_' | '{') => self.named(),
            _ => self.wrong("a number, a field, a function or ( is expected"),
        }
    }

    fn number(&mut self) -> Read {
        let rest = self.rest();
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = &rest[..rest.len() - digits.len()];
        let Some(read) = Decimal::parse(number) else {
            return self.wrong("a number of at most 15 digits is expected");
        };
        self.at += number.len();
        Ok(Expression::Number(read))
    }

    fn quoted(&mut self) -> Read {
        let inner = &self.rest()[1..];
        let Some((text, _)) = inner.split_once('"') else {
            return self.wrong("this text needs a second \" at its end");
        };
        self.at += text.len() + 2;
        Ok(Expression::Text(text.to_owned()))
    }

    /// Parses a field or a call.
    fn named(&mut self) -> Read {
        let (begin, is_word) = (self.at, !self.rest().starts_with('{'));
        let field = self.part()?;
        if is_word && self.takes("(") {
            return self.call(begin, &field);
        }
        let mut members = Vec::new();
        while self.takes(".") {
            members.push(self.part()?);
        }
        Ok(Expression::Name(Name { field, members }))
    }

    fn part(&mut self) -> Read<String> {
        let rest = self.rest();
        if let Some(inner) = rest.strip_prefix('{') {
            return match inner.split_once('}').filter(|(id, _)| is_id(id)) {
                Some((id, _)) => {
                    self.at += id.len() + 2;
                    Ok(id.to_owned())
                }
                None => self.wrong("{ID} is expected, with the id of a field"),
            };
        }
        let after = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let word = &rest[..rest.len() - after.len()];
        if word.is_empty() {
            return self.wrong("the id of a field is expected");
        }
        self.at += word.len();
        Ok(word.to_owned())
    }

    fn call(&mut self, begin: usize, name: &str) -> Read {
        let function = match name {
            "min" => Function::Min,
            "max" => Function::Max,
            "sum" => Function::Sum,
            "count" => Function::Count,
            "if" => Function::If,
            _ => return self.wrong_at(begin, "min, max, sum, count or if is expected before ("),
        };
        let mut arguments = vec![self.formula()?];
        while self.takes(",") {
            arguments.push(self.formula()?);
        }
        self.expect(")")?;
        if function == Function::If && arguments.len() != 3 {
            return self.wrong_at(begin, "if(CONDITION, THEN, OTHERWISE) is expected");
        }
        Ok(Expression::Call(function, arguments))
    }
}

fn two(operation: Operation, one: Expression, other: Expression) -> Expression {
    Expression::Two(operation, Box::new([one, other]))
}
