//! `setupCommand`: once for each container that is made, whole or not at all.

use std::path::PathBuf;

use pretty_assertions::assert_eq;

use crate::home::{Home, until};

/// A file in the sandbox's own workspace, which outlives containers.
fn file(home: &Home, name: &str) -> Option<PathBuf> {
    let dirs = std::fs::read_dir(home.state().join("sandboxes")).into_iter().flatten().flatten();
    dirs.map(|dir| dir.path().join(name)).find(|path| path.exists())
}

fn lines(home: &Home, name: &str) -> Vec<String> {
    let text = file(home, name).map(|path| std::fs::read_to_string(path).unwrap()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn once_for_each_container_as_text_or_as_lines() {
    for written in ["'echo one >> log; echo two >> log'", "['echo one >> log', 'echo two >> log']"] {
        let home = Home::with_docker(&format!("setupCommand: {written}"));
        home.sh("true");
        home.sh("true");
        assert_eq!(lines(&home, "log"), ["one", "two"]);
        home.ok(&["sandbox", "recreate", "--all", "--force"]);
        home.sh("true");
        assert_eq!(lines(&home, "log").len(), 4, "{written}");
    }
    let home = Home::with_docker("setupCommand: '   '");
    assert_eq!(home.sh("ls"), "");
}

/// Its environment is that of every command, and the container's user runs it.
#[test]
fn it_runs_as_commands_do() {
    let home = Home::with_docker(
        "env: { WORD: 'said' }, setupCommand: 'id -u > who; pwd >> who; echo $WORD >> who'",
    );
    assert_eq!(
        home.sh("id -u; pwd; echo $WORD; cat who"),
        "1000\n/workspace\nsaid\n1000\n/workspace\nsaid\n"
    );
}

#[test]
fn a_failure_leaves_nothing_and_is_tried_again() {
    let home =
        Home::with_docker("setupCommand: 'echo try >> log; test -e good || { echo not yet >&2; exit 3; }'");
    for _ in 0..2 {
        home.run(&["exec", "--", "true"])
            .refused("CRL-SANDBOX-016", &["setupCommand", "status 3", "not yet"]);
        assert_eq!(home.containers().len(), 0);
    }
    std::fs::write(file(&home, "log").unwrap().with_file_name("good"), "").unwrap();
    home.sh("true");
    home.sh("true");
    assert_eq!(lines(&home, "log").len(), 3);
}

/// A creel that is killed in the middle of it leaves a container that nobody uses: the next one makes another.
#[test]
fn a_crash_in_the_middle_is_no_success() {
    let home = Home::with_docker(
        "setupCommand: 'echo begin >> log; [ $(wc -l < log) -gt 1 ] || sleep 1000; echo end >> log'",
    );
    let mut first = home.creel(&["exec", "--", "true"]).spawn().unwrap();
    until("the set-up begins", || lines(&home, "log") == ["begin"]);
    first.kill().unwrap();
    first.wait().unwrap();
    let half = home.only();
    assert_eq!(half["proven"], false, "{half}");
    assert_eq!(home.sh("cat log"), "begin\nbegin\nend\n");
    assert_ne!(home.only()["id"], half["id"]);
}

#[test]
fn what_a_crash_left_is_pruned() {
    let home = Home::with_docker("setupCommand: 'touch up; sleep 1000'");
    let mut first = home.creel(&["exec", "--", "true"]).spawn().unwrap();
    until("the set-up begins", || file(&home, "up").is_some());
    first.kill().unwrap();
    first.wait().unwrap();
    let out = home.ok(&["sandbox", "prune"]);
    assert!(out.contains("it never became ready"), "{out}");
    assert_eq!(home.containers().len(), 0);
}

#[test]
fn several_at_once_wait_for_one() {
    let home = Home::with_docker("setupCommand: 'echo once >> log; sleep 0.5; touch done'");
    let all: Vec<_> = (0..4).map(|_| home.creel(&["exec", "--", "ls done"]).spawn().unwrap()).collect();
    for child in all {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, b"done\n");
    }
    assert_eq!(lines(&home, "log"), ["once"]);
    assert_eq!(home.containers().len(), 1);
}
