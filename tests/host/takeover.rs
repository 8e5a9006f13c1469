//! Whoever started a command is killed, and another creel goes on with it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use creel::host_tool::host_tool;
use creel::runner::{Death, LinkError, Progress, RunError, Running, fresh_id, host};
use creel::wire::CommandId;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

use super::ground::{Ground, follow, init, lives, next, read_until, start, start_argv, until};

const CHILD: &str = "takeover::launcher_that_is_killed";
const LINES: usize = 100_000;
const GRACE: Duration = Duration::from_millis(300);

/// Launches, starts the script that its orders name, and follows it until it has been told to stop.
#[tokio::test]
#[ignore = "started by other tests"]
async fn launcher_that_is_killed() {
    let var = |name: &str| std::env::var(name).unwrap();
    let (dir, script, enough) =
        (PathBuf::from(var("CREEL_TEST_DIR")), var("CREEL_TEST_TASK"), var("CREEL_TEST_ENOUGH"));
    let enough: u64 = enough.parse().unwrap();
    let link = host::launch(&init(), &dir).await.unwrap();
    println!("\nlaunched=yes");
    let id = fresh_id().unwrap();
    println!("id={id}");
    let argv = ["/bin/sh", "-c", &script].map(str::to_owned).to_vec();
    let mut running = start_argv(id, &link, argv, |options| {
        options.stdin = true;
        options.lease = None;
    })
    .await;
    running.outlive();
    running.write(b"first\n".to_vec()).await.unwrap();
    let mut spool = std::fs::File::create(dir.join("spool")).unwrap();
    while running.position() < enough {
        if let Progress::Output(_, data) = running.next().await.unwrap() {
            std::io::Write::write_all(&mut spool, &data).unwrap();
        }
    }
    println!("enough={}", running.position());
    std::future::pending::<()>().await;
}

/// This test program, started again to be killed.
struct Launcher {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Launcher {
    fn start(ground: &Ground, script: &str, enough: usize) -> Self {
        let mut command = host_tool(std::env::current_exe().unwrap());
        command.args(["--exact", CHILD, "--ignored", "--nocapture", "--test-threads=1"]);
        command.env("CREEL_TEST_DIR", ground.dir()).env("CREEL_TEST_TASK", script);
        let mut child =
            command.env("CREEL_TEST_ENOUGH", enough.to_string()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    async fn said(&mut self, key: &str) -> String {
        let wait = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                if let Some(value) = line.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')) {
                    return value.to_owned();
                }
            }
            panic!("the launcher ended without {key}");
        };
        tokio::time::timeout(Duration::from_mins(1), wait).await.unwrap()
    }

    async fn id(&mut self) -> CommandId {
        CommandId(creel::wire::parse_id(&self.said("id").await).unwrap())
    }

    /// SIGKILL, and it is gone when this returns.
    async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

async fn adopt(ground: &Ground, id: CommandId, from: u64) -> Running {
    let link = host::reach(&ground.dir()).await.unwrap().unwrap();
    Running::adopt(&link, id, from, false, GRACE).unwrap()
}

#[tokio::test]
async fn every_line_arrives_once() {
    let ground = Ground::new();
    let script = format!("i=0; while [ $i -lt {LINES} ]; do echo $i; i=$((i+1)); done; exit 7");
    let mut launcher = Launcher::start(&ground, &script, 50_000);
    let id = launcher.id().await;
    launcher.said("enough").await;
    launcher.kill().await;
    let had = std::fs::read_to_string(ground.dir().join("spool")).unwrap();
    let mut running = adopt(&ground, id, u64::try_from(had.len()).unwrap()).await;
    let run = follow(&mut running).await;
    assert_eq!(run.outcome.code, Some(7), "{:?}", run.outcome);
    let wanted: String = (0..LINES).flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    assert!(format!("{had}{}", run.stdout) == wanted, "a line is missing or doubled");
    assert_eq!(running.position(), u64::try_from(wanted.len()).unwrap());
    // Kept until it is settled, for whoever comes; then it is over.
    drop(running);
    let mut again = adopt(&ground, id, u64::try_from(wanted.len()).unwrap()).await;
    let run = follow(&mut again).await;
    assert_eq!((run.outcome.code, run.stdout.as_str()), (Some(7), ""));
    again.settle().unwrap();
    std::fs::remove_file(ground.dir().join("spool")).unwrap();
    let _ = std::fs::remove_dir(ground.dir());
    ground.assert_gone().await;
}

/// What was acknowledged is gone from init: asked for again, it shows as a gap and not as something else.
#[tokio::test]
async fn what_is_gone_is_a_gap() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let id = fresh_id().unwrap();
    let argv = ["/bin/sh", "-c", "seq 1 100000; echo end; read x"].map(str::to_owned).to_vec();
    let mut running = start_argv(id, &link, argv, |options| options.stdin = true).await;
    running.outlive();
    read_until(&mut running, "end\n").await;
    let end = running.position();
    drop((running, link));
    let mut again = adopt(&ground, id, 0).await;
    let first = loop {
        if let Progress::Output(_, data) = next(&mut again).await {
            break again.position() - u64::try_from(data.len()).unwrap();
        }
    };
    assert!(first > 0 && first < end, "{first} {end}");
    again.kill().unwrap();
    follow(&mut again).await;
    assert_eq!(again.position(), end);
    again.settle().unwrap();
    ground.assert_gone().await;
}

#[tokio::test]
async fn input_goes_on_where_it_stopped() {
    let ground = Ground::new();
    let mut launcher = Launcher::start(&ground, "read a; echo got $a; read b; echo got $b; cat; exit 9", 10);
    let id = launcher.id().await;
    launcher.said("enough").await;
    launcher.kill().await;
    let mut running = adopt(&ground, id, 10).await;
    // Before it is known where the input stands.
    running.write(b"second\nthird".to_vec()).await.unwrap();
    running.write(b"\n".to_vec()).await.unwrap();
    running.close_input().await.unwrap();
    let refused = running.write(b"more".to_vec()).await.unwrap_err();
    assert!(matches!(refused, RunError::InputEnded { .. }), "{refused}");
    let (mut places, mut text) = (Vec::new(), String::new());
    let outcome = loop {
        match next(&mut running).await {
            Progress::Input { taken, closed } => places.push((taken, closed)),
            Progress::Output(_, data) => text.push_str(&String::from_utf8_lossy(&data)),
            Progress::Done(outcome) => break outcome,
            Progress::Started(_) => {}
        }
    };
    assert_eq!(places.first(), Some(&(6, false)), "{places:?}");
    assert_eq!(places.last(), Some(&(19, true)), "{places:?}");
    assert_eq!((text.as_str(), outcome.code), ("got second\nthird\n", Some(9)), "{outcome:?}");
    running.settle().unwrap();
    let _ = std::fs::remove_dir_all(ground.dir());
}

/// An input that was ended stays so, whoever asks.
#[tokio::test]
async fn an_ended_input_is_known_to_be() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let id = fresh_id().unwrap();
    let argv = ["/bin/sh", "-c", "cat; echo over; sleep 1000"].map(str::to_owned).to_vec();
    let mut running = start_argv(id, &link, argv, |options| options.stdin = true).await;
    running.outlive();
    running.write(b"all\n".to_vec()).await.unwrap();
    running.close_input().await.unwrap();
    read_until(&mut running, "over\n").await;
    drop((running, link));
    let mut again = adopt(&ground, id, 9).await;
    let place = loop {
        if let Progress::Input { taken, closed } = next(&mut again).await {
            break (taken, closed);
        }
    };
    assert_eq!(place, (4, true));
    again.write(b"nobody reads this".to_vec()).await.unwrap();
    again.kill().unwrap();
    assert_eq!(follow(&mut again).await.outcome.death, Death::Cancelled);
    again.settle().unwrap();
    ground.assert_gone().await;
}

#[tokio::test]
async fn a_lease_can_be_taken_away_and_given() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let id = fresh_id().unwrap();
    let argv = ["/bin/sh", "-c", "echo up; read x; echo $x"].map(str::to_owned).to_vec();
    let mut running = start_argv(id, &link, argv, |options| {
        options.stdin = true;
        options.lease = Some(Duration::from_millis(200));
    })
    .await;
    running.outlive();
    read_until(&mut running, "up\n").await;
    running.hold(None).unwrap();
    drop((running, link));
    tokio::time::sleep(Duration::from_millis(800)).await;
    let mut again = adopt(&ground, id, 3).await;
    again.write(b"alive\n".to_vec()).await.unwrap();
    read_until(&mut again, "alive\n").await;
    let run = follow(&mut again).await;
    assert_eq!(run.outcome.death, Death::Exit, "{run:?}");
    again.settle().unwrap();
    ground.assert_gone().await;
    let link = ground.launch().await;
    let id = fresh_id().unwrap();
    let argv = ["/bin/sh", "-c", "echo up; sleep 1000"].map(str::to_owned).to_vec();
    let mut running = start_argv(id, &link, argv, |options| options.lease = None).await;
    running.outlive();
    read_until(&mut running, "up\n").await;
    running.hold(Some(Duration::from_millis(100))).unwrap();
    drop((running, link));
    // While nobody owns it the lease runs.
    let owner_lost = async {
        loop {
            let link = host::reach(&ground.dir()).await.unwrap().unwrap();
            let table = link.table().await.unwrap();
            if table.iter().all(|entry| !entry.running) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), owner_lost).await.unwrap();
    let mut again = adopt(&ground, id, 3).await;
    assert_eq!(follow(&mut again).await.outcome.death, Death::OwnerLost);
    again.settle().unwrap();
    ground.assert_gone().await;
}

#[tokio::test]
async fn a_command_that_nobody_knows_is_told_apart() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let mut running = Running::adopt(&link, fresh_id().unwrap(), 0, false, GRACE).unwrap();
    let error = running.next().await.unwrap_err();
    assert!(matches!(error, RunError::Unknown { .. }), "{error}");
    // While its owner lives, it is nobody else's.
    let mut own = start(&link, "read x", |options| options.stdin = true).await;
    while !matches!(next(&mut own).await, Progress::Started(_)) {}
    let other = host::reach(&ground.dir()).await.unwrap().unwrap();
    let mut thief = Running::adopt(&other, own.id(), 0, false, GRACE).unwrap();
    let error = thief.next().await.unwrap_err();
    assert!(matches!(error, RunError::Link(LinkError::Refused { .. })), "{error}");
    drop(thief);
    own.close_input().await.unwrap();
    follow(&mut own).await;
    ground.assert_gone().await;
}

/// Killed before it has given a command: the supervisor waits a while and is met by whoever comes.
#[tokio::test]
async fn a_supervisor_without_a_command_is_met_too() {
    let ground = Ground::new();
    let mut launcher = Launcher::start(&ground, "echo never read; read x; read y", 1_000);
    launcher.said("launched").await;
    launcher.kill().await;
    let link = host::reach(&ground.dir()).await.unwrap().unwrap();
    for entry in link.table().await.unwrap() {
        let mut running = Running::adopt(&link, entry.id, 0, false, GRACE).unwrap();
        running.kill().unwrap();
        follow(&mut running).await;
        running.settle().unwrap();
    }
    let _ = std::fs::remove_file(ground.dir().join("spool"));
}

/// The supervisor is killed: what it had below it ends, the command's owner learns it, and it is gone for good.
#[tokio::test]
async fn a_killed_supervisor_is_gone() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let mut running = start(&link, "echo $$; sleep 1000", |_| {}).await;
    let pid: i32 = read_until(&mut running, "\n").await.trim().parse().unwrap();
    let badge = ground.badge().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(badge.pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    let run = follow(&mut running).await;
    assert_eq!(run.outcome.death, Death::SupervisorLost, "{run:?}");
    assert!(until(|| !lives(pid)).await);
    assert!(host::reach(&ground.dir()).await.unwrap().is_none());
    assert!(!ground.dir().exists(), "what it left is removed");
    // The place is free again.
    assert_eq!(ground.run("exit 2", |_| {}).await.outcome.code, Some(2));
}

/// A command of the same user puts a socket of its own into the rendezvous. The supervisor does not speak to it.
#[tokio::test]
async fn a_command_cannot_pose_as_creel() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let exe = std::env::current_exe().unwrap();
    let dir = format!("CREEL_TEST_DIR={}", ground.dir().display());
    let argv = [
        "/usr/bin/env",
        &dir,
        &exe.to_string_lossy(),
        "--exact",
        "takeover::impostor",
        "--ignored",
        "--nocapture",
    ];
    let argv = argv.map(str::to_owned).to_vec();
    let mut running = start_argv(fresh_id().unwrap(), &link, argv, |_| {}).await;
    let run = follow(&mut running).await;
    assert!(run.stdout.contains("heard=0\n"), "{run:?}");
    ground.assert_gone().await;
}

#[test]
#[ignore = "started by another test"]
fn impostor() {
    use std::io::{Read as _, Write as _};
    std::env::set_current_dir(std::env::var("CREEL_TEST_DIR").unwrap()).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(".h-00").unwrap();
    std::fs::rename(".h-00", "h-00.sock").unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut hello = Vec::new();
    creel::wire::ToInit::Hello(creel::wire::Hello::ours([0; 16])).encode(&mut hello);
    let _ = stream.write_all(&hello);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    println!("\nheard={}", answer.len());
    std::fs::remove_file("h-00.sock").unwrap();
}

/// However early it is killed, what it leaves can be met, or is not there; and it is one command at most.
#[tokio::test]
async fn a_launcher_may_be_killed_at_any_time() {
    for delay in [0, 5, 10, 15, 20, 30, 50, 80] {
        let ground = Ground::new();
        let launcher = Launcher::start(&ground, "echo never read; read x; read y", 1_000);
        tokio::time::sleep(Duration::from_millis(delay)).await;
        launcher.kill().await;
        let Some(link) = host::reach(&ground.dir()).await.unwrap() else { continue };
        let table = link.table().await.unwrap();
        assert!(table.len() <= 1, "{table:?}");
        for entry in table {
            let mut running = Running::adopt(&link, entry.id, 0, false, GRACE).unwrap();
            running.kill().unwrap();
            assert_eq!(follow(&mut running).await.outcome.death, Death::Cancelled);
            running.settle().unwrap();
        }
        // The next launch gets its command through, whether it meets that one or another.
        let _ = std::fs::remove_file(ground.dir().join("spool"));
    }
}

/// The state directory is removed: what nobody can find again does not run on.
#[tokio::test]
async fn without_its_directory_a_command_ends() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let mut running = start(&link, "echo $$; sleep 1000", |options| options.lease = None).await;
    running.outlive();
    let pid: i32 = read_until(&mut running, "\n").await.trim().parse().unwrap();
    drop((running, link));
    std::fs::remove_dir_all(ground.dir()).unwrap();
    assert!(lives(pid));
    assert!(until(|| !lives(pid)).await);
}
