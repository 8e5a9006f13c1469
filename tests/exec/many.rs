//! Many fast commands: every output and every status exact.

use std::time::Duration;

use creel::Sandbox;
use creel::runner::Death;
use futures_util::future::join_all;

use crate::lab::{Lab, argv, finish, text};

/// Runs command number `i`, shell text and argv in turn, and compares everything.
async fn run(sandbox: &Sandbox, i: usize) {
    let code = i32::try_from(i % 256).unwrap();
    let call = if i.is_multiple_of(2) {
        sandbox.call(format!("echo out-{i}; echo err-{i} >&2; exit {code}"))
    } else {
        let script = "echo \"out-$1\"; echo \"err-$1\" >&2; exit \"$2\"";
        argv(sandbox, &["sh", "-c", script, "sh", &i.to_string(), &code.to_string()])
    };
    let done = sandbox.run(&call).await.unwrap();
    assert_eq!(
        (text(&done.stdout), text(&done.stderr), done.outcome.code, done.outcome.death),
        (format!("out-{i}\n"), format!("err-{i}\n"), Some(code), Death::Exit),
        "{i}: {:?}",
        done.outcome
    );
}

#[tokio::test]
async fn sequential() {
    let lab = Lab::new().await;
    for (sandbox, times) in lab.roads().into_iter().zip([2000, 50]) {
        for i in 0..times {
            run(sandbox, i).await;
        }
    }
    assert_eq!(lab.processes().await, Vec::<String>::new());
    assert!(
        lab.init.link().unwrap().table().await.unwrap().len() <= 1,
        "finished commands stay in init's table"
    );
}

#[tokio::test]
async fn parallel() {
    let lab = Lab::new().await;
    for (sandbox, rounds) in lab.roads().into_iter().zip([10, 1]) {
        for round in 0..rounds {
            join_all((0..50).map(|i| run(sandbox, round * 50 + i))).await;
        }
    }
    assert_eq!(lab.processes().await, Vec::<String>::new());
}

/// A supervisor is used again. An order for its last command that crosses with that one's end is not the next one's.
#[tokio::test]
async fn a_late_kill_harms_no_later_command() {
    let lab = Lab::new().await;
    for i in 0..300_u64 {
        let mut first = lab.init.start(&argv(&lab.init, &["true"])).await.unwrap();
        // From before the start of `true` to after its end.
        tokio::time::sleep(Duration::from_micros(i % 50 * 40)).await;
        first.kill().unwrap();
        let next = lab.init.exec("sleep 0.01; echo on").await.unwrap();
        assert_eq!((text(&next.stdout), next.outcome.death), ("on\n".to_owned(), Death::Exit), "{i}");
        let ended = finish(first).await.outcome.death;
        assert!(matches!(ended, Death::Exit | Death::Cancelled), "{i}: {ended:?}");
    }
}

/// However many commands ran at a time: when it is idle again, init is down to PID 1 and one waiting supervisor.
#[tokio::test]
async fn supervisors_do_not_pile_up() {
    let lab = Lab::new().await;
    join_all((0..20).map(|i| run(&lab.init, i))).await;
    let mut count = 0;
    for _ in 0..100 {
        let listing = lab.init.run(&argv(&lab.init, &["ps", "-o", "args"])).await.unwrap();
        count = text(&listing.stdout).matches("/.creel/init pid1").count();
        // The third is the one above this `ps`.
        if count <= 3 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{count} processes of creel-init");
}
