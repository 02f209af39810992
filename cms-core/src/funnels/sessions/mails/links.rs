//! Links that mails hold. Pure.

use crate::settings::Settings;

/// Where a page finds the token of a visit. What stands behind `#` reaches no server, so no log of
/// one holds it.
const TOKEN: &str = "cms-resume";
/// What stands for the id of a submission in the setting.
const ID: &str = "{id}";

/// The address of a submission: as the settings say, else in the API. Without an address of either
/// it stays blank.
pub(in crate::funnels) fn submission(settings: &Settings, host: Option<&str>, id: i64) -> String {
    if let Some(shown) = &settings.mail.submission_url {
        return shown.replace(ID, &id.to_string());
    }
    let api = settings.api_url.clone().or_else(|| settings.site_url.clone());
    let Some(api) = api.or_else(|| Some(format!("https://{}", host?))) else {
        return String::new();
    };
    let api = api.trim_end_matches('/');
    format!("{api}/api/backend/formfunnel?action=submission_get&id={id}")
}

/// The page of a funnel, led back to a visit.
pub(in crate::funnels) fn resume(page: &str, token: &str) -> String {
    format!("{page}#{TOKEN}={token}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_is_shown_where_the_settings_say() {
        let mut settings = Settings::default();
        let api = |site: &str| format!("{site}/api/backend/formfunnel?action=submission_get&id=7");
        assert_eq!(submission(&settings, None, 7), "");
        assert_eq!(submission(&settings, Some("a.org:8443"), 7), api("https://a.org:8443"));
        settings.site_url = Some("https://b.org".to_owned());
        assert_eq!(submission(&settings, Some("a.org"), 7), api("https://b.org"));
        settings.api_url = Some("https://b.org/cms".to_owned());
        assert_eq!(submission(&settings, Some("a.org"), 7), api("https://b.org/cms"));
        settings.mail.submission_url = Some("https://admin.b.org/leads/{id}?of={id}".to_owned());
        let shown = "https://admin.b.org/leads/7?of=7";
        assert_eq!(submission(&settings, Some("a.org"), 7), shown);
    }
}
