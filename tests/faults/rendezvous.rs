//! The rendezvous under attack from inside, and init under garbage from outside.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use creel::runner::{Link, Progress, Running};
use creel::wire::{Hello, ToInit};

use super::home::{Home, assert_usable, call, names, text};
use super::processes::resident_kib;

#[tokio::test]
async fn strangers_that_dial_are_refused_and_init_is_met() {
    let home = Home::new();
    let sandbox = home.open_with_attack().await;
    for attack in ["dial", "flood"] {
        let dialling = format!("for i in 1 2 3; do /attack/attack {attack} 6 & done; wait");
        let mut attacker = sandbox.start(&call(&sandbox, &dialling)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        let (rendezvous, pid1) = (sandbox.ready().rendezvous.clone(), sandbox.ready().pid1);
        let end = Instant::now() + Duration::from_secs(4);
        let (mut met, mut flooded) = (0, 0);
        while Instant::now() < end {
            match Link::meet(&rendezvous, pid1, Duration::from_secs(5)).await {
                Ok(link) => {
                    assert_eq!(link.boot(), sandbox.link().unwrap().boot());
                    link.ping().await.unwrap();
                    met += 1;
                }
                Err(creel::runner::LinkError::Flooded { .. }) => flooded += 1,
                Err(error) => panic!("{attack}: {error}"),
            }
            assert_usable(&sandbox).await;
        }
        // A queue that is always full of strangers may be given up, as what it is.
        assert!(met > 10 && flooded <= met / 4, "{attack}: met {met}, given up {flooded}");
        assert!(attack == "flood" || flooded == 0, "{attack}: given up {flooded}");
        let said = finish(&mut attacker).await;
        assert!(said.contains("dialled some"), "{attack}: the attack was none: {said}");
        assert_eq!(names(&rendezvous), Vec::<String>::new(), "stale sockets");
        println!("{attack}: met {met}, given up {flooded}");
    }
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

async fn finish(running: &mut Running) -> String {
    let mut out = String::new();
    loop {
        match running.next().await.unwrap() {
            Progress::Output(_, data) => out.push_str(&text(&data)),
            Progress::Done(_) => return out,
            Progress::Started(_) | Progress::Input { .. } => {}
        }
    }
}

/// The directory is mounted read-only: a command cannot put a socket there that init would dial.
#[tokio::test]
async fn nothing_can_be_put_into_the_rendezvous_from_inside() {
    let home = Home::new();
    let sandbox = home.open().await;
    let done =
        sandbox.exec("touch /.creel/meet/h-00.sock; mv /tmp /.creel/meet/x; rm /.creel/init").await.unwrap();
    let said = text(&done.stderr);
    assert_eq!(
        said.matches("Read-only file system").count()
            + said.matches("Permission denied").count()
            + said.matches("busy").count(),
        3,
        "{said}"
    );
    assert_eq!(names(&sandbox.ready().rendezvous), Vec::<String>::new());
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

/// Puts a socket into the rendezvous as a host does, and waits for init to dial it.
fn dialled(rendezvous: &Path, name: &str) -> UnixStream {
    let (draft, path) = (rendezvous.join(format!(".{name}")), rendezvous.join(format!("h-{name}.sock")));
    let listener = UnixListener::bind(&draft).unwrap();
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o666)).unwrap();
    std::fs::rename(&draft, &path).unwrap();
    let (stream, _) = listener.accept().unwrap();
    std::fs::remove_file(&path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream
}

fn encoded(messages: &[ToInit]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        message.encode(&mut bytes);
    }
    bytes
}

/// Init closes the connection without a word more than its greeting.
fn assert_dropped(mut stream: UnixStream, what: &str) {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{what}: {error}"),
    }
    assert!(rest.len() < 100, "{what}: {rest:?}");
}

#[tokio::test]
async fn garbage_from_the_host_costs_its_own_connection() {
    let home = Home::new();
    let sandbox = home.open().await;
    let rendezvous = sandbox.ready().rendezvous.clone();
    let hello = encoded(&[ToInit::Hello(Hello::ours([0; 16]))]);
    let mut noise: Vec<Vec<u8>> = (0..40_u64).map(|seed| random(seed, 300)).collect();
    // Lengths that lie, kinds that are none, flags that are none, fragments that never end.
    noise.push(vec![0xff; 64]);
    noise.push([&[4, 0, 0, 0, 250, 0], b"none".as_slice()].concat());
    noise.push([&[4, 0, 0, 0, 1, 0x80], b"none".as_slice()].concat());
    noise.push(
        std::iter::repeat_n([vec![0, 250, 0, 0, 2, 1], vec![7_u8; 64_000]].concat(), 80).flatten().collect(),
    );
    for (number, bytes) in noise.iter().enumerate() {
        for greeting in [&[] as &[u8], &hello] {
            let mut stream = dialled(&rendezvous, "beef");
            let _ = stream.write_all(greeting).and_then(|()| stream.write_all(bytes));
            // Some noise is an incomplete message: the end of the connection tells.
            let _ = stream.shutdown(std::net::Shutdown::Write);
            assert_dropped(stream, &format!("noise {number}"));
        }
    }
    sandbox.link().unwrap().ping().await.unwrap();
    assert_usable(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..len).map(|_| byte()).collect()
}

/// Hosts that ask and never read, and hosts that say nothing at all.
#[tokio::test]
async fn hosts_that_do_not_read_are_bounded() {
    let home = Home::new();
    let sandbox = home.open().await;
    let (rendezvous, pid1) = (sandbox.ready().rendezvous.clone(), sandbox.ready().pid1);
    let silent: Vec<UnixStream> = (0..20).map(|n| dialled(&rendezvous, &format!("{n:02x}"))).collect();
    let before = resident_kib(pid1);
    let mut greedy = dialled(&rendezvous, "feed");
    greedy.set_nonblocking(true).unwrap();
    greedy.write_all(&encoded(&[ToInit::Hello(Hello::ours([0; 16]))])).unwrap();
    let questions = encoded(&vec![ToInit::Probe { paths: vec!["/".to_owned()] }; 50]);
    let end = Instant::now() + Duration::from_secs(3);
    let mut closed = false;
    while Instant::now() < end && !closed {
        closed = greedy.write(&questions).is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let after = resident_kib(pid1);
    println!("init {before} KiB, with a host that does not read {after} KiB, dropped {closed}");
    assert!(after < before + 16 * 1024, "{before} -> {after}");
    assert_usable(&sandbox).await;
    drop((silent, greedy));
    assert_usable(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

/// Nobody reads a command's output: it waits, nothing else does, and init does not grow.
#[tokio::test]
async fn a_full_ring_holds_up_only_its_own_command() {
    let home = Home::new();
    let sandbox = home.open().await;
    let pid1 = sandbox.ready().pid1;
    let before = resident_kib(pid1);
    let flood = "dd if=/dev/zero bs=64k count=64 2>/dev/null; echo end >&2; exit 8";
    let mut stuffed = Vec::new();
    for _ in 0..4 {
        stuffed.push(sandbox.start(&call(&sandbox, flood)).await.unwrap());
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    for _ in 0..10 {
        assert_usable(&sandbox).await;
    }
    let table = sandbox.link().unwrap().table().await.unwrap();
    assert_eq!(table.iter().filter(|entry| entry.running).count(), 4, "they wait");
    for entry in &table {
        assert!(entry.written - entry.acked <= 512 * 1024, "{entry:?}");
    }
    let after = resident_kib(pid1);
    println!("init {before} KiB, with four full rings {after} KiB");
    assert!(after < before + 4 * 1024, "{before} -> {after}");
    for mut running in stuffed {
        let (mut bytes, mut zero) = (0, true);
        let outcome = loop {
            match running.next().await.unwrap() {
                Progress::Output(creel::wire::Stream::Stdout, data) => {
                    bytes += data.len();
                    zero &= data.iter().all(|byte| *byte == 0);
                }
                Progress::Done(outcome) => break outcome,
                _ => {}
            }
        };
        assert_eq!((bytes, zero, outcome.code), (4 << 20, true, Some(8)), "{outcome:?}");
    }
    drop(sandbox);
    home.assert_nothing_leaks().await;
}
