use std::os::unix::fs::symlink;

use crate::support::{Site, media::png};

#[tokio::test]
async fn no_path_leads_out_of_the_folder() {
    let site = Site::open().await;
    let file = site.upload("a.png", &png(8, 5, 1)).await.data();
    let path = file["path"].as_str().unwrap().to_owned();
    let (folder, name) = path.strip_prefix("/media/").unwrap().split_once('/').unwrap();
    let rest = name.strip_suffix(".png").unwrap();
    // What must not be reached: a file beside the folder, one in it, links to it, a pipe's folder.
    let media = site.media_folder();
    let secret = "canary";
    std::fs::write(media.parent().unwrap().join("secret.png"), secret).unwrap();
    std::fs::write(media.join("secret.png"), secret).unwrap();
    let hex = |digit: &str| format!("{}.png", digit.repeat(62));
    std::fs::create_dir_all(media.join("aa")).unwrap();
    std::fs::create_dir_all(media.join("bb").join(hex("b"))).unwrap();
    symlink(media.join("secret.png"), media.join("aa").join(hex("a"))).unwrap();
    symlink("/etc/passwd", media.join("aa").join(hex("c"))).unwrap();
    symlink(media.join("aa").join(hex("e")), media.join("aa").join(hex("e"))).unwrap();
    std::fs::write(media.join("aa").join("secret.png"), secret).unwrap();
    std::fs::create_dir_all(media.join(".incoming")).unwrap();
    std::fs::write(media.join(".incoming").join("secret.png"), secret).unwrap();
    let (a, b, c, e) = (hex("a"), hex("b"), hex("c"), hex("e"));
    let long = "a".repeat(5000);
    let attacks = [
        "/media/secret.png".to_owned(),
        "/media/../secret.png".to_owned(),
        "/media/../data/cms.db".to_owned(),
        "/media/%2e%2e/secret.png".to_owned(),
        "/media/%2E%2E%2fsecret.png".to_owned(),
        "/media/..%2fsecret.png".to_owned(),
        "/media/..%5csecret.png".to_owned(),
        "/media/..\\secret.png".to_owned(),
        "/media/....//secret.png".to_owned(),
        "/media/.%2e/secret.png".to_owned(),
        "/media/%252e%252e/secret.png".to_owned(),
        "/media/%c0%ae%c0%ae/secret.png".to_owned(),
        "/media/%e0%80%ae%e0%80%ae/secret.png".to_owned(),
        "/media/\u{ff0e}\u{ff0e}/secret.png".replace('\u{ff0e}', "%ef%bc%8e"),
        "/media//etc/passwd".to_owned(),
        "/media/%2fetc%2fpasswd".to_owned(),
        "/media/etc/passwd".to_owned(),
        "/media/file:/etc/passwd".to_owned(),
        "/media/C:/secret.png".to_owned(),
        "/media/./secret.png".to_owned(),
        "/media/aa/secret.png".to_owned(),
        "/media/aa/../secret.png".to_owned(),
        "/media/.incoming/secret.png".to_owned(),
        "/media/.variants/secret.png".to_owned(),
        format!("/media/aa/{a}"),
        format!("/media/bb/{b}"),
        format!("/media/aa/{c}"),
        format!("/media/aa/{e}"),
        format!("/media/aa/{e}?w=320"),
        format!("/media/aa/{a}?w=320"),
        format!("/media/{folder}/{rest}.png%00.html"),
        format!("/media/{folder}/{rest}.png/"),
        format!("/media/{folder}/{rest}.png/x"),
        format!("/media/{folder}/{rest}"),
        format!("/media/{folder}/{rest}.PNG"),
        format!("/media/{folder}/{rest}.html"),
        format!("/media/{folder}/{rest}.png "),
        format!("/media/{folder}/{rest}.png;.html"),
        format!("/media/{}/{rest}.png", folder.to_uppercase() + "A"),
        format!("/media/{folder}/{}.png", rest.to_uppercase() + "A"),
        format!("/media/{folder}/{rest}-320.png"),
        format!("/media/{folder}%2f{rest}.png"),
        format!("/media/{long}/{long}.png"),
        format!("/media/{folder}/{long}.png"),
        "/media/con/nul.png".to_owned(),
        "/media/aa".to_owned(),
        "/media/".to_owned(),
        "/media".to_owned(),
    ];
    assert!(attacks.len() >= 40);
    for attack in attacks {
        // What is no address at all never becomes a request.
        let Ok(_) = attack.parse::<http::Uri>() else { continue };
        let reply = site.ask(&format!("GET {attack}")).send().await;
        let code = reply.status.as_u16();
        assert!([400, 404].contains(&code), "{attack}: {code}");
        assert!(!reply.text().contains(secret) && !reply.text().contains("root:"), "{attack}");
    }
    site.ask(&format!("GET {path}")).expect(200).await;
    // Names that senders give lead nowhere either.
    for (n, name) in ["../../secret.png", "/etc/passwd", "..\\..\\a", "a\u{202e}b", ".", ".."]
        .into_iter()
        .enumerate()
    {
        let file = site.uploading(&[], name, &png(8, 6, n as u8)).expect(201).await.data();
        assert!(file["path"].as_str().unwrap().starts_with("/media/"), "{name}");
        assert!(!file["file_name"].as_str().unwrap().contains(['/', '\\', '\u{202e}']), "{name}");
    }
    // What is not ours is let be.
    let found = site.cms.media().check(true).await.unwrap();
    assert_eq!((found.files, found.removed, found.lost), (7, 0, 0), "{found:?}");
    assert!(media.join("secret.png").exists() && media.join("aa").join(a).exists());
}
