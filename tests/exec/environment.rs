//! Environment, PATH, directory and identity of a command.

use creel::Sandbox;
use creel::engine::Endpoint;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::case::{argv, sh, table};
use crate::lab::{Home, IMAGE, Lab, argv as call, engine, text};

const IMAGE_PATH: &str = "/opt/image/bin:/usr/bin:/bin";
const PROFILE: &[u8] = b"PATH=/usr/bin:/opt/profile/bin:/bin\nexport PATH FROM_PROFILE=yes\n";

/// An image with a PATH and a profile of its own.
async fn image(home: &mut Home) -> String {
    let dockerfile =
        format!("FROM {IMAGE}\nENV PATH={IMAGE_PATH} FROM_IMAGE='a b' A=image\nCOPY profile /etc/profile\n");
    home.build(&dockerfile, &[("profile", 0o644, PROFILE)]).await
}

#[tokio::test]
async fn path_is_rebuilt_behind_the_profile() {
    let mut home = Home::new().configure(r#"{ tools: { exec: { pathPrepend: ["/pre/one", "/pre/two"] } } }"#);
    let options = home.options().image(image(&mut home).await);
    let lab = home.open(options).await;
    let hostile = "/x y:/$(touch /workspace/owned):/`id`:/a\"b:/c'd;echo pwned:/*";
    let show = "echo \"$PATH\"";
    let cases = vec![
        sh("prepend, image, profile", show).out(format!("/pre/one:/pre/two:{IMAGE_PATH}:/opt/profile/bin\n")),
        sh("the call's PATH replaces the image's", show)
            .env("PATH", "/call:/bin")
            .out("/pre/one:/pre/two:/call:/bin:/usr/bin:/opt/profile/bin\n"),
        sh("a hostile PATH is data", "echo \"$PATH\"; /bin/busybox ls /workspace")
            .env("PATH", hostile)
            .out(format!("/pre/one:/pre/two:{hostile}:/usr/bin:/opt/profile/bin:/bin\nbin\n")),
        sh("what carries it is gone", "set | grep -c -e PREPEND -e '^__'").out("0\n").status(1),
        argv("no shell, no profile", &["/bin/sh", "-c", show])
            .out(format!("/pre/one:/pre/two:{IMAGE_PATH}\n")),
        sh("the profile has run", "echo $FROM_PROFILE").out("yes\n"),
        sh("the image's environment", "echo \"$FROM_IMAGE\"").out("a b\n"),
        sh("a program of the call's PATH", "tool").env("PATH", "/workspace/bin:/bin").out("found\n"),
        argv("argv is looked up there too", &["tool"]).env("PATH", "/workspace/bin:/bin").out("found\n"),
    ];
    let tool = "mkdir -p bin && printf '#!/bin/sh\\necho found\\n' > bin/tool && chmod +x bin/tool";
    lab.init.exec(tool).await.unwrap();
    table(&lab, cases).await;
}

#[tokio::test]
async fn variables_are_data() {
    let home = Home::new().configure(
        r#"{ agents: { defaults: { sandbox: { docker: { env: { A: "config", B: "config" } } } } } }"#,
    );
    let options = home.options().env("B", "options").env("C", "options");
    let lab = home.open(options).await;
    let value = "line one\nline two\n\t$HOME `id` \"quoted\" 'single' \\ ä😀";
    let cases = vec![
        sh("marker", "echo $OPENCLAW_SHELL").out("exec\n"),
        sh("the marker cannot be changed", "echo $OPENCLAW_SHELL")
            .env("OPENCLAW_SHELL", "mine")
            .out("exec\n"),
        sh("home is the workspace", "echo $HOME; pwd; cd; pwd").out("/workspace\n/workspace\n/workspace\n"),
        sh("home can be set", "echo $HOME").env("HOME", "/tmp").out("/tmp\n"),
        sh("layers", "echo $A $B $C").env("C", "call").out("config options call\n"),
        sh("a dollar is a dollar", "echo \"$X\"").env("X", "$HOME").out("$HOME\n"),
        sh("any text", "printf %s \"$X\"").env("X", value).out(value),
        argv("any text for a program", &["sh", "-c", "printf %s \"$X\""]).env("X", value).out(value),
        sh("an empty value is set", "echo ${X-unset}.").env("X", "").out(".\n"),
        sh("the later of two", "echo $X").env("X", "1").env("X", "2").out("2\n"),
        sh("a workdir", "pwd; echo $HOME").workdir("/tmp").out("/tmp\n/tmp\n"),
        sh("nothing of the host", "env | grep -c -e CARGO -e '^USER=' -e DOCKER").out("0\n").status(1),
    ];
    table(&lab, cases).await;
}

/// What cannot be an environment is refused before anything runs.
#[tokio::test]
async fn what_the_kernel_cannot_hold_is_refused() {
    let lab = Lab::new().await;
    let with_nul = {
        let mut call = lab.init.call("true");
        call.env.push(("X".to_owned(), "a\0b".to_owned()));
        call
    };
    for call in [with_nul, call(&lab.init, &["echo", "a\0b"]), call(&lab.init, &[""]), call(&lab.init, &[])] {
        let error = lab.init.run(&call).await.unwrap_err();
        assert_eq!(error.0.code, "CRL-LINK-008", "{error}");
        assert!(!error.0.fix.is_empty());
    }
    assert_eq!(text(&lab.init.exec("echo fine").await.unwrap().stdout), "fine\n");
}

/// Q-5: whoever may inspect the container sees no value of any command's environment.
#[tokio::test]
async fn the_engine_shows_no_variable() {
    let secret = "s3cr3t-of-the-test";
    let home = Home::new().configure(&format!(
        r#"{{ agents: {{ defaults: {{ sandbox: {{ docker: {{ env: {{ TOKEN: "{secret}" }} }} }} }} }} }}"#
    ));
    let options = home.options().env("OTHER", secret);
    let lab = home.open(options).await;
    let mut call = lab.init.call("echo $TOKEN $OTHER $MINE; sleep 7001");
    call.env.push(("MINE".to_owned(), secret.to_owned()));
    let mut running = lab.init.start(&call).await.unwrap();
    let seen = crate::lab::read_until(&mut running, "\n").await;
    assert_eq!(seen, format!("{secret} {secret} {secret}\n"));
    let answer = inspect(&lab.init).await;
    assert!(answer.contains(&lab.init.container().0) && !answer.contains(secret), "{answer}");
}

/// The engine's whole answer, not the part that creel reads.
async fn inspect(sandbox: &Sandbox) -> String {
    let engine = engine().await;
    let Endpoint::Unix(socket) = &engine.facts().endpoint else { panic!("this test reads a socket") };
    let mut stream = tokio::net::UnixStream::connect(socket).await.unwrap();
    let request = format!("GET /containers/{}/json HTTP/1.0\r\nHost: engine\r\n\r\n", sandbox.container().0);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
