//! Building images for the real engine. The Debian image is left to the benchmarks: it takes a minute.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests: a failure here is a failed test"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use creel::engine::{ContainerSpec, Discovery, Engine, Limits};
use creel::image::{self, Event, ExtraCa, LABEL_CA, Order, Outcome, Recipe, Reference};
use creel::state::StateDir;
use tokio_util::sync::CancellationToken;

/// An engine, a state directory and a reference for one test; what was made under them goes at its end.
struct Bench {
    engine: Engine,
    state: StateDir,
    reference: Reference,
    _dir: tempfile::TempDir,
}

impl Bench {
    async fn new(test: &str) -> Self {
        let found = Engine::discover(&Discovery::from_process(None)).await;
        let engine = found.expect("these tests need a container engine");
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path().join("state"));
        let reference =
            Reference::parse(&format!("creel-images-test-{test}:{}", std::process::id())).unwrap();
        Self { engine, state, reference, _dir: dir }
    }

    fn order(&self) -> Order {
        Order { reference: self.reference.clone(), ..Order::of(Recipe::Minimal) }
    }

    async fn build(&self, order: &Order) -> Outcome {
        image::build(&self.engine, &self.state, order, &|_| (), &CancellationToken::new()).await.unwrap()
    }

    /// The output of `script` run by a login shell as PID 1, and its exit code.
    async fn run(&self, script: &str) -> (String, Option<i64>) {
        let name = format!("{}-run", self.reference.as_str().replace(':', "-"));
        let id = self.engine.create(&spec(name, self.reference.as_str(), script)).await.unwrap();
        let started = self.engine.start(&id).await;
        let mut ended = None;
        for _ in 0..300 {
            let facts = self.engine.inspect(&id.0).await.unwrap().unwrap();
            if started.is_err() || !facts.running {
                ended = facts.exit_code;
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let log = self.engine.log_tail(&id, 100).await;
        self.engine.remove(&id).await.unwrap();
        started.unwrap();
        (log.unwrap(), ended)
    }
}

impl Drop for Bench {
    /// Also after a failed assertion. A drop cannot await, so a thread with its own runtime does it.
    fn drop(&mut self) {
        let (engine, reference) = (self.engine.clone(), self.reference.clone());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let _ = engine.remove_image(reference.as_str()).await;
            });
        });
        let _ = cleaning.join();
    }
}

fn spec(name: String, image: &str, script: &str) -> ContainerSpec {
    ContainerSpec {
        name,
        image: image.to_owned(),
        argv: ["sh", "-lc", script].map(str::to_owned).into(),
        env: vec![("PATH".to_owned(), "/bin:/changed".to_owned())],
        labels: BTreeMap::new(),
        user: None,
        workdir: "/workspace".to_owned(),
        mounts: Vec::new(),
        tmpfs: Vec::new(),
        network: "none".to_owned(),
        dns: Vec::new(),
        extra_hosts: Vec::new(),
        read_only_root: true,
        cap_drop: vec!["ALL".to_owned()],
        seccomp: None,
        apparmor: None,
        limits: Limits { pids: Some(64), ..Limits::default() },
        gpus: None,
        engine_init: false,
        stdin: false,
        stop_timeout_s: 1,
    }
}

fn ca() -> ExtraCa {
    ExtraCa::parse("-----BEGIN CERTIFICATE-----\nMAEH\n-----END CERTIFICATE-----\n").unwrap()
}

#[tokio::test]
async fn the_minimal_image_runs_commands() {
    let bench = Bench::new("runs").await;
    let built = bench.build(&bench.order()).await;
    assert!(matches!(built, Outcome::Built(_)));
    assert_eq!(built.image().user, "sandbox");
    assert_eq!(built.image().tags, [bench.reference.as_str()]);
    let script = "echo ok; id -u; id -un; echo $HOME; echo $PATH; stat -c %a /tmp; readlink -f -n /bin/sh";
    let (output, code) = bench.run(script).await;
    let lines: Vec<_> = output.lines().map(str::trim_end).collect();
    // PATH is the profile's: a login shell forgets the one it was started with.
    let path = "/usr/local/bin:/usr/bin:/bin";
    assert_eq!(lines, ["ok", "1000", "sandbox", "/home/sandbox", path, "1777", "/bin/busybox"]);
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn an_image_that_is_up_to_date_is_left_alone() {
    let bench = Bench::new("again").await;
    let first = bench.build(&bench.order()).await;
    assert_eq!(bench.build(&bench.order()).await, Outcome::UpToDate(first.image().clone()));
    let forced = bench.build(&Order { force: true, ..bench.order() }).await;
    assert!(matches!(forced, Outcome::Built(_)));
    let replaced = bench.engine.image(&first.image().id).await.unwrap();
    assert!(
        replaced.is_none() || forced.image().id == first.image().id,
        "the replaced image stays: {replaced:?}"
    );
}

#[tokio::test]
async fn an_extra_ca_makes_another_image() {
    let bench = Bench::new("ca").await;
    let order = Order { ca: Some(ca()), ..bench.order() };
    let with = bench.build(&order).await;
    assert_eq!(with.image().labels[LABEL_CA], ca().digest());
    let (output, _) = bench.run("cat /etc/ssl/certs/ca-certificates.crt").await;
    assert_eq!(output.trim(), ca().pem().trim());
    assert!(matches!(bench.build(&order).await, Outcome::UpToDate(_)));
    assert!(matches!(bench.build(&bench.order()).await, Outcome::Built(_)));
}

#[tokio::test]
async fn two_builds_at_once_make_one_image() {
    let bench = Bench::new("both").await;
    let order = bench.order();
    let waited = std::sync::atomic::AtomicBool::new(false);
    let tell = |event: Event<'_>| {
        if event == Event::Stage("waiting for another build of this image") {
            waited.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let cancel = CancellationToken::new();
    let build = || image::build(&bench.engine, &bench.state, &order, &tell, &cancel);
    let (one, two) = tokio::join!(build(), build());
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.image(), two.image());
    assert_ne!(matches!(one, Outcome::Built(_)), matches!(two, Outcome::Built(_)));
    assert!(waited.into_inner());
}

#[tokio::test]
async fn an_import_that_breaks_off_leaves_nothing() {
    let bench = Bench::new("broken").await;
    let parts =
        vec![Ok(bytes::Bytes::from(vec![0_u8; 1024])), Err(std::io::Error::other("the producer failed"))];
    let imported =
        bench.engine.import(futures_util::stream::iter(parts), bench.reference.as_str(), &[]).await;
    assert!(imported.is_err(), "{imported:?}");
    assert!(bench.engine.image(bench.reference.as_str()).await.unwrap().is_none());
}

#[tokio::test]
async fn the_list_shows_what_there_is() {
    let bench = Bench::new("list").await;
    let built = bench.build(&bench.order()).await;
    let list = image::list(&bench.engine, None).await.unwrap();
    let mine = list.iter().find(|status| status.reference == bench.reference.as_str()).unwrap();
    assert!(mine.built && mine.up_to_date);
    assert_eq!((mine.name, mine.id.as_ref()), ("minimal", Some(&built.image().id)));
    assert!(list.iter().any(|status| status.reference == "openclaw-sandbox:bookworm-slim"));
    let only = image::list(&bench.engine, Some(Recipe::Sandbox)).await.unwrap();
    assert!(only.iter().all(|status| status.name == "sandbox"));
}

/// Calls the program itself, with a state directory of its own; programs in `tools` come before the host's.
#[expect(clippy::disallowed_methods, reason = "a test of the program as a whole")]
fn creel(bench: &Bench, tools: &Path, args: &[&str]) -> std::process::Output {
    let mut path = tools.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_creel"));
    command.args(args).env("CREEL_STATE_DIR", bench.state.root()).env("PATH", path).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn the_command_builds_and_lists() {
    let bench = Bench::new("command").await;
    let tag = bench.reference.as_str();
    let none = Path::new("/nonexistent");
    let first = creel(&bench, none, &["images", "build", "minimal", "--tag", tag]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert!(text(&first.stdout).starts_with(&format!("minimal: built {tag} in ")), "{}", text(&first.stdout));
    assert!(text(&first.stderr).contains("minimal: importing\n"), "{}", text(&first.stderr));
    let second = creel(&bench, none, &["images", "build", "minimal", "--tag", tag]);
    assert!(text(&second.stdout).contains("is up to date"), "{}", text(&second.stdout));
    let list = creel(&bench, none, &["images", "list", "minimal", "--json"]);
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let mine = list.as_array().unwrap().iter().find(|row| row["reference"] == tag).unwrap();
    assert_eq!(mine["upToDate"], true);
    let refused = creel(&bench, none, &["images", "build", "nothing"]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(text(&refused.stderr).contains("CRL-IMAGE-001"), "{}", text(&refused.stderr));
}

#[tokio::test]
async fn a_build_that_fails_keeps_the_image_before_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new("fails").await;
    let before = bench.build(&bench.order()).await;
    let tools = tempfile::tempdir().unwrap();
    let tool = tools.path().join("mmdebstrap");
    let script = "#!/bin/sh\necho 'I: creating tarball...' >&2\nhead -c 300000 /dev/zero\n\
                  echo 'E: the mirror went away' >&2\nexit 25\n";
    std::fs::write(&tool, script).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let args = ["images", "build", "sandbox", "--tag", bench.reference.as_str()];
    let failed = creel(&bench, tools.path(), &args);
    let told = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(125), "{told}");
    let words = "mmdebstrap failed with exit status 25 [CRL-IMAGE-003]\n    I: creating tarball...\n    E: the mirror went away\n  rule: ";
    assert!(told.contains(words), "{told}");
    let after = bench.engine.image(bench.reference.as_str()).await.unwrap().unwrap();
    assert_eq!(&after, before.image());
}

/// The same image with the label of another recipe: what a newer creel finds.
#[tokio::test]
async fn an_image_of_an_older_recipe_is_told_with_the_command_that_helps() {
    let bench = Bench::new("older").await;
    bench.build(&bench.order()).await;
    let reference = bench.reference.as_str();
    let mut context = tar::Builder::new(Vec::new());
    let text = format!("FROM {reference}\n");
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    context.append_data(&mut header, "Dockerfile", text.as_bytes()).unwrap();
    let spec = creel::engine::BuildSpec {
        context: context.into_inner().unwrap().into(),
        dockerfile: "Dockerfile".to_owned(),
        reference: reference.to_owned(),
        labels: [(image::LABEL_RECIPE.to_owned(), "0".repeat(64))].into(),
        ..creel::engine::BuildSpec::default()
    };
    bench.engine.build(&spec, |_| ()).await.unwrap();
    let hint = format!("was built from an older recipe: run creel images build minimal --tag {reference}");
    let told = image::list(&bench.engine, Some(Recipe::Minimal)).await.unwrap();
    let row = told.iter().find(|row| row.reference == reference).unwrap();
    assert!(!row.up_to_date && row.hint.as_ref().is_some_and(|told| told.ends_with(&hint)), "{row:?}");
    // Explain gives the engine 8 ms, which a loaded machine may not keep.
    let config =
        format!("{{ agents: {{ defaults: {{ sandbox: {{ docker: {{ image: '{reference}' }} }} }} }} }}");
    std::fs::create_dir_all(bench.state.root()).unwrap();
    std::fs::write(bench.state.root().join("openclaw.json"), config).unwrap();
    let explain = || {
        #[expect(clippy::disallowed_methods, reason = "runs creel itself, as a person does")]
        let done = Command::new(env!("CARGO_BIN_EXE_creel"))
            .args(["sandbox", "explain", "--json"])
            .env("CREEL_STATE_DIR", bench.state.root())
            .output()
            .unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    assert!((0..50).any(|_| explain().contains(&hint)), "{}", explain());
    // And what it says helps.
    assert!(matches!(bench.build(&bench.order()).await, Outcome::Built(_)));
    assert_eq!(
        bench.engine.image(reference).await.unwrap().map(|now| image::rebuild_hint(reference, &now)),
        Some(None)
    );
}
