//! Many fast commands: every output and every status exact.

use creel::Sandbox;
use creel::runner::Death;
use futures_util::future::join_all;

use crate::lab::{Lab, argv, text};

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
