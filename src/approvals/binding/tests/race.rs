//! One thing is exchanged between the decision and the start; in the twin nothing is.

use std::os::unix::fs::symlink;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;
use crate::approvals::host_permit::{Ground, HostCommand, HostPermit};
use crate::runner::host_plan::HostSetting;
use crate::runner::{Death, Options, Outcome, Progress, StartFailure, fresh_id, host, start_on_host};
use crate::sandbox::InitSearch;
use crate::wire::Stream;

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_mins(1);

fn permit(binding: &Binding, expires_at_ms: Option<u64>) -> HostPermit {
    // What the caller says by now has no say.
    let command = HostCommand {
        command: Command::Shell("echo another command".to_owned()),
        host: Target::Gateway,
        workdir: "/".to_owned(),
        env: vec![("A".to_owned(), "another value".to_owned())],
        session: "agent:main:main".to_owned(),
        agent: "main".to_owned(),
    };
    HostPermit::bound(command, Ground::Reviewed, binding, expires_at_ms)
}

/// Runs what was bound under a supervisor of its own.
async fn run(lab: &Lab, permit: &HostPermit) -> (Outcome, String) {
    let search = InitSearch::from_process(|name| std::env::var(name).ok());
    let init =
        search.places().into_iter().find(|place| place.is_file()).expect("creel-init is built: make init");
    let meeting = lab.at("meet");
    let link = host::launch(&init, &meeting).await.unwrap();
    let options = Options { grace: Duration::from_millis(300), ..Options::default() };
    let mut running =
        start_on_host(fresh_id().unwrap(), permit, &HostSetting::default(), &options, &link).await.unwrap();
    let mut text = Vec::new();
    let end = tokio::time::timeout(PATIENCE, async {
        loop {
            match running.next().await.unwrap() {
                Progress::Output(Stream::Stdout, data) => text.extend_from_slice(&data),
                Progress::Done(outcome) => break *outcome,
                _ => {}
            }
        }
    });
    let outcome = end.await.unwrap();
    drop((running, link));
    tokio::time::timeout(PATIENCE, async {
        while meeting.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    (outcome, String::from_utf8(text).unwrap())
}

fn made(lab: &Lab) {
    lab.write("work/a.sh", "echo from a script $A");
    lab.copy("/bin/cat", "bin/tool");
    symlink(lab.at("bin/tool"), lab.at("bin/linked")).unwrap();
    lab.write("work/text", "content\n");
    std::fs::create_dir(lab.at("elsewhere")).unwrap();
    lab.write("elsewhere/text", "another\n");
}

/// Whoever may write the file exchanges something.
type Exchange = fn(&Lab);

const TABLE: &[(&str, Exchange, StartFailure)] = &[
    // A159: the directory is another of the same name, with files of the same names.
    (
        "tool text",
        |lab| {
            std::fs::rename(lab.at("work"), lab.at("was")).unwrap();
            std::fs::rename(lab.at("elsewhere"), lab.at("work")).unwrap();
        },
        StartFailure::DirectoryChanged,
    ),
    (
        "tool text",
        |lab| {
            std::fs::rename(lab.at("work"), lab.at("was")).unwrap();
            symlink("elsewhere", lab.at("work")).unwrap();
        },
        StartFailure::DirectoryChanged,
    ),
    // Another file of the same path.
    (
        "tool text",
        |lab| {
            let new = lab.copy("/bin/echo", "bin/new");
            std::fs::rename(new, lab.at("bin/tool")).unwrap();
        },
        StartFailure::ProgramChanged,
    ),
    // The same file with another content of the same length.
    (
        "tool text",
        |lab| {
            use std::os::unix::fs::FileExt as _;
            let file = std::fs::OpenOptions::new().write(true).open(lab.at("bin/tool")).unwrap();
            file.write_all_at(b"\0", 64).unwrap();
        },
        StartFailure::ProgramChanged,
    ),
    // A link on the way leads elsewhere.
    (
        "linked text",
        |lab| {
            std::fs::remove_file(lab.at("bin/linked")).unwrap();
            symlink("/bin/echo", lab.at("bin/linked")).unwrap();
        },
        StartFailure::ProgramChanged,
    ),
    // It is gone.
    ("tool text", |lab| std::fs::remove_file(lab.at("bin/tool")).unwrap(), StartFailure::ProgramChanged),
    // A161: the script is rewritten, by its own name or by a file in its place.
    ("sh a.sh", |lab| std::fs::write(lab.at("work/a.sh"), "echo evil").unwrap(), StartFailure::ScriptChanged),
    (
        "sh a.sh",
        |lab| {
            let new = lab.write("work/new", "echo from a script $A");
            std::fs::rename(new, lab.at("work/a.sh")).unwrap();
        },
        StartFailure::ScriptChanged,
    ),
    // A program inside a text.
    (
        "tool text; tool text",
        |lab| {
            let new = lab.copy("/bin/echo", "bin/new");
            std::fs::rename(new, lab.at("bin/tool")).unwrap();
        },
        StartFailure::ProgramChanged,
    ),
];

#[tokio::test]
async fn what_was_exchanged_does_not_run() {
    for (number, (text, exchange, failure)) in TABLE.iter().enumerate() {
        let lab = Lab::new();
        made(&lab);
        let binding = lab.bind(text, &[]).unwrap();
        assert_eq!(binding.verify(&lab.disk), Ok(()));
        let permit = permit(&binding, None);
        exchange(&lab);
        assert!(binding.verify(&lab.disk).is_err(), "{number} {text}: seen before the start");
        let (outcome, said) = run(&lab, &permit).await;
        assert_eq!(outcome.start_failure, Some(*failure), "{number} {text}: {outcome:?}");
        assert_eq!((outcome.death, said.as_str()), (Death::NotStarted, ""), "{number} {text}");
        let report = outcome.describe(&crate::runner::Asked::default()).unwrap();
        assert!(report.message.starts_with("SYSTEM_RUN_DENIED: approval "), "{}", report.message);
        assert!(report.message.contains("changed before execution"), "{}", report.message);
    }
}

/// The twins: nothing was exchanged, or nothing that was bound.
#[tokio::test]
async fn what_was_bound_runs_as_it_was_bound() {
    for (text, said) in [
        ("tool text", "content\n"),
        ("linked text", "content\n"),
        ("sh a.sh", "from a script bound\n"),
        ("cat text; cat text", "content\ncontent\n"),
    ] {
        let lab = Lab::new();
        made(&lab);
        let binding = lab.bind(text, &[("A", "bound")]).unwrap();
        let permit = permit(&binding, Some(u64::MAX - 1));
        // A file that is made there is no change of the directory.
        lab.write("work/new", "");
        assert_eq!(binding.verify(&lab.disk), Ok(()));
        let (outcome, printed) = run(&lab, &permit).await;
        assert_eq!((outcome.code, printed.as_str()), (Some(0), said), "{text}: {outcome:?}");
    }
}

/// Spec 11.04: an earlier match in PATH counts as drift, though the bound file would run.
#[test]
fn an_earlier_match_in_path_is_seen() {
    let lab = Lab::new();
    made(&lab);
    let binding = lab.bind("tool text", &[]).unwrap();
    lab.copy("/bin/echo", "first/tool");
    assert!(matches!(binding.verify(&lab.disk), Err(BindError::Executable { .. })));
    std::fs::remove_file(lab.at("first/tool")).unwrap();
    assert_eq!(binding.verify(&lab.disk), Ok(()));
}

/// A `#!` script has an interpreter that opens it by its name; a multi-call binary knows itself by the name it is given.
#[tokio::test]
async fn scripts_and_names() {
    let lab = Lab::new();
    lab.write("work/run", "#!/bin/sh\necho script \"$@\"\n");
    let binding = lab.bind("./run a b", &[]).unwrap();
    let (outcome, said) = run(&lab, &permit(&binding, None)).await;
    assert_eq!((outcome.code, said.as_str()), (Some(0), "script a b\n"), "{outcome:?}");
    // The name is given; the file is the one that was bound.
    let assessed = lab.assess("sh -c 'echo $0'");
    let mut enforced = lab.enforce(&assessed);
    enforced.arg0 = Some("given".to_owned());
    let binding = bind(&assessed, Some(&enforced), &lab.cwd(), &[], &lab.disk).unwrap();
    let (outcome, said) = run(&lab, &permit(&binding, None)).await;
    assert_eq!((outcome.code, said.as_str()), (Some(0), "given\n"), "{outcome:?}");
}

/// Spec 11.16, A155, A167: the permit is about what was bound, for one session and one agent.
#[test]
fn a_permit_says_what_was_bound() {
    let lab = Lab::new();
    made(&lab);
    let binding = lab.bind("tool text", &[("A", "bound")]).unwrap();
    let base = permit(&binding, None);
    assert_eq!(base.command().command(), binding.command());
    assert_eq!(base.command().workdir(), lab.at("work").to_str());
    assert_eq!(base.command().env(), [("A".to_owned(), "bound".to_owned())]);
    assert!(base.exact() && base.pins().len() == 2);
    assert_eq!(base.digest(), permit(&binding, None).digest());
    assert_ne!(base.digest(), permit(&binding, Some(1)).digest());
    assert_ne!(base.digest(), permit(&lab.bind("tool text", &[]).unwrap(), None).digest());
    let other = |change: fn(&mut HostCommand)| {
        let mut command = HostCommand {
            command: Command::Argv(Vec::new()),
            host: Target::Gateway,
            workdir: String::new(),
            env: Vec::new(),
            session: "agent:main:main".to_owned(),
            agent: "main".to_owned(),
        };
        change(&mut command);
        HostPermit::bound(command, Ground::Reviewed, &binding, None)
    };
    assert_eq!(base.digest(), other(|_| {}).digest());
    assert_ne!(base.digest(), other(|command| command.session.push('x')).digest());
    assert_ne!(base.digest(), other(|command| command.agent.push('x')).digest());
    assert_ne!(base.digest(), other(|command| command.host = Target::Node).digest());
    let rewritten = lab.at("bin/tool");
    std::fs::write(&rewritten, "").unwrap();
    let again = lab.bind("tool text", &[("A", "bound")]).unwrap();
    assert_ne!(base.digest(), permit(&again, None).digest());
}

/// Spec 9.40: an approval of one run is good for a short time.
#[tokio::test]
async fn a_permit_that_has_expired_starts_nothing() {
    let lab = Lab::new();
    made(&lab);
    let permit = permit(&lab.bind("tool text", &[]).unwrap(), Some(1));
    let search = InitSearch::from_process(|name| std::env::var(name).ok());
    let init =
        search.places().into_iter().find(|place| place.is_file()).expect("creel-init is built: make init");
    let link = host::launch(&init, &lab.at("meet")).await.unwrap();
    let started =
        start_on_host(fresh_id().unwrap(), &permit, &HostSetting::default(), &Options::default(), &link)
            .await;
    assert!(matches!(started, Err(crate::runner::RunError::PermitExpired)));
}

/// Listed commands wait for nobody: which file it is, and no content.
#[tokio::test]
async fn a_listed_command_is_pinned_by_identity() {
    let lab = Lab::new();
    made(&lab);
    let assessed = lab.assess("tool text");
    let enforced = lab.enforce(&assessed);
    let binding = pin(&assessed, &enforced, &lab.cwd(), &[], &lab.disk).unwrap();
    assert!(!binding.mutable() && binding.describe().files.iter().all(|file| file.sha256.is_none()));
    let (outcome, said) = run(&lab, &permit(&binding, None)).await;
    assert_eq!((outcome.code, said.as_str()), (Some(0), "content\n"));
    let new = lab.copy("/bin/echo", "bin/new");
    std::fs::rename(new, lab.at("bin/tool")).unwrap();
    let (outcome, _) = run(&lab, &permit(&binding, None)).await;
    assert_eq!(outcome.start_failure, Some(StartFailure::ProgramChanged));
}
