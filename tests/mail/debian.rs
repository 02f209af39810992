//! A mail server as people run it: Debian's Exim, with TLS, a login, and a certificate made for the
//! test. Skipped where it is not installed; `.ci/run` installs it.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use cms_core::{Secret, settings::SmtpTls};
use data_encoding::BASE64;

use crate::support::{
    Site,
    mail::{mail, mailing},
};

const EXIM: &str = "/usr/sbin/exim4";

/// Takes mails for example.com from those who use TLS and log in, and keeps them in its spool.
const CONFIG: &str = r#"
primary_hostname = mail.example.com
spool_directory = FOLDER/spool
log_file_path = FOLDER/log-%s
pid_file_path = FOLDER/pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = PORT : SECURE
tls_on_connect_ports = SECURE
tls_advertise_hosts = *
tls_certificate = FOLDER/cert.pem
tls_privatekey = FOLDER/key.pem
smtputf8_advertise_hosts = *
message_size_limit = 1M
queue_only
daemon_startup_retries = 0
keep_environment =
add_environment = PATH=/usr/bin
acl_smtp_rcpt = recipients
acl_smtp_data = all
begin acl
recipients:
  deny message = TLS first
    !encrypted = *
  deny message = login first
    !authenticated = *
  deny message = 5.1.1 no such user
    local_parts = nobody
  defer message = 4.2.0 come back later
    local_parts = later
  accept domains = example.com
  deny message = 5.7.1 relay not permitted
all:
  accept
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = ${if and{{eq{$auth2}{shop}}{eq{$auth3}{pa:ss}}}}
  server_set_id = $auth2
"#;

struct Exim {
    folder: tempfile::TempDir,
    child: Child,
    port: u16,
    secure: u16,
}

impl Drop for Exim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pem(what: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {what}-----\n");
    for line in BASE64.encode(der).as_bytes().chunks(64) {
        text.push_str(std::str::from_utf8(line).unwrap());
        text.push('\n');
    }
    format!("{text}-----END {what}-----\n")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Exim {
    /// None where it is not installed.
    fn start() -> Option<Self> {
        if !Path::new(EXIM).exists() {
            println!("skipped: {EXIM} is missing (Debian: exim4-daemon-light)");
            return None;
        }
        // Another program may take a port in between.
        (0..5).find_map(|_| Self::try_start()).or_else(|| panic!("Exim does not listen"))
    }

    fn try_start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let (port, secure) = (free_port(), free_port());
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let (certificate, key) = (made.cert.der().to_vec(), made.signing_key.serialize_der());
        fs::write(folder.path().join("cert.pem"), pem("CERTIFICATE", &certificate)).unwrap();
        fs::write(folder.path().join("key.pem"), pem("PRIVATE KEY", &key)).unwrap();
        fs::create_dir(folder.path().join("spool")).unwrap();
        let text = CONFIG
            .replace("FOLDER", folder.path().to_str().unwrap())
            .replace("PORT", &port.to_string())
            .replace("SECURE", &secure.to_string());
        let config = folder.path().join("exim.conf");
        fs::write(&config, text).unwrap();
        // Started by root, it works as a user of its own.
        for entry in ["", "spool", "cert.pem", "key.pem", "exim.conf"] {
            let path = folder.path().join(entry);
            let mode = if path.is_dir() { 0o777 } else { 0o644 };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let child = Command::new(EXIM)
            .args(["-C", config.to_str().unwrap(), "-bdf"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut exim = Self { folder, child, port, secure };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err()
            || TcpStream::connect(("127.0.0.1", secure)).is_err()
        {
            if exim.child.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "Exim does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(exim)
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// The mails in its spool.
    fn spool(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().join("spool/input")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if name.ends_with("-H") {
                    found.push(String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
                }
            }
        }
        found
    }
}

async fn site(url: String, change: impl FnOnce(&mut cms_core::settings::MailSettings)) -> Site {
    mailing(|mail| {
        mail.smtp_url = Some(Secret::new(url));
        mail.smtp_tls = SmtpTls::Required;
        change(mail);
    })
    .await
}

#[tokio::test]
async fn exim_takes_mails_with_tls_and_a_login() {
    let Some(exim) = Exim::start() else { return };
    let (port, secure, trusted) = (exim.port, exim.secure, exim.certificate());
    for (number, url) in [
        format!("smtp://shop:pa%3Ass@127.0.0.1:{port}"),
        format!("smtps://shop:pa%3Ass@localhost:{secure}"),
    ]
    .into_iter()
    .enumerate()
    {
        let site = site(url.clone(), |mail| mail.smtp_ca_file = Some(trusted.clone())).await;
        let mut html = mail("jörg@example.com");
        html.html = Some("<p>Grüße</p>".to_owned());
        let id = site.queue_mail(&html).await;
        let other = ["nobody@example.com", "later@example.com", "ana@example.net"];
        let mut others = Vec::new();
        for to in other {
            others.push(site.mail(to).await);
        }
        site.send_mails().await;
        let detail = site.mail_detail(id).await;
        assert_eq!(detail.mail.status, "sent", "{url} {detail:?}");
        let mut outcomes = Vec::new();
        for id in others {
            outcomes.push(site.mail_story(id).await);
        }
        assert_eq!(
            outcomes,
            ["failed: smtp recipient", "queued: smtp deferred", "failed: smtp refused"]
        );
        let spool = exim.spool();
        assert_eq!(spool.len(), number + 1);
        let kept = spool.iter().find(|kept| kept.contains(&detail.message_id)).unwrap();
        assert!(kept.contains("jörg@example.com") && kept.contains("-tls_cipher"), "{kept}");
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_and_a_wrong_password_are_faults() {
    let Some(exim) = Exim::start() else { return };
    let (port, trusted) = (exim.port, exim.certificate());
    let good = format!("smtp://shop:pa%3Ass@127.0.0.1:{port}");
    let bad = format!("smtp://shop:wrong@127.0.0.1:{port}");
    for (url, certificate) in [(good, None), (bad, Some(trusted))] {
        let site = site(url, |mail| mail.smtp_ca_file = certificate).await;
        let id = site.try_mail("ana@example.com").await;
        assert_eq!(site.mail_story(id).await, "queued: smtp fault");
        let reason = site.mail_detail(id).await.mail.reason.unwrap();
        assert!(!reason.contains("wrong@") && !reason.contains("pa:ss"), "{reason}");
    }
    assert!(exim.spool().is_empty());
}
