//! Commands that cannot run, and commands that a limit of the sandbox ends: each its own clear result.

use std::time::Duration;

use creel::runner::{Certainty, Death, StartFailure};

use crate::case::{argv, sh, table};
use crate::lab::{Home, Lab, argv as call, script, text};

#[tokio::test]
async fn what_cannot_start_says_why() {
    let home = Home::new();
    let dir = home.place("work");
    script(&dir, "bad-interpreter", "#!/nope/interpreter\n");
    script(&dir, "no-interpreter", "echo hi\n");
    script(&dir, "good", "#!/bin/sh\necho \"good $1\"\n");
    std::fs::write(dir.join("plain"), "#!/bin/sh\n").unwrap();
    let options = home.options().workspace(&dir);
    let lab = home.open(options).await;
    let cases = vec![
        sh("missing workdir", "true").workdir("/nope/dir").fails(StartFailure::Workdir, 125),
        sh("a file as workdir", "true").workdir("/etc/passwd").fails(StartFailure::Workdir, 125),
        argv("missing workdir for argv", &["true"]).workdir("/nope").fails(StartFailure::Workdir, 125),
        argv("missing program", &["no-such-program"]).fails(StartFailure::NotFound, 127),
        argv("missing path", &["/no/such/program"]).fails(StartFailure::NotFound, 127),
        argv("not executable", &["/workspace/plain"]).fails(StartFailure::NotExecutable, 126),
        argv("a directory", &["/etc"]).fails(StartFailure::NotExecutable, 126),
        argv("missing interpreter", &["/workspace/bad-interpreter"]).fails(StartFailure::NotFound, 127),
        argv("no interpreter", &["/workspace/no-interpreter"]).fails(StartFailure::NotExecutable, 126),
        argv("a script", &["/workspace/good", "x"]).out("good x\n"),
        argv("relative to the directory", &["./good", "y"]).out("good y\n"),
        sh("shell: missing program", "no-such-program").status(127).err_has("not found"),
        sh("shell: not executable", "/workspace/plain").status(126).err_has("ermission denied"),
        sh("shell: a directory", "/etc").status(126).err_has("ermission denied"),
        sh("shell: no interpreter", "/workspace/no-interpreter").out("hi\n"),
        sh("noexec /tmp", "cp /bin/busybox /tmp/true && /tmp/true").status(126).err_has("ermission denied"),
        argv("noexec /tmp for argv", &["/tmp/true"]).fails(StartFailure::NotExecutable, 126),
        sh("read-only root", "echo x > /new").status(1).err_has("ead-only file system"),
    ];
    let results = table(&lab, cases).await;
    let errnos: Vec<i32> = results[..9].iter().map(|[init, _]| init.outcome.errno).collect();
    assert_eq!(errnos, [2, 20, 2, 2, 2, 13, 13, 2, 8]);
    assert_eq!(text(&lab.init.exec("echo fine").await.unwrap().stdout), "fine\n");
}

#[tokio::test]
async fn a_memory_limit_is_named() {
    let lab = Lab::configured(
        r#"{ agents: { defaults: { sandbox: { docker: { memory: "48m", memorySwap: "48m" } } } } }"#,
    )
    .await;
    let hungry = "head -c 200000000 /dev/zero | tail | wc -c";
    let died = lab.init.exec(format!("{hungry}; exit 137")).await.unwrap();
    assert_eq!((died.outcome.death, died.outcome.certainty), (Death::Memory, Certainty::Certain), "{died:?}");
    let own = lab.init.run(&call(&lab.init, &["tail", "/dev/zero"])).await.unwrap();
    assert_eq!((own.outcome.death, own.outcome.signal), (Death::Memory, Some(9)), "{own:?}");
    assert_eq!(own.outcome.exit_status(), 137);
    let survived = lab.init.exec(format!("{hungry}; exit 0")).await.unwrap();
    assert_eq!(survived.outcome.death, Death::Exit, "it outlived the loss of a child");
    let other = lab.engine.run(&call(&lab.engine, &["tail", "/dev/zero"])).await.unwrap();
    assert_eq!(other.outcome.exit_status(), 137, "{other:?}");
    assert!(!lab.engine.transport().capabilities().cause_of_death);
    let fine = lab.init.exec("exit 9").await.unwrap();
    assert_eq!(
        (fine.outcome.death, fine.outcome.code),
        (Death::Exit, Some(9)),
        "an old count is not held against it"
    );
}

#[tokio::test]
async fn a_process_limit_is_named() {
    let lab = Lab::configured("{ agents: { defaults: { sandbox: { docker: { pidsLimit: 24 } } } } }").await;
    let many = "i=0; while [ $i -lt 60 ]; do sleep 3 & i=$((i+1)); done; wait";
    let done = lab.init.exec(many).await.unwrap();
    assert_eq!((done.outcome.death, done.outcome.certainty), (Death::Pids, Certainty::Certain), "{done:?}");
    assert!(text(&done.stderr).contains("fork"), "{done:?}");
    assert!(done.outcome.processes.unwrap().proven_gone);
    let fine = lab.init.exec("true | true | echo fine").await.unwrap();
    assert_eq!((text(&fine.stdout), fine.outcome.death), ("fine\n".to_owned(), Death::Exit));
    let other = lab.engine.exec(many).await.unwrap();
    assert_ne!(other.outcome.exit_status(), 0, "{other:?}");
}

#[tokio::test]
async fn a_full_scratch_is_named() {
    let lab = Lab::configured(
        r#"{ agents: { defaults: { sandbox: { docker: { tmpfs: ["/tmp:size=1m", "/run"] } } } } }"#,
    )
    .await;
    let fill = "head -c 3000000 /dev/zero > /tmp/x";
    let done = lab.init.exec(fill).await.unwrap();
    assert_eq!((done.outcome.death, done.outcome.code), (Death::Exit, Some(1)), "{done:?}");
    assert_eq!(done.outcome.full, ["/tmp"]);
    let other = lab.engine.exec(fill).await.unwrap();
    assert_eq!((other.outcome.exit_status(), text(&other.stderr)), (1, text(&done.stderr)));
    let fine = lab.init.exec("rm /tmp/x; false").await.unwrap();
    assert_eq!(fine.outcome.full, Vec::<String>::new());
}

/// Usage belongs to the command that caused it.
#[tokio::test]
async fn usage_is_measured_over_init() {
    let lab = Lab::new().await;
    let busy = lab.init.exec("(head -c 100000000 /dev/zero | sha256sum) >/dev/null").await.unwrap();
    let idle = lab.init.exec("sleep 0.3").await.unwrap();
    let cpu = |usage: creel::runner::Usage| Duration::from_micros(usage.user_us + usage.system_us);
    let (busy, idle) = (busy.outcome.usage.unwrap(), idle.outcome);
    assert!(cpu(busy) > Duration::from_millis(50) && busy.peak_kib > 0, "{busy:?}");
    assert!(cpu(idle.usage.unwrap()) < Duration::from_millis(50), "{idle:?}");
    assert!(idle.wall >= Duration::from_millis(300), "{idle:?}");
}
