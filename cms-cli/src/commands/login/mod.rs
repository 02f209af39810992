//! `cms login`: password, then code. The session's token goes into a file that only its owner reads

mod setup;

use std::path::PathBuf;

use clap::Args;
use cms_core::{Clock, Secret};
use cms_http::{
    client::{Client, ClientError, Credential},
    wire::{
        auth::{Credentials, LoggedIn, Login, Pending, Verification, Verify},
        parameters::NoQuery,
    },
};
use serde_json::json;

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
    let (url, _) = Target::address_only(flags, "cms login")?;
    prompt::interruptible(login(flags, out, args, &url)).await
}

async fn login(flags: &Flags, out: &Output, args: LoginArgs, url: &str) -> Done {
    // Before the first question: can all of them be asked?
    if args.username.is_none() {
        prompt::expect_terminal(flags, "the name", "--username NAME")?;
    }
    if !args.password_stdin {
        prompt::expect_terminal(flags, "the password", "--password-stdin")?;
    }
    if !args.code_stdin {
        prompt::expect_terminal(flags, "the code", "--code-stdin")?;
    }
    if setup::is_readable_on_the_way(url) {
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
    if let Some(warning) =
        answer.date.and_then(|date| setup::clock_warning(date, Clock::system().now()))
    {
        out.always(&warning);
    }
    let begun = begun.data;
    let mut file = None;
    if let Some(setup) = &begun.setup {
        file = args.codes_out.map(SecretFile::reserve).transpose()?;
        setup::show(out, setup)?;
    }
    let login = match verify(out, &client, &begun, args.code_stdin).await {
        Ok(login) => login,
        Err(failure) => return Err(SecretFile::given_up(file, failure)),
    };
    // Codes first: they must not be lost if the session cannot be kept.
    let codes = login
        .recovery_codes
        .as_ref()
        .map(|codes| setup::keep_codes(out, codes, file))
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

/// Digits alone are a code of the authenticator; recovery codes have letters.
fn proof(pending: &str, code: Secret) -> Verification {
    let digits = code.expose().chars().filter(|c| !c.is_whitespace()).all(|c| c.is_ascii_digit());
    let (code, recovery_code) = if digits { (Some(code), None) } else { (None, Some(code)) };
    Verification { pending_token: Secret::new(pending), code, recovery_code }
}
