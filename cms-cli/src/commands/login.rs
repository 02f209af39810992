//! `cms login`: password, then code. A first login sets up the authenticator. The session's token
//! is kept in a file that only its owner can read. `cms logout` ends the session

use std::path::PathBuf;

use clap::Args;
use cms_core::{Clock, Millis, Secret, accounts::qr};
use cms_http::{
    client::{Client, ClientError, Credential},
    wire::{
        NoBody,
        auth::{Credentials, LoggedIn, Login, Logout, Pending, Setup, Verification, Verify},
        parameters::NoQuery,
    },
};
use serde_json::{Value as Json, json};

use crate::{
    contexts::{Session, Sessions},
    flags::Flags,
    output::{Done, Output, SecretFile},
    prompt, reply, site,
    target::Target,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms login --url https://cms.example.org
  cms login --context prod --username ana
  { pass cms/ana; oathtool --totp -b \"$(pass cms/ana-totp)\"; } |
    cms login --context prod --username ana --password-stdin --code-stdin")]
pub(crate) struct LoginArgs {
    /// Name to log in with
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// Read the password from the first line of standard input
    #[arg(long)]
    password_stdin: bool,
    /// Read the code from the next line of standard input
    #[arg(long)]
    code_stdin: bool,
    /// After a first login: write the recovery codes into this new file (mode 0600) instead of
    /// printing them
    #[arg(long, value_name = "FILE")]
    codes_out: Option<PathBuf>,
}

pub(crate) async fn run(flags: &Flags, out: &Output, args: LoginArgs) -> Done {
    let url = Target::address_only(flags, "cms login")?;
    prompt::interruptible(login(flags, out, args, &url)).await
}

async fn login(flags: &Flags, out: &Output, args: LoginArgs, url: &str) -> Done {
    // Fail before the first question if a later one cannot be asked.
    if args.username.is_none() {
        prompt::expect_terminal(flags, "the name", "--username NAME")?;
    }
    if !args.password_stdin {
        prompt::expect_terminal(flags, "the password", "--password-stdin")?;
    }
    if !args.code_stdin {
        prompt::expect_terminal(flags, "the code", "--code-stdin")?;
    }
    if is_readable_on_the_way(url) {
        out.always(
            "warning: this address is not https, so others can read the password on its way",
        );
    }
    let username =
        args.username.map_or_else(|| prompt::ask(&format!("Username at {url}: ")), Ok)?;
    let password = if args.password_stdin {
        prompt::line_of_stdin("the password")?
    } else {
        prompt::secret("Password: ")?
    };

    let client = site::client(url, &Credential::None, site::wait(flags, Some(out)))?;
    let credentials = Credentials { username, password };
    let (answer, begun) = reply::call::<Login>(&client, &NoQuery {}, &credentials).await?;
    if let Some(warning) = answer.date.and_then(|date| clock_warning(date, Clock::system().now())) {
        out.always(&warning);
    }
    let begun = begun.data;
    let mut file = None;
    if let Some(setup) = &begun.setup {
        file = args.codes_out.map(SecretFile::reserve).transpose()?;
        show_setup(out, setup)?;
    }
    let login = match verify(out, &client, &begun, args.code_stdin).await {
        Ok(login) => login,
        Err(failure) => return Err(SecretFile::given_up(file, failure)),
    };
    // Show the recovery codes first: they must not be lost if the session cannot be kept.
    let codes = login
        .recovery_codes
        .as_ref()
        .map(|codes| keep_codes(out, codes, file))
        .transpose()?
        .flatten();
    let session = Session {
        token: Secret::new(login.token),
        username: login.user.username.clone(),
        expires_at: login.expires_at.clone(),
    };
    Sessions::keep(url, session)?;
    if site::api_key(flags)?.is_some() {
        out.note("An API key is given too. Commands use the key, not this session.");
    }
    if out.json {
        let mut data = json!({
            "url": url,
            "user": {"id": login.user.id, "username": login.user.username},
            "expires_at": login.expires_at,
        });
        if let Some(codes) = codes {
            data["recovery_codes"] = codes;
        }
        return Ok(out.data(&data)?);
    }
    out.note(&format!(
        "Logged in as {} at {url}, until {}.",
        login.user.username, login.expires_at
    ));
    Ok(())
}

/// Sends the code. On a terminal, a wrong code can be typed again.
async fn verify(
    out: &Output,
    client: &Client,
    begun: &Pending,
    from_stdin: bool,
) -> Done<LoggedIn> {
    loop {
        let code = match (from_stdin, &begun.setup) {
            (true, _) => prompt::line_of_stdin("the code")?,
            (false, Some(_)) => prompt::secret("Code of the authenticator: ")?,
            (false, None) => prompt::secret("Code of the authenticator, or a recovery code: ")?,
        };
        let proof = proof(&begun.pending_token, code);
        match client.call::<Verify>(&NoQuery {}, &proof).await {
            Ok(login) => return Ok(login.data),
            Err(ClientError::Problem { code, detail, .. })
                if code == "invalid_code" && !from_stdin =>
            {
                out.always(&detail)
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Digits alone are a code of the authenticator; recovery codes contain letters.
fn proof(pending: &str, code: Secret) -> Verification {
    let digits = code.expose().chars().filter(|c| !c.is_whitespace()).all(|c| c.is_ascii_digit());
    let (code, recovery_code) = if digits { (Some(code), None) } else { (None, Some(code)) };
    Verification { pending_token: Secret::new(pending), code, recovery_code }
}

/// The largest clock difference without a warning. A code is valid in its own half minute and in
/// the ones before and after.
const CLOCK_GAP_MS: Millis = 20_000;

/// Shows the secret on standard error, because it is not data of the command.
fn show_setup(out: &Output, setup: &Setup) -> Done {
    out.always("This is the first login. From now on you need an authenticator app on a phone.");
    if out.live {
        let lines = qr::terminal(&setup.otpauth_url)?;
        let wide = lines.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        if wide > out.width() {
            out.always(&format!(
                "A QR code needs a terminal of {wide} columns. Type the secret instead."
            ));
        } else {
            out.always("Scan this with the app, or type the secret:\n");
            lines.lines().for_each(|line| out.white_on_black(line));
            out.always("");
        }
    }
    out.always(&format!("secret   {}", setup.secret));
    out.always(&format!("address  {}", setup.otpauth_url));
    Ok(())
}

/// Writes the recovery codes into the file, or prints them. With `--json`, returns them for the
/// document. Nothing shows them again.
fn keep_codes(out: &Output, codes: &[String], file: Option<SecretFile>) -> Done<Option<Json>> {
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    if let Some(mut file) = file {
        file.write(&codes)?;
        out.note(&format!(
            "The recovery codes are in {}; they are shown nowhere else.",
            file.path().display()
        ));
        return Ok(None);
    }
    out.note(
        "Recovery codes, shown this once. Each replaces one code of the authenticator: keep them \
         apart from the phone.",
    );
    if out.json {
        return Ok(Some(codes.into()));
    }
    out.raw(&codes.iter().map(|code| format!("{code}\n")).collect::<String>())?;
    Ok(None)
}

/// Warns when the clocks of service and machine are too far apart.
fn clock_warning(service: Millis, here: Millis) -> Option<String> {
    // The service sends full seconds.
    let gap = here - service;
    let side = if gap > 0 { "ahead of" } else { "behind" };
    (gap.abs() > CLOCK_GAP_MS).then(|| {
        let seconds = gap.abs() / 1000;
        format!(
            "warning: this machine's clock is {seconds} s {side} the service's. Codes fail with a \
             wrong clock: set it first."
        )
    })
}

/// Whether others could read the traffic: no TLS, and another machine.
fn is_readable_on_the_way(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    !(host == "localhost" || host.starts_with("127.") || rest.starts_with("[::1]"))
}

/// `cms logout`: ends the session at a running site.
pub(crate) async fn logout(flags: &Flags, out: &Output) -> Done {
    let url = Target::address_only(flags, "cms logout")?;
    let session = Sessions::at(&url)?;
    let ended = match &session {
        Some(session) => {
            let client = site::client(
                &url,
                &Credential::Session(session.token.clone()),
                site::wait(flags, Some(out)),
            )?;
            match client.call::<Logout>(&NoQuery {}, &NoBody).await {
                Ok(_) => true,
                // The session had already ended.
                Err(ClientError::Problem { code, .. }) if code == "login_required" => false,
                Err(error) => return Err(error.into()),
            }
        }
        None => false,
    };
    Sessions::forget(&url)?;
    let text = if ended {
        format!("Logged out at {url}.")
    } else {
        format!("You were not logged in at {url}.")
    };
    out.done(&json!({"url": url, "ended": ended}), &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_are_far_apart_are_told() {
        for (here, told) in [
            (0, None),
            (20_000, None),
            (-20_000, None),
            (21_500, Some("21 s ahead of")),
            (-60_000, Some("60 s behind")),
        ] {
            let warning = clock_warning(1_000_000, 1_000_000 + here);
            match told {
                Some(words) => {
                    assert!(warning.is_some_and(|warning| warning.contains(words)), "{here}")
                }
                None => assert_eq!(warning, None, "{here}"),
            }
        }
    }

    #[test]
    fn only_this_machine_is_safe_without_tls() {
        for (url, readable) in [
            ("https://cms.example.org", false),
            ("http://127.0.0.1:8080", false),
            ("http://localhost", false),
            ("http://[::1]:80", false),
            ("http://cms.example.org", true),
            ("http://10.0.0.7:8080", true),
        ] {
            assert_eq!(is_readable_on_the_way(url), readable, "{url}");
        }
    }
}
