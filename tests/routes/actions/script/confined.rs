//! Scripts behind the launcher, which `cms` is: what they see, what they may take, and their end
//! with all that they have started.

use std::{
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        process::CommandExt as _,
    },
    path::Path,
    process::{Command, Stdio},
};

use cms_core::scripts::Confinement;
use cms_http::client::{Answer, Ask, Client, ClientError};
use serde_json::json;

use super::{begun, folder, has_php, nothing_is_left, press, shop};
use crate::support::{
    TestDatabase,
    process::{self, Served},
};

/// Whether this kernel can confine; the test says so when it cannot.
fn is_able(wanted: Confinement) -> bool {
    let found = Confinement::of_kernel();
    let able = found == wanted || found == Confinement::FilesAndSignals;
    if !able {
        println!("skipped: this kernel can do {found:?}");
    }
    able
}

/// A real server with these scripts as buttons of `shop`, and a client with all rights.
struct Scene {
    database: TestDatabase,
    served: Served,
    client: Client,
}

impl Scene {
    async fn new(scripts: &[(&str, &str)], variables: &[(&str, &str)]) -> Self {
        let database = TestDatabase::new().await;
        process::run(&database, &["init"]);
        database.write_plugin(&shop(&database, scripts));
        let key = process::key(&database);
        let served = Served::start_with(&database, "off", variables);
        let client = served.client(&key);
        Self { database, served, client }
    }

    async fn run(&self, button: &str) -> Result<Answer, ClientError> {
        self.client.send(Ask::post("/api/backend/actions/script").json(&press(button))).await
    }

    fn root(&self) -> &Path {
        self.database.folder()
    }
}

const LOOK: &str = r#"<?php
$site = dirname(__DIR__, 3);
$read = fn ($path) => @file_get_contents($path) !== false;
$write = fn ($path) => @file_put_contents($path, 'x') !== false;
echo json_encode([
    'read' => array_map($read, [
        'settings' => "$site/cms.local.toml", 'database' => "$site/data/cms.db",
        'parent' => '/proc/' . posix_getppid() . '/environ', 'own' => '/proc/self/environ',
        'users' => '/etc/passwd', 'other' => "$site/plugins/other/plugin.json",
        'manifest' => __DIR__ . '/../plugin.json', 'itself' => __FILE__,
    ]),
    'write' => array_map($write, [
        'script' => __DIR__ . '/new.php', 'data' => __DIR__ . '/../data/file',
        'other' => "$site/plugins/other/file", 'outside' => "$site/file",
        'temporary' => sys_get_temp_dir() . '/file',
    ]),
    'list' => @scandir('/proc') !== false,
    'kill' => posix_kill(posix_getppid(), 9),
    'environment' => array_keys(getenv()),
    'temporary' => sys_get_temp_dir(),
    'network' => @stream_socket_server('tcp://127.0.0.1:0') !== false,
]);"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_sees_its_plugins_folder_only() {
    if !has_php() || !is_able(Confinement::Files) {
        return;
    }
    let scene = Scene::new(&[("look", LOOK)], &[]).await;
    for folder in ["other", "shop/data"] {
        std::fs::create_dir_all(scene.root().join("plugins").join(folder)).unwrap();
    }
    std::fs::write(scene.root().join("plugins/other/plugin.json"), "{}").unwrap();
    let seen = scene.run("look").await.unwrap().json().unwrap();
    let read = json!({
        "settings": false, "database": false, "parent": false, "own": false, "users": false,
        "other": false, "manifest": true, "itself": true,
    });
    let write = json!({
        "script": false, "data": true, "other": false, "outside": false, "temporary": true,
    });
    assert_eq!((&seen["read"], &seen["write"]), (&read, &write));
    assert_eq!((&seen["list"], &seen["network"]), (&json!(false), &json!(true)));
    assert_eq!(seen["environment"], json!(["TMPDIR"]));
    if Confinement::of_kernel() == Confinement::FilesAndSignals {
        assert_eq!(seen["kill"], false, "a script ends its supervisor");
    }
    // Temporary files are gone with the script.
    assert!(!Path::new(seen["temporary"].as_str().unwrap()).exists());
    // What a link in the place of the folder data leads to stays closed.
    let data = scene.root().join("plugins/shop/data");
    std::fs::remove_dir_all(&data).unwrap();
    std::os::unix::fs::symlink("../other", &data).unwrap();
    assert_eq!(scene.run("look").await.unwrap().json().unwrap()["write"]["data"], false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confinement_can_be_left_out() {
    if !has_php() {
        return;
    }
    let look = "<?php echo json_encode(file_exists(dirname(__DIR__, 3) . '/cms.local.toml') \
                && is_readable('/proc/self/environ') && file_get_contents('/etc/passwd') !== '');";
    let off = [("CMS_SCRIPTS__CONFINE", "off")];
    let scene = Scene::new(&[("look", look)], &off).await;
    assert_eq!(scene.run("look").await.unwrap().body, "true");
}

const GREEDY: &str = "<?php ini_set('memory_limit', '-1'); echo strlen(str_repeat('x', 2 << 30));";
const AWAY: &str = "<?php exec('setsid sleep 600 > /dev/null 2>&1 &'); \
                    exec('(setsid setsid sleep 600 > /dev/null 2>&1 &)');";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_takes_no_more_than_its_limits_and_leaves_nothing() {
    if !has_php() {
        return;
    }
    let ends = format!("{AWAY} echo '{{}}';");
    let stays = format!("{AWAY} sleep(600);");
    let loud = format!("{AWAY} echo str_repeat('x', 1 << 20); sleep(600);");
    let scripts = [("greedy", GREEDY), ("ends", &ends), ("stays", &stays), ("loud", &loud)];
    let limits = [("CMS_SCRIPTS__TIMEOUT_S", "2"), ("CMS_SCRIPTS__MAX_OUTPUT_BYTES", "1000")];
    let scene = Scene::new(&scripts, &limits).await;
    for (id, why) in [
        ("greedy", Some("exit status: 1;")),
        ("ends", None),
        ("stays", Some("took longer than 2 s")),
        ("loud", Some("wrote more than 1000 bytes")),
    ] {
        let ended = scene.run(id).await;
        match (ended, why) {
            (Ok(answer), None) => assert_eq!(answer.body, "{}"),
            (Err(ClientError::Problem { code, detail, .. }), Some(why)) => {
                assert!(code == "script_failed" && detail.contains(why), "{id}: {detail}");
            }
            (ended, _) => panic!("{id}: {ended:?}"),
        }
        nothing_is_left(&folder(&scene.database)).await;
    }
}

/// SIGKILL leaves the server no chance to end anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_scripts_have_started_ends_with_a_killed_server() {
    let script = "setsid sleep 600 > /dev/null 2>&1 &\n(setsid sleep 600 &)\nsleep 600";
    let mut scene = Scene::new(&[("slow", script)], &[("CMS_SCRIPTS__INTERPRETER", "sh")]).await;
    let client = scene.client.clone();
    let asked = tokio::spawn(async move {
        client.send(Ask::post("/api/backend/actions/script").json(&press("slow"))).await
    });
    begun(&folder(&scene.database), 4).await;
    scene.served.kill();
    nothing_is_left(&folder(&scene.database)).await;
    asked.await.unwrap().unwrap_err();
}

/// The limit on processes does not bind root, so the launcher runs as another user here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_starts_so_many_processes_and_no_more() {
    let (bin, site) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = bin.path().join("cms");
    // A copy made by this process could be busy: another test may start a process meanwhile.
    let binary = process::program().get_program().to_owned();
    assert!(Command::new("cp").arg(binary).arg(&program).status().unwrap().success());
    let file = site.path().join("bomb.php");
    let bomb = "for i in $(seq 200); do sleep 600 > /dev/null 2>&1 & done; echo {}";
    std::fs::write(&file, bomb).unwrap();
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0);
    for folder in [bin.path(), site.path()] {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder, mode).unwrap();
    }
    let plan = json!({
        "args": ["__script"], "interpreter": "/bin/sh", "file": file, "plugin": site.path(),
        "input": 0, "confine": "auto", "memory": 0, "processes": 20, "read": [],
        "temporary": null, "supervisor": null,
    });
    let mut command = Command::new(&program);
    command.args(["__script", "supervise", &plan.to_string()]).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if is_root {
        // Nobody else's: what runs as that user counts.
        command.uid(54_321).gid(54_321);
    }
    let mut child = command.spawn().unwrap();
    // The end of its input would be the end of the script.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && complaints.contains("fork"), "{output:?}");
    nothing_is_left(site.path()).await;
}

/// `/proc/PID/environ` shows the variables that a program was started with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_environment_of_the_server_holds_no_secret() {
    let key = data_encoding::BASE64.encode(b"hunter2-hunter2-hunter2-hunter2-");
    let variables = [("CMS_UPDATE_PASSWORD", "hunter2"), ("CMS_OLD_ENCRYPTION_KEYS", &*key)];
    let scene = Scene::new(&[], &variables).await;
    let process = scene.served.child.id();
    let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    for kept in ["CMS_LOG=", "MIMALLOC_GENERIC_COLLECT=1000"] {
        assert!(environment.contains(kept), "{environment}");
    }
    for secret in ["hunter2", &key, "CMS_DATABASE_URL=", "PASSWORD"] {
        assert!(!environment.contains(secret), "{environment}");
    }
    // The true standard input is back, and the secrets are known.
    let stdin = std::fs::read_link(format!("/proc/{process}/fd/0")).unwrap();
    assert_eq!(stdin, Path::new("/dev/null"));
    let mut shown = process::command(&scene.database, &["config", "show", "--origin"]);
    let shown = shown.env("CMS_UPDATE_PASSWORD", "hunter2").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let line = shown.lines().find(|line| line.starts_with("update_password")).unwrap();
    assert!(line.contains("***") && line.contains("CMS_UPDATE_PASSWORD"), "{line}");
}

/// The allocator's option comes without secrets too; a value of the operator's stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_allocator_keeps_the_option_of_the_operator() {
    let database = TestDatabase::new().await;
    process::run(&database, &["init"]);
    let own = [("mimalloc_generic_collect", "5000")];
    for (given, kept) in [(&[][..], "collect=1000"), (&own, "collect=5000")] {
        let served = Served::start_with(&database, "error", given);
        let environment = std::fs::read(format!("/proc/{}/environ", served.child.id())).unwrap();
        let environment = String::from_utf8_lossy(&environment).to_lowercase();
        let found = environment.split('\0').filter(|v| v.starts_with("mimalloc_generic_collect"));
        assert_eq!(found.count(), 1, "{environment}");
        assert!(environment.contains(kept), "{environment}");
    }
}

/// Standard input passes through the second start.
#[test]
fn standard_input_arrives_beside_secrets() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let mut command = process::program();
    command.args(["--dir"]).arg(folder.path());
    command.args(["init", "--admin", "ana", "--password-stdin"]);
    command.env("CMS_UPDATE_PASSWORD", "hunter2");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a long enough password\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("the administrator ana"),
        "{output:?}"
    );
}
