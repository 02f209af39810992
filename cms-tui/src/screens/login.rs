//! Login at a running site: password, then code; the first login sets up the authenticator.

use cms_http::wire::auth::{Login, Verify};

use super::prelude::*;
use crate::widgets::qr;

/// The login screen. Its form covers the lower part, so that the QR code stays visible.
#[derive(Default)]
pub(crate) struct SignIn {
    /// What the authenticator needs, at a first login.
    setup: Option<Json>,
}

/// Name and password.
pub(crate) fn password() -> Step {
    let fields = vec![
        Field::text("username", "Name", "").required(),
        Field::secret("password", "Password").required(),
    ];
    Form::new("Log in", fields, |values| {
        let body =
            json!({"username": values.text("username"), "password": values.text("password")});
        send_json::<Login>(&NoQuery {}, body).then(begun)
    })
    .step()
}

fn begun(reply: Reply) -> Step {
    let pending = reply.data["pending_token"].as_str().unwrap_or_default().to_owned();
    let setup = &reply.data["setup"];
    if setup.is_null() {
        return Step::Several(vec![Step::Set("setup", String::new()), code(pending, false)]);
    }
    Step::Several(vec![Step::Set("setup", setup.to_string()), code(pending, true)])
}

/// Asks for a code of the authenticator, or for a recovery code; those contain letters.
fn code(pending: String, is_first: bool) -> Step {
    let hint = if is_first {
        "6 digits of the app that scanned the code"
    } else {
        "6 digits of your app, or a recovery code"
    };
    let fields = vec![Field::text("code", "Code", "").required().hint(hint)];
    let form = Form::new("Second factor", fields, move |values| {
        let code: String = values.text("code").split_whitespace().collect();
        let name = if code.chars().all(|c| c.is_ascii_digit()) { "code" } else { "recovery_code" };
        let body = json!({"pending_token": pending, name: code});
        send_json::<Verify>(&NoQuery {}, body).then(done)
    });
    form.low().step()
}

fn done(reply: Reply) -> Step {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let login = Step::LoggedIn {
        token: text(&reply.data["token"]),
        user: text(&reply.data["user"]["username"]),
        expires_at: text(&reply.data["expires_at"]),
    };
    let codes: Vec<_> = texts(&reply.data["recovery_codes"]).collect();
    if codes.is_empty() {
        return login;
    }
    let about = "Each of these codes is good for one login without your phone.";
    let viewer = Viewer::once("Recovery codes", about, codes.join("\n"));
    Step::Several(vec![login, Step::View(viewer)])
}

impl Screen for SignIn {
    fn noun(&self) -> &'static str {
        "login"
    }

    fn title(&self) -> String {
        "Log in".to_owned()
    }

    fn load(&mut self) -> Step {
        Step::None
    }

    fn take(&mut self, _: u8, _: Result<Reply, Fault>) -> (Step, bool) {
        (Step::None, false)
    }

    fn act(&mut self, verb: &str, _: &Scene<'_>) -> Step {
        if verb == "submit" { password() } else { Step::None }
    }

    fn set(&mut self, what: &str, value: &str) -> Step {
        if what == "setup" {
            self.setup = serde_json::from_str(value).ok();
        }
        Step::None
    }

    fn poll_s(&self) -> i64 {
        i64::from(i32::MAX)
    }

    /// A code of 21 lines fits into 24 only so.
    fn is_whole(&self) -> bool {
        self.setup.is_some()
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        let theme = look.theme;
        let Some(setup) = &self.setup else {
            let inner = framed(frame, area, "Log in", true, theme);
            let text =
                ["You are not logged in here.", "", "Enter begins. On a plain terminal: cms login"];
            return lines(frame, inner, text.map(|line| Line::from(format!(" {line}"))).to_vec());
        };
        let url = setup["otpauth_url"].as_str().unwrap_or_default();
        let code = qr::lines(url).unwrap_or_default();
        let wide = code.first().map_or(0, |line| line.width() as u16);
        // A cut code cannot be scanned: then the secret is shown as text.
        let fits = code.len() <= usize::from(area.height) && wide + 26 <= area.width;
        let wide = if fits { wide } else { 0 };
        let [left, right] =
            Layout::horizontal([Constraint::Length(wide), Constraint::Fill(1)]).areas(area);
        if fits {
            lines(frame, left, code);
        }
        let secret = setup["secret"].as_str().unwrap_or_default();
        let mut text = vec![
            Line::styled(" First login", theme.style(Role::Title)),
            Line::default(),
            Line::from(if fits { " 1. Scan the code, or" } else { " 1. Into your app," }),
            Line::from("    type this secret:"),
        ];
        let groups: Vec<char> = safe(secret).chars().collect();
        text.extend(groups.chunks(16).map(|part| {
            let part: Vec<String> = part.chunks(4).map(String::from_iter).collect();
            Line::styled(format!("    {}", part.join(" ")), theme.style(Role::Title))
        }));
        text.push(Line::from(" 2. Type its 6 digits."));
        lines(frame, right, text);
    }
}
