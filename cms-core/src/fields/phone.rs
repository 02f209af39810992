//! Telephone numbers, and the telephone codes of countries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Context,
    kind::{Kind, Refusal, refuse, text_of},
    text,
};

/// A telephone number, stored as `+` and its digits (ITU-T E.164).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Phone {
    /// Whose national form is understood, as an ISO 3166-1 code.
    default_country: Option<String>,
    /// Whose numbers are accepted; all when empty.
    allowed_countries: Vec<String>,
}

impl Phone {
    fn international(&self, digits: &str) -> Result<String, Refusal> {
        if let Some(digits) = digits.strip_prefix('+').or_else(|| digits.strip_prefix("00")) {
            return Ok(format!("+{digits}"));
        }
        let Some(code) = &self.default_country else {
            return refuse("format", "a number with + and the country's code is expected");
        };
        let Country { calling, trunk, .. } = declared(code, "default_country")?;
        let national = if trunk.is_empty() { None } else { digits.strip_prefix(trunk) };
        Ok(format!("+{calling}{}", national.unwrap_or(digits)))
    }
}

impl Kind for Phone {
    fn take(&self, given: &Json, _: &Context) -> Result<Json, Refusal> {
        let line = text::line(text_of(given)?)?;
        // "(0)" is the national prefix, written within an international number.
        let line = if line.starts_with('+') { line.replace("(0)", "") } else { line };
        let is_between = |c: &char| matches!(c, ' ' | '\u{a0}' | '-' | '.' | '/' | '(' | ')');
        let digits: String = line.chars().filter(|c| !is_between(c)).collect();
        let number = self.international(&digits)?;
        let rest = number.trim_start_matches('+');
        let is_form = number.len() == rest.len() + 1
            && rest.bytes().all(|byte| byte.is_ascii_digit())
            && (7..=15).contains(&rest.len())
            && !rest.starts_with('0');
        if !is_form {
            return refuse("format", "a number such as +49 30 901820 is expected");
        }
        let allowed = self.allowed_countries.iter().filter_map(|code| country(code));
        if !self.allowed_countries.is_empty()
            && !allowed.into_iter().any(|country| is_number_of(country, &number))
        {
            let codes = self.allowed_countries.join(", ");
            return refuse("country", format!("a number of one of these is expected: {codes}"));
        }
        Ok(number.into())
    }

    fn check(&self) -> Result<(), Refusal> {
        if let Some(code) = &self.default_country {
            declared(code, "default_country")?;
        }
        for code in &self.allowed_countries {
            declared(code, "allowed_countries")?;
        }
        Ok(())
    }
}

/// ISO 3166-1 alpha-2 codes, each with the country's code in international calls (ITU-T E.164) and
/// the prefix of national calls.
const COUNTRIES: &str = "\
AD 376;AE 971 0;AF 93 0;AG 1 1;AI 1 1;AL 355 0;AM 374 0;AO 244;AQ 672;AR 54 0;AS 1 1;AT 43 0;\
AU 61 0;AW 297;AX 358 0;AZ 994 0;BA 387 0;BB 1 1;BD 880 0;BE 32 0;BF 226;BG 359 0;BH 973;BI 257;\
BJ 229;BL 590 0;BM 1 1;BN 673;BO 591 0;BQ 599;BR 55 0;BS 1 1;BT 975;BV 47;BW 267;BY 375 8;BZ 501;\
CA 1 1;CC 61 0;CD 243 0;CF 236;CG 242;CH 41 0;CI 225;CK 682;CL 56;CM 237;CN 86 0;CO 57 0;CR 506;\
CU 53 0;CV 238;CW 599;CX 61 0;CY 357;CZ 420;DE 49 0;DJ 253;DK 45;DM 1 1;DO 1 1;DZ 213 0;EC 593 0;\
EE 372;EG 20 0;EH 212 0;ER 291 0;ES 34;ET 251 0;FI 358 0;FJ 679;FK 500;FM 691;FO 298;FR 33 0;\
GA 241;GB 44 0;GD 1 1;GE 995 0;GF 594 0;GG 44 0;GH 233 0;GI 350;GL 299;GM 220;GN 224;GP 590 0;\
GQ 240;GR 30;GS 500;GT 502;GU 1 1;GW 245;GY 592;HK 852;HM 672;HN 504;HR 385 0;HT 509;HU 36 06;\
ID 62 0;IE 353 0;IL 972 0;IM 44 0;IN 91 0;IO 246;IQ 964 0;IR 98 0;IS 354;IT 39;JE 44 0;JM 1 1;\
JO 962 0;JP 81 0;KE 254 0;KG 996 0;KH 855 0;KI 686;KM 269;KN 1 1;KP 850 0;KR 82 0;KW 965;KY 1 1;\
KZ 7 8;LA 856 0;LB 961 0;LC 1 1;LI 423;LK 94 0;LR 231 0;LS 266;LT 370 0;LU 352;LV 371;LY 218 0;\
MA 212 0;MC 377;MD 373 0;ME 382 0;MF 590 0;MG 261 0;MH 692 1;MK 389 0;ML 223;MM 95 0;MN 976 0;\
MO 853;MP 1 1;MQ 596 0;MR 222;MS 1 1;MT 356;MU 230;MV 960;MW 265 0;MX 52;MY 60 0;MZ 258;NA 264 0;\
NC 687;NE 227;NF 672;NG 234 0;NI 505;NL 31 0;NO 47;NP 977 0;NR 674;NU 683;NZ 64 0;OM 968;PA 507;\
PE 51 0;PF 689;PG 675;PH 63 0;PK 92 0;PL 48;PM 508 0;PN 64;PR 1 1;PS 970 0;PT 351;PW 680;\
PY 595 0;QA 974;RE 262 0;RO 40 0;RS 381 0;RU 7 8;RW 250 0;SA 966 0;SB 677;SC 248;SD 249 0;SE 46 0;\
SG 65;SH 290;SI 386 0;SJ 47;SK 421 0;SL 232 0;SM 378;SN 221;SO 252 0;SR 597;SS 211 0;ST 239;\
SV 503;SX 1 1;SY 963 0;SZ 268;TC 1 1;TD 235;TF 262;TG 228;TH 66 0;TJ 992;TK 690;TL 670;TM 993 8;\
TN 216;TO 676;TR 90 0;TT 1 1;TV 688;TW 886 0;TZ 255 0;UA 380 0;UG 256 0;UM 1 1;US 1 1;UY 598 0;\
UZ 998;VA 39;VC 1 1;VE 58 0;VG 1 1;VI 1 1;VN 84 0;VU 678;WF 681;WS 685;YE 967 0;YT 262 0;ZA 27 0;\
ZM 260 0;ZW 263 0";

/// A country's telephone codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Country {
    /// Two capital letters.
    pub(super) code: &'static str,
    /// The country's code in international calls.
    calling: &'static str,
    /// The prefix of national calls, or empty.
    trunk: &'static str,
}

fn all() -> impl Iterator<Item = Country> {
    COUNTRIES.split(';').map(|line| {
        let mut words = line.split(' ');
        let mut next = || words.next().unwrap_or_default();
        Country { code: next(), calling: next(), trunk: next() }
    })
}

/// The country of this code, in either case.
pub(super) fn country(code: &str) -> Option<Country> {
    all().find(|country| country.code.eq_ignore_ascii_case(code.trim()))
}

/// The country of a field's settings.
pub(super) fn declared(code: &str, member: &str) -> Result<Country, Refusal> {
    match country(code) {
        Some(country) => Ok(country),
        None => refuse("bad_config", format!("{member}: {code:?} is not an ISO 3166-1 code")),
    }
}

/// Whether a number such as `+4930...` can belong to this country. Some countries share a code.
fn is_number_of(country: Country, number: &str) -> bool {
    number.strip_prefix('+').is_some_and(|digits| digits.starts_with(country.calling))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_country_stands_here_once() {
        let codes: std::collections::BTreeSet<_> = all().map(|country| country.code).collect();
        assert_eq!((codes.len(), all().count()), (249, 249));
        for Country { code, calling, trunk } in all() {
            assert!(code.len() == 2 && code.bytes().all(|b| b.is_ascii_uppercase()), "{code}");
            assert!(matches!(calling.len(), 1..=3), "{code}");
            assert!(trunk.bytes().all(|b| b.is_ascii_digit()), "{code}");
        }
        assert_eq!(country("de").map(|country| country.calling), Some("49"));
        assert_eq!(country("EU"), None);
    }
}
