//! Postal codes by country. Pure.

use super::kind::{Refusal, refuse};

/// Forms by country: `9` is a digit, `A` a letter, `*` either; blanks and hyphens may be left out.
/// Codes of other countries are taken as they are.
const FORMS: &str = "\
AT 9999;AU 9999;BE 9999;BG 9999;BR 99999-999;CA A9A 9A9;CH 9999;CN 999999;CY 9999;CZ 999 99;\
DE 99999;DK 9999;EE 99999;ES 99999;FI 99999;FR 99999;GB A9 9AA|A9A 9AA|A99 9AA|AA9 9AA|AA9A 9AA|\
AA99 9AA|AAA 9AA;GR 999 99;HR 99999;HU 9999;IE A9* ****;IL 9999999|99999;IN 999999;IS 999;\
IT 99999;JP 999-9999;KR 99999;LI 9999;LT 99999;LU 9999;LV 9999;MT AAA 9999;MX 99999;NL 9999 AA;\
NO 9999;NZ 9999;PL 99-999;PT 9999-999;RO 999999;RS 99999;RU 999999;SE 999 99;SG 999999;SI 9999;\
SK 999 99;TR 99999;UA 99999;US 99999|99999-9999;ZA 9999";

/// A code in its country's form. `country`: two capital letters.
pub(super) fn postal_code(code: &str, country: &str) -> Result<String, Refusal> {
    let found = FORMS.split(';').find_map(|one| one.strip_prefix(country)?.strip_prefix(' '));
    let Some(forms) = found else { return Ok(code.to_owned()) };
    let upper = code.to_uppercase();
    // As in D-10115, which mail from abroad asks for.
    let own = upper.split_once('-').filter(|(before, _)| {
        !before.is_empty() && country.starts_with(before) && country.is_ascii()
    });
    let own = own.map_or(upper.as_str(), |(_, own)| own);
    match forms.split('|').find_map(|form| fitted(own, form)) {
        Some(fitted) => Ok(fitted),
        None => {
            let forms = forms.replace('|', ", ");
            let message = format!(
                "a postal code of {country} is expected, such as {forms} (9 stands for a digit, A \
                 for a letter)"
            );
            refuse("postal_code", message)
        }
    }
}

/// A code in this form, if it has it.
fn fitted(code: &str, form: &str) -> Option<String> {
    let mut letters = code.chars().filter(|letter| !matches!(letter, ' ' | '-'));
    let mut fitted = String::new();
    for place in form.chars() {
        if matches!(place, ' ' | '-') {
            fitted.push(place);
            continue;
        }
        let letter = letters.next()?;
        let fits = match place {
            '9' => letter.is_ascii_digit(),
            'A' => letter.is_ascii_uppercase(),
            _ => letter.is_ascii_digit() || letter.is_ascii_uppercase(),
        };
        fits.then(|| fitted.push(letter))?;
    }
    letters.next().is_none().then_some(fitted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::countries;

    #[test]
    fn codes_are_judged_by_their_country() {
        for (country, code, expected) in [
            ("DE", "10115", Some("10115")),
            ("DE", "D-10115", Some("10115")),
            ("DE", "DE-10115", Some("10115")),
            ("DE", "1011", None),
            ("DE", "1O115", None),
            ("DE", "101155", None),
            ("AT", "1010", Some("1010")),
            ("AT", "D-1010", None),
            ("GB", "sw1a1aa", Some("SW1A 1AA")),
            ("GB", "M1 1AE", Some("M1 1AE")),
            ("GB", "gir 0aa", Some("GIR 0AA")),
            ("GB", "12345", None),
            ("NL", "1234ab", Some("1234 AB")),
            ("PL", "00950", Some("00-950")),
            ("US", "90210-1234", Some("90210-1234")),
            ("US", "902101234", Some("90210-1234")),
            ("US", "9021", None),
            ("IE", "d6w xy12", Some("D6W XY12")),
            ("PT", "1000-001", Some("1000-001")),
            ("SE", "SE-114 55", Some("114 55")),
            ("DE", "١٠١١٥", None),
            ("GM", "as it is", Some("as it is")),
        ] {
            let read = postal_code(code, country);
            assert_eq!(read.as_deref().ok(), expected, "{country} {code}");
            if let Ok(read) = read {
                assert_eq!(postal_code(&read, country).as_ref(), Ok(&read), "{read}");
            }
        }
    }

    #[test]
    fn forms_are_of_countries() {
        for one in FORMS.split(';') {
            let (country, forms) = one.split_once(' ').expect("a country and its forms");
            assert!(countries::country(country).is_some(), "{country}");
            assert!(forms.chars().all(|place| "9A* -|".contains(place)), "{forms}");
        }
    }
}
