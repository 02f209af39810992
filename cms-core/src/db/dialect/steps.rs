//! Several statements as one text.

use std::fmt::Write as _;

use super::Dialect;
use crate::db::Step;

impl Dialect {
    /// The steps as one text, the values of each after those of the one before.
    pub(in crate::db) fn steps(self, steps: &[Step]) -> String {
        let mut values = 0;
        let texts = steps.iter().map(|Step(statement, args)| {
            let text = moved(statement.sql(), values);
            values += args.len();
            text
        });
        let texts: Vec<String> = texts.collect();
        match (self, texts.split_last()) {
            (Self::Postgres, Some((last, first @ [_, ..]))) => {
                let first = first.iter().enumerate().map(|(i, text)| format!("s{i} as ({text})"));
                format!("with {} {last}", first.collect::<Vec<_>>().join(", "))
            }
            _ => texts.join("; "),
        }
    }
}

/// The text with each `$n` as `$(n + by)`. `$` stands for nothing else in a [`Statement`].
fn moved(sql: &str, by: usize) -> String {
    let mut parts = sql.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let n: usize = part[..digits].parse().unwrap_or_default();
        let _ = write!(text, "${}{}", n + by, &part[digits..]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Statement, args};

    #[test]
    fn steps_are_one_text_with_values_in_their_order() {
        let steps = || {
            [
                Step(Statement::new("a", "insert into a values ($1, $2)"), args![1, 2]),
                Step(Statement::new("b", "delete from b where x = $2 or y = $1"), args![3, 4]),
            ]
        };
        assert_eq!(
            Dialect::Sqlite.steps(&steps()),
            "insert into a values ($1, $2); delete from b where x = $4 or y = $3"
        );
        assert_eq!(
            Dialect::Postgres.steps(&steps()),
            "with s0 as (insert into a values ($1, $2)) delete from b where x = $4 or y = $3"
        );
        let one = Dialect::Postgres.steps(&steps()[..1]);
        assert_eq!(one, "insert into a values ($1, $2)");
    }
}
