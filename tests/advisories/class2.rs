//! Class 2: wrappers, dispatchers and carriers.

use std::path::Path;

use crate::machine::{judged, misses, passes};
use creel::approvals::assess::Part;
use creel::approvals::programs::Program;

#[test]
fn a029_env_in_front_of_a_shell() {
    misses(
        &["env", "/usr/bin/env", "bash", "/usr/bin/bash"],
        &["env bash -c 'touch MARK'", "/usr/bin/env sh -c x"],
    );
    passes(&["git"], &["env git status", "/usr/bin/env git status"]);
}

#[test]
fn a030_a031_env_that_makes_words_or_looks_elsewhere() {
    misses(
        &["*", "env", "git", "sh"],
        &[
            "env -S 'sh -c id'",
            "env -iS'sh -c id'",
            "env --split-string='sh -c id'",
            "env --split-string 'git status'",
            "env -P ./evil git status",
            "env A=1 git status",
            "env -i git status",
            "env -u HOME git status",
            "env -C /tmp git status",
        ],
    );
    passes(&["git"], &["env -- git status", "env - git status", "env env git status"]);
}

#[test]
fn a033_a034_multiplexers() {
    misses(
        &["*", "busybox", "toybox", "/usr/bin/busybox", "cat", "rm"],
        &["busybox sh -c 'touch MARK'", "toybox sh x", "busybox cat f", "busybox rm f", "busybox ash"],
    );
    // Called by the name of one of its programs it is that program.
    passes(&["cat"], &["cat f"]);
}

/// What would be remembered is the program, not what stands in front of it.
#[test]
fn a035_a037_wrappers_are_looked_through() {
    for (text, wrappers) in [
        ("timeout 5 git status", &["timeout"][..]),
        ("nice git status", &["nice"]),
        ("nohup git status", &["nohup"]),
        ("stdbuf -o0 git status", &["stdbuf"]),
        ("time git status", &["time"]),
        ("flock -n f git status", &["flock"]),
        ("nice timeout 5 git status", &["nice", "timeout"]),
        ("sh -c 'git status'", &["sh"]),
    ] {
        let judged = judged(&["git"], &[], text);
        assert!(judged.satisfied, "{text}");
        let part: &Part = judged.parts.first().unwrap();
        assert_eq!(part.program.as_ref().map(Program::name), Some("git"), "{text}");
        let seen: Vec<_> = part.wrappers.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(seen, wrappers, "{text}");
    }
    let wrappers = &["timeout", "nice", "nohup", "stdbuf", "time", "zsh", "git"];
    misses(
        wrappers,
        &["timeout 5 curl x", "time sh -c id", "nice curl", "zsh -lc 'git status'", "zsh -lc id"],
    );
}

#[test]
fn a038_a039_a_text_behind_script_and_wrappers_of_other_systems() {
    misses(
        &["*", "script", "sh", "git", "arch"],
        &[
            "script -qc 'touch MARK' /dev/null",
            "script MARK -c ls",
            "script x",
            "arch -arm64 sh -c id",
            "caffeinate -i sh -c id",
            "sandbox-exec -p x sh -c id",
            "xcrun git status",
            "setsid git status",
            "sudo git status",
        ],
    );
    passes(&["git"], &["git script", "nice git status"]);
}

#[test]
fn a041_what_a_wrapper_does_itself() {
    misses(
        &["*", "ls", "time"],
        &[
            "time -o MARK ls",
            "time --output=MARK ls",
            "time -ao MARK ls",
            "script MARK -c ls",
            "flock f -c ls",
        ],
    );
    passes(&["ls"], &["time ls", "time -p ls", "flock f ls"]);
}

#[test]
fn a042_words_of_the_shell_in_front() {
    misses(
        &["*", "exec", "command", "builtin", "sh", "git"],
        &[
            "command -p sh -c id",
            "command -p git status",
            "exec -a x git status",
            "exec -c git status",
            "builtin eval id",
            "builtin git status",
            "command eval id",
            "command command eval id",
            "eval git status",
            ". ./x",
            "source x",
            "trap id EXIT",
            "alias git=id",
            "hash -p ./x git",
            "enable -f x y",
        ],
    );
    misses(&["exec", "command", "sh", "id"], &["exec sh -c id", "command sh -c id"]);
    // A question starts nothing.
    passes(&["ls"], &["command -v git", "type git", "command -v git && ls"]);
    passes(&["git"], &["exec git status", "command git status", "command -- git status"]);
}

#[test]
fn a043_tools_that_start_what_they_are_told() {
    misses(
        &["*", "make", "xargs", "find", "sh"],
        &[
            "make -f /dev/stdin <<<'a:;touch MARK'",
            "xargs sh -c",
            "xargs -I{} touch {}",
            "find . -exec touch MARK ;",
            "find . -- -execdir x ;",
            "find . -ok x ;",
            "find . -okdir x ;",
            "parallel touch",
            "entr touch",
        ],
    );
    for text in ["make -f /dev/stdin", "make --eval=x", "awk x", "sed 1e"] {
        assert!(judged(&["*"], &[], text).facts(false).inline_eval, "{text}");
    }
    passes(&["find", "make"], &["find . -name x", "make all"]);
}

#[test]
fn a045_a046_runners_of_packages() {
    let runners = &["npm", "npx", "pnpm", "yarn", "bunx", "bun", "git", "tsx", "*"];
    misses(
        runners,
        &[
            "pnpm --reporter x exec tsx a.ts",
            "pnpm dlx ./local-pkg",
            "npx -y git status",
            "npm exec git status",
            "yarn dlx git",
            "bunx git",
            "npx tsx a.ts",
        ],
    );
    passes(&["git"], &["git npx"]);
}

/// A047 and the rest of A045: options that load more code are for whoever binds the run; here they make no entry wider.
#[test]
fn a047_options_that_load_code() {
    let texts = ["perl -Mevil ok.pl", "ruby -r./evil ok.rb", "node --import ./evil.mjs ok.js"];
    for text in texts {
        misses(&["ok.pl", "ok.rb", "ok.js"], &[text]);
    }
    misses(&["node", "perl"], &["NODE_OPTIONS=--import=./evil.mjs node ok.js", "PERL5OPT=-Mevil perl ok.pl"]);
    passes(&["node"], &["node ok.js"]);
}

/// The same program under a shell that is not the one that was meant.
#[test]
fn shells_by_path_and_with_files_read_first() {
    misses(
        &["/home/user/work/run.sh", "run.sh"],
        &[
            "./bash run.sh",
            "/some/dir/bash run.sh",
            "fish --init-command=\"rm x\" run.sh",
            "bash -i run.sh",
            "bash -l run.sh",
            "bash --rcfile x run.sh",
            "BASH run.sh",
            "cd /tmp && bash run.sh",
            "cd /tmp; bash run.sh",
            "cd /tmp || bash run.sh",
            "pushd /tmp && bash run.sh",
            "chdir /tmp && bash run.sh",
            "cat x | bash",
        ],
    );
    passes(
        &["/home/user/work/run.sh"],
        &["bash run.sh", "bash run.sh --flag -c x", "sh ./run.sh", "true | cd /tmp && true; true"],
    );
    passes(&["/tmp/run.sh"], &["cd /tmp && bash run.sh", "cd /tmp && true && ./run.sh", "/tmp/run.sh"]);
    passes(&["/home/user/work/a/b/run.sh"], &["cd a && cd ./b && ./run.sh"]);
    let judged = judged(&["tool"], &[], "sh -c 'cd b && tool; tool'");
    let dirs: Vec<_> = judged.parts.iter().map(|part| part.dir.as_deref().and_then(Path::to_str)).collect();
    assert_eq!(dirs, [Some("/home/user/work"), Some("/home/user/work/b"), None]);
}

#[test]
fn other_cases_of_builtins_are_programs() {
    misses(&[], &["True", "TEST x", "CD x", "PATH=/tmp/e; True", "unset PATH; true", "[ -v 'a[$(cmd)]' ]"]);
    misses(
        &["*"],
        &["test -v 'a[$(cmd)]'", "[ -v a[b] ]", "test -v *", "printf -v 'a[$(c)]' x", "wait -p 'a[$(c)]'"],
    );
    passes(&[], &["true", "test x = y", "[ -f x ] && pwd", "cd x", "[ -d ~/x ]", ":"]);
}
