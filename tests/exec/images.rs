//! Images that are not made for sandboxes, and what a sandbox takes away from any image.

use std::os::unix::fs::{MetadataExt as _, chown};

use creel::runner::{StartFailure, Transport};

use crate::case::{argv, sh, table};
use crate::lab::{Home, IMAGE, Lab, argv as call, text};

/// An image's own start-up is never run.
#[tokio::test]
async fn entrypoint_and_command_are_overridden() {
    let mut home = Home::new();
    let dockerfile =
        format!("FROM {IMAGE}\nENTRYPOINT [\"/bin/false\"]\nCMD [\"x\"]\nWORKDIR /opt\nUSER root\n");
    let image = home.build(&dockerfile, &[]).await;
    let options = home.options().image(image);
    let lab = home.open(options).await;
    let cases = vec![
        sh("shell", "echo ok; pwd").out("ok\n/workspace\n"),
        argv("argv", &["echo", "ok"]).out("ok\n"),
        sh("PID 1 is creel-init", "tr '\\000' ' ' < /proc/1/cmdline | cut -d' ' -f1-2")
            .out("/.creel/init pid1\n"),
        sh("the image's user does not count", "id -u").out("1000\n"),
    ];
    table(&lab, cases).await;
}

/// Nothing in the image is needed for argv; what a shell command needs is named.
#[tokio::test]
async fn an_image_without_a_shell() {
    let mut home = Home::new();
    let tool = std::fs::read(home.init().await).unwrap();
    let image = home.build("FROM scratch\nCOPY tool /tool\n", &[("tool", 0o755, &tool)]).await;
    let options = home.options().image(image);
    let lab = home.open(options).await;
    let cases = vec![
        argv("argv", &["/tool", "control", "write", "5"]).out("xxxxx"),
        argv("argv's status", &["/tool"]).status(125).err_has("usage"),
        argv("input", &["/tool", "control", "spawn", "--", "/none"]).input(""),
        sh("shell", "true").fails(StartFailure::Shell, 125),
        argv("missing program", &["ls"]).fails(StartFailure::NotFound, 127),
    ];
    table(&lab, cases).await;
}

#[tokio::test]
async fn a_sandbox_is_hard() {
    let lab = Lab::new().await;
    let status = |field: &str| format!("grep -m1 '^{field}:' /proc/self/status | tr -s ' \\t' ' '");
    let cases = vec![
        sh("root is read-only", "touch /x /etc/x /usr/x 2>/dev/null || echo no; awk '$2==\"/\"{print substr($4,1,2)}' /proc/mounts")
            .out("no\nro\n"),
        sh("only loopback", "ls /sys/class/net").out("lo\n"),
        sh("no capability", status("CapEff")).out("CapEff: 0000000000000000\n"),
        sh("none to gain", status("CapBnd")).out("CapBnd: 0000000000000000\n"),
        sh("no new privileges", status("NoNewPrivs")).out("NoNewPrivs: 1\n"),
        sh("seccomp", status("Seccomp")).out("Seccomp: 2\n"),
        sh("not root", "id -u; id -g").out("1000\n1000\n"),
        sh("writable workspace", "echo x > f && cat f && rm f").out("x\n"),
        sh("writable scratch", "echo x > /tmp/f && cat /tmp/f && rm /tmp/f").out("x\n"),
        sh("descriptors", "ls /proc/self/fd | tr '\\n' ' '").out("0 1 2 3 "),
        sh("no signal is blocked", status("SigBlk")).out("SigBlk: 0000000000000000\n"),
        sh("init's memory is closed", "cat /proc/1/environ 2>&1 | grep -c denied").out("1\n"),
        sh("init cannot be replaced", "echo x > /.creel/init").status(1).err_has("creel/init"),
    ];
    table(&lab, cases).await;
    // Over the engine a command keeps what the engine's own starter ignored; init puts everything right.
    let done = lab.init.exec(status("SigIgn")).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "SigIgn: 0000000000000000\n");
}

/// Files belong to the owner of the directory that was given, over both roads.
#[tokio::test]
async fn files_belong_to_the_owner_of_the_workspace() {
    let home = Home::new();
    let dir = home.place("work");
    let root = std::fs::metadata(&dir).unwrap().uid() == 0;
    let owner = if root {
        chown(&dir, Some(4321), Some(5432)).unwrap();
        (4321, 5432)
    } else {
        let facts = std::fs::metadata(&dir).unwrap();
        (facts.uid(), facts.gid())
    };
    let options = home.options().workspace(&dir);
    let lab = home.open(options).await;
    for sandbox in lab.roads() {
        let name = if sandbox.transport() == Transport::Init { "init" } else { "engine" };
        let done = sandbox
            .exec(format!("echo {name} > {name}; mkdir d-{name}; id -u; id -g; echo $HOME"))
            .await
            .unwrap();
        assert_eq!(text(&done.stdout), format!("{}\n{}\n/workspace\n", owner.0, owner.1), "{done:?}");
        for entry in [name.to_owned(), format!("d-{name}")] {
            let facts = std::fs::metadata(dir.join(entry)).unwrap();
            assert_eq!((facts.uid(), facts.gid()), owner);
        }
        assert_eq!(std::fs::read_to_string(dir.join(name)).unwrap(), format!("{name}\n"));
    }
}

/// A directory of root's: root inside, with nothing that makes root special, and the files stay usable.
#[tokio::test]
async fn a_workspace_of_roots_is_told() {
    let home = Home::new();
    let dir = home.place("work");
    if std::fs::metadata(&dir).unwrap().uid() != 0 {
        return;
    }
    let options = home.options().workspace(&dir);
    let lab = home.open(options).await;
    assert_eq!(lab.init.ready().user, "0:0");
    let done = lab.init.run(&call(&lab.init, &["id", "-u"])).await.unwrap();
    assert_eq!(text(&done.stdout), "0\n");
    let done = lab.init.exec("grep CapEff /proc/self/status; echo x > f; chown 1:1 f").await.unwrap();
    assert!(text(&done.stdout).contains("0000000000000000"), "{done:?}");
    assert_ne!(done.outcome.code, Some(0), "no capability to give files away");
}
