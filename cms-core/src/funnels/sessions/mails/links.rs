//! Links that mails hold. Pure.

/// Where a page finds the token of a visit. What stands behind `#` reaches no server, so no log of
/// one holds it.
const TOKEN: &str = "cms-resume";

/// The address of a submission. Without an address of the site it stays blank.
pub(in crate::funnels) fn submission(site: Option<&str>, host: Option<&str>, id: i64) -> String {
    let site = site.map(str::to_owned).or_else(|| Some(format!("https://{}", host?)));
    let Some(site) = site else { return String::new() };
    let site = site.trim_end_matches('/');
    format!("{site}/api/backend/formfunnel?action=submission_get&id={id}")
}

/// The page of a funnel, led back to a visit.
pub(in crate::funnels) fn resume(page: &str, token: &str) -> String {
    format!("{page}#{TOKEN}={token}")
}
