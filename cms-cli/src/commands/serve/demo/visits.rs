//! Visits of the demo's funnel: two thousand within forty days. A fixed seed and the time of the
//! start decide who comes, what they answer and where they leave.

use cms_core::funnels::{PastInbox, PastStep, PastVisit, StartVisit, WhichFunnel};
use serde_json::{Value as Json, json};

use super::{CITIES, COMPANIES, FIRST, LAST, SOURCES, Source, names};

/// The funnel of the demo.
pub(super) const FUNNEL: &str = "company-bicycles";
const VISITS: u64 = 2000;
const DAYS: i64 = 40;
const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// For each hour of a day, the chance in percent that a visit may begin in it.
const HOURS: [u64; 24] =
    [4, 2, 1, 1, 1, 3, 12, 34, 70, 95, 100, 92, 66, 78, 90, 88, 74, 58, 44, 40, 42, 36, 22, 10];
/// The same for each day of a week, beginning with 1 January 1970, a Thursday.
const WEEKDAYS: [u64; 7] = [96, 80, 34, 30, 100, 98, 94];
/// The percentage of visitors who leave at each step: company, people, kinds, budget, contact.
const LEAVE: [u64; 5] = [21, 12, 9, 19, 15];

/// The random generator SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Whether something happens that has this chance in percent.
    fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn between(&mut self, first: i64, last: i64) -> i64 {
        first + i64::try_from(self.below(last.abs_diff(first) + 1)).unwrap_or_default()
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).unwrap_or_default()]
    }

    /// One of several, chosen by the percentage of each.
    fn weighed<'a, T>(&mut self, of: &'a [(u64, T)]) -> &'a T {
        let mut left = self.below(of.iter().map(|(weight, _)| weight).sum());
        for (weight, one) in of {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return one,
            }
        }
        &of[0].1
    }
}

/// The visits before `now`, the oldest first.
pub(super) fn visits(now: i64) -> Vec<PastVisit> {
    let mut dice = Dice(40);
    let mut all: Vec<_> = (0..VISITS).map(|_| visit(&mut dice, now)).collect();
    all.sort_by_key(|one| one.started_at);
    all
}

fn visit(dice: &mut Dice, now: i64) -> PastVisit {
    let source = dice.weighed(&SOURCES);
    // Spam programs fill in everything at once.
    let steps = if dice.happens(2) { hasty(dice) } else { steps(dice, source) };
    let takes: i64 = steps.iter().map(|step| step.after).sum();
    let is_new = dice.happens(1);
    let started_at =
        if is_new { now - takes - dice.between(5, 50) * MINUTE } else { moment(dice, now, takes) };
    let ended_at = started_at + takes;
    PastVisit { start: start(source), started_at, inbox: inbox(dice, now, ended_at), steps }
}

/// A time within the last forty days; recent days get more visits.
fn moment(dice: &mut Dice, now: i64, takes: i64) -> i64 {
    let first = now - DAYS * DAY;
    loop {
        let at = first + dice.between(0, DAYS * 24 * 60) * MINUTE + dice.between(0, 59) * SECOND;
        let days = usize::try_from(at.div_euclid(DAY)).unwrap_or_default();
        let hour = usize::try_from(at.rem_euclid(DAY) / HOUR).unwrap_or_default();
        let grown = 60 + u64::try_from((at - first) / DAY).unwrap_or_default();
        let is_past = at + takes <= now;
        let fits = dice.happens(HOURS[hour]) && dice.happens(WEEKDAYS[days % 7]);
        if is_past && fits && dice.happens(grown) {
            return at;
        }
    }
}

fn start(source: &Source) -> StartVisit {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut page = "https://www.example.org/en/companies".to_owned();
    if !source.campaign.is_empty() {
        page.push_str(&format!("?utm_campaign={}", source.campaign));
    }
    let mut visit = StartVisit::of(WhichFunnel::Slug(FUNNEL.to_owned()));
    visit.source_url = Some(page);
    visit.referer = text(source.referer);
    visit.utm_source = text(source.source);
    visit.utm_medium = text(source.medium);
    visit.utm_campaign = text(source.campaign);
    visit.utm_term = text(source.term);
    visit
}

/// The steps of a visitor until they leave.
struct Calls<'a> {
    dice: &'a mut Dice,
    /// The percentage of visitors who stay where others would leave.
    stay: u64,
    steps: Vec<PastStep>,
}

impl Calls<'_> {
    /// Answers the step of this number, or leaves. Some visitors give a wrong answer first.
    fn answers(&mut self, number: usize, wrong: Json, right: Json) -> bool {
        if self.dice.happens(LEAVE[number]) && !self.dice.happens(self.stay) {
            return false;
        }
        if self.dice.happens(7) {
            self.call(0, (4, 40), wrong);
            // Some visitors give up after a wrong answer.
            if self.dice.happens(15) {
                return false;
            }
        }
        self.call(0, (8, 90), right);
        true
    }

    fn call(&mut self, back: usize, (least, most): (i64, i64), answers: Json) {
        let after = self.dice.between(least * SECOND, most * SECOND);
        let answers = answers.as_object().cloned().unwrap_or_default();
        self.steps.push(PastStep { after, back, answers });
    }
}

fn steps(dice: &mut Dice, source: &Source) -> Vec<PastStep> {
    let mut calls = Calls { stay: source.stays, steps: Vec::new(), dice };
    answer(&mut calls);
    calls.steps
}

/// Answers the steps until the visitor leaves.
fn answer(calls: &mut Calls<'_>) -> Option<()> {
    let go_on = |answered: bool| answered.then_some(());
    let company = *calls.dice.one(&names(COMPANIES));
    let country = *calls.dice.weighed(&[(72, "DE"), (16, "AT"), (12, "CH")]);
    let right = json!({"company": company, "country": country});
    go_on(calls.answers(0, json!({"company": company}), right))?;
    let (least, most) =
        *calls.dice.weighed(&[(17, (1, 4)), (46, (5, 20)), (21, (21, 49)), (16, (50, 400))]);
    let mut people = calls.dice.between(least, most);
    go_on(calls.answers(1, json!({"people": 0}), json!({"people": people})))?;
    if people >= 5 && calls.dice.happens(4) {
        people += calls.dice.between(1, 60);
        calls.call(1, (5, 30), json!({"people": people}));
    }
    if people < 5 {
        let trial = calls.dice.happens(55);
        return go_on(calls.answers(2, json!({"trial": "?"}), json!({"trial": trial})));
    }
    let kinds = *calls.dice.weighed(&[
        (34, &["electric"][..]),
        (24, &["city"]),
        (18, &["city", "electric"]),
        (12, &["cargo"]),
        (8, &["electric", "cargo"]),
        (4, &["folding"]),
    ]);
    let charging = calls.dice.happens(40);
    let right = json!({"kinds": kinds, "charging": charging});
    go_on(calls.answers(2, json!({"kinds": []}), right))?;
    let hundreds = 5 + calls.dice.between(0, 30) + calls.dice.between(0, 25);
    let leasing = *calls.dice.weighed(&[(28, "buy"), (52, "lease"), (20, "open")]);
    let budget = json!({"budget": 100 * hundreds, "leasing": leasing});
    go_on(calls.answers(3, json!({"budget": 100 * hundreds}), budget))?;
    let loads = kinds.contains(&"cargo") && leasing == "lease";
    let by_phone = people >= 50 || hundreds >= 40 || loads;
    go_on(contact(calls, company, by_phone))
}

fn contact(calls: &mut Calls<'_>, company: &str, by_phone: bool) -> bool {
    let first = *calls.dice.one(&names(FIRST));
    let last = *calls.dice.one(&names(LAST));
    let domain: String = company.split(' ').next().unwrap_or_default().to_lowercase();
    let mail = format!("{}.{}@{domain}.example", plain(first), plain(last));
    let mut right = json!({"name": {"first": first, "last": last}, "mail": mail});
    if by_phone {
        let (code, number) = *calls.dice.one(&CITIES);
        let number = number + calls.dice.between(0, 999);
        right["phone"] = format!("{code} {number}").into();
        if calls.dice.happens(60) {
            right["hour"] = format!("{:02}:{}", calls.dice.between(8, 17), "30").into();
        }
    } else {
        right["privacy"] = true.into();
    }
    let mut wrong = right.clone();
    wrong["mail"] = format!("{}@", plain(first)).into();
    calls.answers(4, wrong, right)
}

/// A spam program: it sends everything within two seconds.
fn hasty(dice: &mut Dice) -> Vec<PastStep> {
    let mut calls = Calls { stay: 100, steps: Vec::new(), dice };
    for answers in [
        json!({"company": "Cheap links", "country": "DE"}),
        json!({"people": 1}),
        json!({"trial": true}),
    ] {
        calls.call(0, (0, 1), answers);
    }
    calls.steps
}

/// What the staff did with a lead.
fn inbox(dice: &mut Dice, now: i64, ended_at: i64) -> Option<PastInbox> {
    let is_old = now - ended_at > 3 * DAY;
    let status = match is_old {
        true => *dice.weighed(&[
            (8, "new"),
            (22, "qualified"),
            (27, "contacted"),
            (18, "converted"),
            (25, "rejected"),
        ]),
        false => *dice.weighed(&[(70, "new"), (20, "qualified"), (10, "rejected")]),
    };
    let touched_at = ended_at + dice.between(20 * MINUTE, 48 * HOUR);
    (status != "new" && touched_at < now).then_some(PastInbox { status, touched_at })
}

/// A name in the letters that e-mail addresses allow.
fn plain(name: &str) -> String {
    let spelled = name.to_lowercase().replace('ä', "ae").replace('ö', "oe").replace('ü', "ue");
    spelled.replace('ß', "ss")
}

/// Noon of a Wednesday.
#[cfg(test)]
pub(super) const NOON: i64 = 1_764_158_400_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// At any time of day, some visits are under way and no day is without visits.
    #[test]
    fn visits_lie_in_the_last_forty_days_and_are_the_same_each_time() {
        for hour in 0..24 * 7 {
            let now = NOON + hour * HOUR + 1234;
            let all = visits(now);
            assert_eq!(all.len(), 2000);
            let days: std::collections::BTreeSet<_> =
                all.iter().map(|one| (now - one.started_at) / DAY).collect();
            assert!(days.len() >= 40, "{hour}: {days:?}");
            let takes = |one: &PastVisit| one.steps.iter().map(|step| step.after).sum::<i64>();
            let mut new = 0;
            for one in &all {
                let ended = one.started_at + takes(one);
                assert!(one.started_at >= now - DAYS * DAY - MINUTE && ended <= now, "{hour}");
                new += i32::from(ended > now - HOUR);
            }
            assert!((5..80).contains(&new), "{hour}: {new} within the last hour");
        }
        let again = visits(NOON);
        let told = |all: &[PastVisit]| all.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>();
        assert_eq!(told(&visits(NOON)), told(&again));
    }
}
