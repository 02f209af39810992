//! Paths and names that try to leave a plugin's folder: none does.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{RUN, folder, press, printed, site};

/// Plugins and buttons that a caller may name: only what is declared is ever looked for.
#[tokio::test]
async fn no_name_in_a_body_reaches_a_file() {
    let site = site(&[("a", "{}")], printed).await;
    let outside = site.database.folder().join("secret.php");
    std::fs::write(&outside, "\"secret\"").unwrap();
    let absolute = outside.to_str().unwrap();
    let names = ". .. ../shop ./shop shop/ /shop shop/. shop/.. shop/../shop shop// shop%2f.. \
                 ..%2fshop %2e%2e shop\\ ..\\shop SHOP Shop shop. ѕhop ｓｈｏｐ shop\u{200b} \
                 shop\u{202e} sho\u{0301}p ~ ~root $HOME `id` ;id |cat * sh?p C:\\ \
                 \\\\host\\share file:///etc -r --version secret.php ../../secret.php";
    let blank = ["", "shop ", " shop", "shop\n", absolute];
    for name in names.split(' ').chain(blank) {
        let body = json!({"plugin": name, "button_id": "a"});
        site.admin(RUN).json(body).refused(404, "not_found").await;
        let body = json!({"plugin": "shop", "button_id": name});
        site.admin(RUN).json(body).refused(404, "not_found").await;
    }
    let body = json!({"plugin": "shop\u{0}", "button_id": "a"});
    site.admin(RUN).json(body).refused(422, "validation_failed").await;
}

/// What stands at a declared path may change at any time.
#[tokio::test]
async fn no_link_leads_out_of_the_folder() {
    let site = site(&[("a", "\"inside\"")], printed).await;
    let (scripts, root) = (folder(&site.database), site.database.folder());
    let file = scripts.join("a.php");
    let run = async || site.admin(RUN).json(press("a")).send().await;
    assert_eq!(run().await.text(), "\"inside\"");
    let secret = root.join("secret.php");
    std::fs::write(&secret, "\"secret\"").unwrap();
    std::fs::create_dir_all(root.join("plugins/other/script")).unwrap();
    std::fs::write(root.join("plugins/other/script/a.php"), "\"other\"").unwrap();
    std::fs::write(root.join("plugins/shop/plugin.php"), "\"plugin\"").unwrap();
    std::fs::create_dir_all(root.join("plugins/shop/script-x")).unwrap();
    std::fs::write(root.join("plugins/shop/script-x/a.php"), "\"beside\"").unwrap();
    let proc = format!("/proc/{}/root{}", std::process::id(), secret.display());
    for target in [
        secret.to_str().unwrap(),
        "../../../secret.php",
        "../plugin.php",
        "../script-x/a.php",
        "../../other/script/a.php",
        "/etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "/proc/self/environ",
        &proc,
        "..",
        ".",
        "/",
        "nothing.php",
        "a.php",
    ] {
        std::fs::remove_file(&file).unwrap();
        symlink(target, &file).unwrap();
        let reply = run().await;
        assert_eq!(reply.status, 422, "{target}: {}", reply.text());
        assert_eq!(reply.json()["error"], "script_path", "{target}");
    }
    // A link that stays inside is as good as a file.
    std::fs::remove_file(&file).unwrap();
    std::fs::write(scripts.join("b.php"), "\"inside too\"").unwrap();
    symlink("b.php", &file).unwrap();
    assert_eq!(run().await.text(), "\"inside too\"");
    // The folders on the way.
    let away = root.join("away");
    for part in ["plugins/shop/script", "plugins/shop"] {
        let part = root.join(part);
        std::fs::rename(&part, &away).unwrap();
        symlink(&away, &part).unwrap();
        let reply = run().await;
        assert_eq!(reply.status, 422, "{}: {}", part.display(), reply.text());
        std::fs::remove_file(&part).unwrap();
        std::fs::rename(&away, &part).unwrap();
    }
    assert_eq!(run().await.text(), "\"inside too\"");
    // What is no file.
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(run().await.status, 422);
    std::fs::remove_dir(&file).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(&file).unwrap();
    assert_eq!(run().await.status, 422);
}
