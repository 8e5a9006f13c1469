//! creel itself is killed under its command: what the command does then, and how the next creel takes it over.

use std::path::Path;
use std::time::{Duration, Instant};

use creel::runner::{Death, Event, Outcome, Progress};
use creel::sandbox::{ByLink, InUse, SandboxError};
use creel::wire::{CommandId, Exit, Stream};
use creel::{Call, Sandbox};

use super::child::{Victim, orders};
use super::home::{Home, assert_usable, options, until};
use super::processes::Namespace;

const CHILD: &str = "owner::child_that_is_killed";
/// Lease of the child's command.
const LEASE: Duration = Duration::from_secs(2);

/// More than the ring holds, every line different.
const LINES: usize = 150_000;

/// Runs the script that its orders name; writes what it reads to `spool`, and stops reading after 200 kB.
#[tokio::test]
#[ignore = "started by other tests"]
async fn child_that_is_killed() {
    let (home, script) = orders();
    let file = home.join("openclaw.json");
    let sandbox = options(&home.join("s"), &home).config(file).open().await.unwrap();
    let mut call: Call = sandbox.call(script);
    // A test whose command must outlive its looks says so.
    call.options.lease = Some(if home.join("patient").exists() { 30 * LEASE } else { LEASE });
    call.options.grace = Duration::from_millis(500);
    let mut running = sandbox.start(&call).await.unwrap();
    println!("\nid={}", running.id());
    let mut spool = Vec::new();
    while spool.len() < 200_000 {
        match running.next().await.unwrap() {
            Progress::Output(_, data) => {
                spool.extend_from_slice(&data);
                std::fs::write(home.join("spool"), &spool).unwrap();
                println!("spooled={}", spool.len());
            }
            Progress::Started(pid) => println!("started={pid}"),
            Progress::Done(outcome) => {
                println!("done={outcome:?}");
                break;
            }
            Progress::Input { .. } => {}
        }
    }
    println!("full={}", spool.len());
    std::future::pending::<()>().await;
}

fn id(text: &str) -> CommandId {
    let mut id = [0; 16];
    for (place, byte) in id.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(place * 2..place * 2 + 2).unwrap(), 16).unwrap();
    }
    CommandId(id)
}

/// Opens the sandbox in this process too, so that both use one container.
async fn prepare(home: &Home) -> Sandbox {
    home.open().await
}

/// Takes the command over from `from` on and follows it.
async fn take_over(sandbox: &Sandbox, id: CommandId, from: u64) -> (Vec<u8>, Exit) {
    let mut channel = sandbox.link().unwrap().attach(id, true, from).unwrap();
    let (mut rest, mut place) = (Vec::new(), from);
    loop {
        match channel.next().await.unwrap() {
            Event::Output { stream: Stream::Stdout, seq, data, .. } => {
                assert_eq!(seq, place, "a gap or a repetition");
                place += u64::try_from(data.len()).unwrap();
                rest.extend_from_slice(&data);
            }
            Event::Exit(exit) => return (rest, *exit),
            Event::Started { known, .. } => assert!(known),
            other => panic!("{other:?}"),
        }
    }
}

/// What `seq 1 LINES` prints.
fn numbers() -> Vec<u8> {
    (1..=LINES).flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

fn spool(home: &Path) -> Vec<u8> {
    std::fs::read(home.join("spool")).unwrap_or_default()
}

#[tokio::test]
async fn its_command_ends_with_the_lease_and_nothing_is_left() {
    let home = Home::new();
    let sandbox = prepare(&home).await;
    let space = Namespace::of(sandbox.ready().pid1);
    let script = "trap '' TERM; setsid sleep 1000 & echo up; while :; do sleep 1000; done";
    let mut victim = Victim::start(CHILD, home.dir.path(), script);
    let id = id(&victim.said("id").await);
    victim.said("spooled").await;
    assert!(until(Duration::from_secs(5), || space.commands().len() >= 3).await, "{:?}", space.commands());
    victim.kill().await;
    let begin = Instant::now();
    tokio::time::sleep(LEASE / 2).await;
    assert!(!space.commands().is_empty(), "ended before its lease");
    assert!(until(Duration::from_secs(10), || space.commands().is_empty()).await, "{:?}", space.commands());
    let lived = begin.elapsed();
    assert!(
        lived + Duration::from_millis(200) >= LEASE && lived < LEASE + Duration::from_secs(3),
        "{lived:?}"
    );
    let (_, exit) = take_over(&sandbox, id, 3).await;
    let outcome = Outcome::from_exit(exit, true);
    assert_eq!(outcome.death, Death::OwnerLost, "{outcome:?}");
    assert!(outcome.processes.unwrap().proven_gone, "{outcome:?}");
    assert_usable(&sandbox).await;
    assert_eq!(home.list().await.len(), 1, "one container, the one in use");
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

/// Nobody else uses the sandbox: what the killed creel leaves is found by its labels, is shown as busy while its
/// command lives, and is not taken away from it but by force.
#[tokio::test]
async fn its_container_is_found_again() {
    let home = Home::new();
    drop(home.options());
    std::fs::write(home.dir.path().join("patient"), "").unwrap();
    let mut victim = Victim::start(CHILD, home.dir.path(), "echo up; sleep 1000");
    victim.said("spooled").await;
    victim.kill().await;
    let listed = home.list().await;
    assert_eq!((listed.len(), listed[0].leases, listed[0].running), (1, 0, true), "{listed:?}");
    assert_eq!(listed[0].commands, Some(1), "{listed:?}");
    let sandboxes = home.sandboxes().await;
    let outcome = sandboxes.stop_all(InUse::Refuse).await.unwrap();
    assert!(matches!(outcome[0].1, Err(SandboxError::Busy { commands: 1, .. })), "{outcome:?}");
    assert!(sandboxes.prune(&ByLink).await.unwrap().is_empty());
    let sandbox = home.open().await;
    assert!(!sandbox.ready().created && sandbox.container().0 == listed[0].id);
    assert_usable(&sandbox).await;
    home.note(sandbox).stop().await.unwrap();
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn the_next_creel_goes_on_where_the_output_stopped() {
    let home = Home::new();
    let sandbox = prepare(&home).await;
    let script = format!("seq 1 {LINES}; exit 7");
    let mut victim = Victim::start(CHILD, home.dir.path(), &script);
    let id = id(&victim.said("id").await);
    victim.said("full").await;
    victim.kill().await;
    let had = spool(home.dir.path());
    let entry = {
        let table = sandbox.link().unwrap().table().await.unwrap();
        table.into_iter().find(|entry| entry.id == id).unwrap()
    };
    let place = u64::try_from(had.len()).unwrap();
    assert!(entry.running && entry.acked > 0 && entry.acked <= place, "{entry:?} {place}");
    let (rest, exit) = take_over(&sandbox, id, place).await;
    assert_eq!(exit.code, 7, "{exit:?}");
    let whole = [had, rest].concat();
    let wanted = numbers();
    assert_eq!(whole.len(), wanted.len());
    assert!(whole == wanted);
    assert_eq!(exit.stdout_bytes, u64::try_from(wanted.len()).unwrap());
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn an_end_that_nobody_saw_is_told_to_the_next() {
    let home = Home::new();
    let sandbox = prepare(&home).await;
    let mut victim = Victim::start(CHILD, home.dir.path(), "echo early; sleep 0.5; echo late; exit 5");
    let id = id(&victim.said("id").await);
    victim.said("spooled").await;
    victim.kill().await;
    // Within the lease, and over long before it is asked for; only the creel that is connected knows of it.
    let over = async {
        while sandbox
            .link()
            .unwrap()
            .table()
            .await
            .unwrap()
            .iter()
            .any(|entry| entry.id == id && entry.running)
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), over).await.unwrap();
    // A look takes nothing away.
    let mut observer = sandbox.link().unwrap().attach(id, false, 0).unwrap();
    while !matches!(observer.next().await.unwrap(), Event::Exit(_)) {}
    drop(observer);
    let had = spool(home.dir.path());
    let (rest, exit) = take_over(&sandbox, id, u64::try_from(had.len()).unwrap()).await;
    assert_eq!([had, rest].concat(), b"early\nlate\n");
    assert_eq!((exit.code, exit.signal), (5, 0), "{exit:?}");
    // Taken over, it is forgotten.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(sandbox.link().unwrap().table().await.unwrap().iter().all(|entry| entry.id != id));
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

/// It sees the same bytes in the same places, perhaps not all of them, and is refused nothing.
#[tokio::test]
async fn an_observer_is_no_burden_to_the_owner() {
    let home = Home::new();
    let (sandbox, other) = (home.open().await, home.open().await);
    let mut call = sandbox.call(format!("read go; seq 1 {LINES}; exit 6"));
    call.options.stdin = true;
    let mut running = sandbox.start(&call).await.unwrap();
    // The observer comes over another connection: not before PID 1 has the command.
    while !matches!(running.next().await.unwrap(), Progress::Started(_)) {}
    running.write(b"go\n".to_vec()).await.unwrap();
    let mut observer = other.link().unwrap().attach(running.id(), false, 0).unwrap();
    let wanted = numbers();
    let watch = async {
        loop {
            match observer.next().await.unwrap() {
                Event::Output { offset, data, .. } => {
                    let place = usize::try_from(offset).unwrap();
                    assert!(wanted.get(place..place + data.len()) == Some(data.as_ref()));
                }
                Event::Exit(exit) => return exit.code,
                Event::Started { .. } | Event::StdinTaken { .. } => {}
                refused @ Event::Refused { .. } => panic!("{refused:?}"),
            }
        }
    };
    let own = async {
        let mut read = Vec::new();
        loop {
            match running.next().await.unwrap() {
                Progress::Output(_, data) => read.extend_from_slice(&data),
                Progress::Done(outcome) => return (read == wanted, outcome.code),
                Progress::Started(_) | Progress::Input { .. } => {}
            }
        }
    };
    let (seen, had) =
        tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(watch, own) }).await.unwrap();
    assert_eq!((seen, had), (6, (true, Some(6))));
    drop((sandbox, other));
    home.assert_nothing_leaks().await;
}

/// The process id may come later than the first output: whoever attaches in between is told when it is known.
#[tokio::test]
async fn who_attaches_early_is_not_told_of_a_start() {
    let home = Home::new();
    let (sandbox, other) = (home.open().await, home.open().await);
    for _ in 0..10 {
        let mut running = sandbox.start(&sandbox.call("echo up; sleep 0.1")).await.unwrap();
        while !matches!(running.next().await.unwrap(), Progress::Output(..)) {}
        let mut observer = other.link().unwrap().attach(running.id(), false, 0).unwrap();
        let mut pids = Vec::new();
        loop {
            match observer.next().await.unwrap() {
                Event::Started { pid, known, .. } => {
                    assert!(known);
                    pids.push(pid);
                }
                Event::Exit(exit) => break assert_eq!(exit.code, 0),
                _ => {}
            }
        }
        assert!(matches!(pids.as_slice(), [pid] | [0, pid] if *pid > 0), "{pids:?}");
        while !matches!(running.next().await.unwrap(), Progress::Done(_)) {}
    }
    drop((sandbox, other));
    home.assert_nothing_leaks().await;
}

/// While the owner lives, nobody takes its command away.
#[tokio::test]
async fn a_living_owner_keeps_its_command() {
    let home = Home::new();
    let sandbox = prepare(&home).await;
    let mut victim = Victim::start(CHILD, home.dir.path(), "echo up; sleep 1; exit 2");
    let id = id(&victim.said("id").await);
    victim.said("spooled").await;
    let mut thief = sandbox.link().unwrap().attach(id, true, 0).unwrap();
    let event = thief.next().await.unwrap();
    assert!(matches!(event, Event::Refused { reason: creel::wire::Refusal::NotOwner, .. }), "{event:?}");
    thief.kill(Duration::ZERO).unwrap();
    assert!(victim.said("done").await.contains("code: Some(2)"));
    victim.kill().await;
    drop((thief, sandbox));
    home.assert_nothing_leaks().await;
}
