//! Outside judges of the second factor: Debian's `oathtool` computes the codes, `zbarimg` reads the
//! QR codes.

use std::process::Command;

use cms_core::accounts::qr;
use serde_json::json;

use crate::support::{Site, people::PASSWORD};

/// What the program prints; None, said loudly, where it is not installed.
fn run(program: &str, package: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(arguments).output() {
        Ok(output) => output,
        Err(_) => {
            println!("skipped: {program} is not installed (Debian's package {package})");
            return None;
        }
    };
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[tokio::test]
async fn oathtool_computes_the_code_that_logs_in() {
    let site = Site::open().await;
    site.group("editors", json!([])).await;
    site.user("ana", "editors").await;
    let begun = site.begin("ana", PASSWORD).await.data();
    let secret = begun["setup"]["secret"].as_str().unwrap();
    let at = format!("@{}", site.clock.now() / 1000);
    let Some(code) = run("oathtool", "oathtool", &["--totp", "--base32", "--now", &at, secret])
    else {
        return;
    };
    assert_eq!(site.verify(&begun["pending_token"], json!({"code": code})).await.status, 200);
}

#[tokio::test]
async fn zbarimg_reads_both_pictures() {
    let site = Site::with(|settings| settings.product = "Größe & Söhne".to_owned()).await;
    site.group("editors", json!([])).await;
    site.user("ana@example.org", "editors").await;
    let setup = site.begin("ana@example.org", PASSWORD).await.data()["setup"].clone();
    let url = setup["otpauth_url"].as_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (page, terminal) = (folder.path().join("page.svg"), folder.path().join("terminal.pgm"));
    std::fs::write(&page, setup["qr_svg"].as_str().unwrap()).unwrap();
    std::fs::write(&terminal, picture(&qr::terminal(url).unwrap())).unwrap();
    for path in [page, terminal] {
        let Some(read) =
            run("zbarimg", "zbar-tools", &["--quiet", "--raw", path.to_str().unwrap()])
        else {
            return;
        };
        assert_eq!(read, url, "{}", path.display());
    }
}

/// Half blocks as a terminal shows them in white on black, each half 8 × 8 points (a plain PGM
/// file).
fn picture(text: &str) -> String {
    const SCALE: usize = 8;
    let mut rows: Vec<Vec<bool>> = Vec::new();
    for line in text.lines() {
        let halves = |c: char| match c {
            '█' => (true, true),
            '▀' => (true, false),
            '▄' => (false, true),
            ' ' => (false, false),
            other => panic!("{other:?} is no half block"),
        };
        let (upper, lower) = line.chars().map(halves).unzip();
        rows.extend([upper, lower]);
    }
    let width = rows[0].len() * SCALE;
    let mut file = format!("P2 {width} {} 1\n", rows.len() * SCALE);
    for row in rows {
        let points: String = row
            .iter()
            .flat_map(|light| std::iter::repeat_n(if *light { "1 " } else { "0 " }, SCALE))
            .collect();
        file.extend(std::iter::repeat_n(points + "\n", SCALE));
    }
    file
}
