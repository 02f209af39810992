//! Ids and names of several things, as arguments or on standard input.

use super::file;
use crate::output::{Done, Exit, Failure};

/// What is named: the arguments, or for `-` the first column of each line of standard input, as
/// lists print it in a pipe.
pub(crate) fn named(given: Vec<String>) -> Done<Vec<String>> {
    match given.iter().any(|one| one == "-") {
        false => Ok(given),
        true if given.len() > 1 => Err(Failure::usage(
            "- stands for all that standard input names: give nothing beside it",
        )),
        true => match first_column(&file::text("-".as_ref())?) {
            // An empty list: nothing is to be done, and that is no failure.
            none if none.is_empty() => Err(Failure::silent(Exit::Ok)),
            named => Ok(named),
        },
    }
}

/// As [`named`], for things that have ids alone.
pub(crate) fn ids(given: Vec<String>) -> Done<Vec<i64>> {
    let id = |text: String| {
        text.parse().map_err(|_| Failure::usage(format!("an id is expected, not {text:?}")))
    };
    named(given)?.into_iter().map(id).collect()
}

fn first_column(text: &str) -> Vec<String> {
    let first = |line: &str| line.split('\t').next().unwrap_or_default().trim().to_owned();
    text.lines().map(first).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_lists_name_what_their_first_column_says() {
        let text = "3\tshop\ttrue\n\n  4 \nmy key\tx\n";
        assert_eq!(first_column(text), ["3", "4", "my key"]);
        assert_eq!(first_column(""), [""; 0]);
        let given = || vec!["3".to_owned(), "shop".to_owned()];
        assert_eq!(named(given()).expect("named"), given());
        assert!(named(vec!["3".to_owned(), "-".to_owned()]).is_err());
        assert!(ids(given()).is_err());
    }
}
