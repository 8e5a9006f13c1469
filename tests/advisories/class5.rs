//! Class 5: variables of the environment. In front of a command they are a miss; in a call's `env` the call is refused.

use creel::policy::host_env::{PathRule, inherited, set_by_call, set_for_wrapper};
use creel::runner::host_plan::host_call;

use crate::machine::{misses, passes};

/// Each is refused as a variable of a call, by its name, and nothing of the call runs.
#[track_caller]
fn refused(names: &[&str]) {
    for name in names {
        let harmless = ("HARMLESS".to_owned(), "1".to_owned());
        let call = [harmless, ((*name).to_owned(), "./evil".to_owned())];
        let error = host_call(&call).unwrap_err();
        assert!(error.to_string().to_uppercase().contains(&name.to_uppercase()), "{name}: {error}");
    }
}

/// Each is accepted.
#[track_caller]
fn accepted(names: &[&str]) {
    for name in names {
        assert!(set_by_call(name, "value", PathRule::Refused).is_ok(), "{name}");
    }
}

/// In front of a listed command it is not listed any more.
#[track_caller]
fn in_front(assignments: &[&str]) {
    for assignment in assignments {
        misses(
            &["*", "git", "sh"],
            &[&format!("{assignment} git status"), &format!("env {assignment} git status")],
        );
    }
    passes(&["git"], &["git status"]);
}

#[test]
fn a075_variables_of_the_loader() {
    refused(&[
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "ld_preload",
        "Ld_Preload",
    ]);
    accepted(&["LDAP_HOST", "MY_LD_FLAG"]);
    in_front(&["LD_PRELOAD=./x.so", "LD_PRELOAD+=./x.so", "DYLD_INSERT_LIBRARIES=x"]);
}

/// What creel's own process was started with is filtered for every command, too.
#[test]
fn a077_what_the_daemon_was_started_with() {
    for name in ["LD_PRELOAD", "NODE_OPTIONS", "BASH_ENV", "BASH_FUNC_git%%", "PYTHONPATH"] {
        assert_eq!(inherited(name, "./evil"), None, "{name}");
    }
    assert_eq!(inherited("LANG", "C.UTF-8").as_deref(), Some("C.UTF-8"));
}

#[test]
fn a078_files_that_shells_read_first() {
    refused(&["BASH_ENV", "ENV", "BASH_FUNC_git%%", "BASH_FUNC_git", "KSH_ENV", "ZDOTDIR"]);
    misses(&["*", "sh", "git"], &["BASH_ENV=./x sh -lc 'git status'", "ENV=./x sh -c 'git status'"]);
    passes(&["git"], &["sh -c 'git status'"]);
}

#[test]
fn a079_options_and_prompts_of_shells() {
    refused(&["SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS"]);
    in_front(&["SHELLOPTS=xtrace PS4='$(touch MARK)'"]);
    // A shell wrapper on a node gets the look of the output and nothing else.
    for name in ["TERM", "LANG", "LC_ALL", "COLORTERM", "NO_COLOR", "FORCE_COLOR"] {
        assert!(set_for_wrapper(name, "x").is_some(), "{name}");
    }
    for name in ["PS4", "SHELLOPTS", "FOO", "CI"] {
        assert!(set_for_wrapper(name, "x").is_none(), "{name}");
    }
}

/// The shell is chosen by the variable of creel's own process, and a call cannot set that.
#[test]
fn a081_the_variable_that_names_the_shell() {
    refused(&["SHELL", "shell", "CONFIG_SHELL", "RUBYSHELL"]);
    accepted(&["SHELL_LEVEL"]);
}

#[test]
fn a082_where_names_are_looked_up() {
    refused(&["PATH", "Path", "path"]);
    in_front(&["PATH=./e:$PATH", "PATH=/tmp/e"]);
    misses(
        &["git"],
        &["PATH=/tmp/e; git status", "export PATH=/tmp/e; git status", "./node_modules/.bin/git status"],
    );
}

#[test]
fn a083_a085_a086_a087_what_git_and_npm_obey() {
    refused(&[
        "GIT_SSH_COMMAND",
        "GIT_EDITOR",
        "GIT_PAGER",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "NPM_CONFIG_SCRIPT_SHELL",
        "npm_config_registry",
        "GIT_EXTERNAL_DIFF",
        "GIT_TEMPLATE_DIR",
        "AWS_CONFIG_FILE",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_ASKPASS",
        "GIT_PROXY_COMMAND",
        "GIT_EXEC_PATH",
        "GIT_SEQUENCE_EDITOR",
        "GIT_ALLOW_PROTOCOL",
        "GIT_NEVER_HEARD_OF",
    ]);
    accepted(&["GIT_AUTHOR_NAME", "GIT_COMMITTER_DATE"]);
    in_front(&[
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='touch MARK'",
        "GIT_EXTERNAL_DIFF='touch MARK'",
        "GIT_TEMPLATE_DIR=./t",
        "GIT_ASKPASS=./x",
    ]);
    assert_eq!(set_by_call("GIT_PAGER", "cat", PathRule::Refused), Ok(String::new()));
}

#[test]
fn a089_a090_what_interpreters_read_first() {
    refused(&[
        "VIMINIT",
        "EXINIT",
        "LUA_INIT",
        "LUA_INIT_5_4",
        "HOSTALIASES",
        "PYTHONSTARTUP",
        "PYTHONPATH",
        "PYTHONHOME",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "RUBYLIB",
        "NODE_OPTIONS",
        "NODE_PATH",
        "RUSTUP_TOOLCHAIN",
        "RUSTUP_HOME",
        "PYTHONNEVERHEARDOF",
        "PERL_NEVER_HEARD_OF",
        "NODE_NEVER_HEARD_OF",
    ]);
    accepted(&["PYTHONUNBUFFERED", "NODE_ENV", "RUST_LOG"]);
    misses(&["lua", "*"], &["LUA_INIT='os.execute(\"touch MARK\")' lua -v"]);
}

#[test]
fn a091_what_build_tools_obey() {
    refused(&[
        "JAVA_TOOL_OPTIONS",
        "MAVEN_OPTS",
        "GRADLE_OPTS",
        "DOTNET_STARTUP_HOOKS",
        "PYTHONBREAKPOINT",
        "GLIBC_TUNABLES",
        "RUSTC_WRAPPER",
        "CARGO_BUILD_RUSTC_WRAPPER",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
        "MAKEFLAGS",
        "CC",
    ]);
    accepted(&["CARGO_TARGET_DIR", "CARGO_INCREMENTAL"]);
    misses(&["cargo", "*"], &["RUSTC_WRAPPER=./x cargo build"]);
    passes(&["cargo"], &["cargo build"]);
}

#[test]
fn a093_where_credentials_are() {
    refused(&[
        "KUBECONFIG",
        "CARGO_HOME",
        "HELM_HOME",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "AWS_SHARED_CREDENTIALS_FILE",
    ]);
    misses(&["kubectl", "*"], &["KUBECONFIG=./evil kubectl get po"]);
}

/// One parser: a name that is not portable refuses the whole call, it is not left out.
#[test]
fn a094_names_that_are_read_in_two_ways() {
    for name in ["LD_PRELOAD ", " LD_PRELOAD", "ld-preload", "A=B", "A\0B", "", "1A", "A\n", "\u{ff21}"] {
        let call = [("GOOD".to_owned(), "1".to_owned()), (name.to_owned(), "x".to_owned())];
        assert!(host_call(&call).is_err(), "{name:?}");
    }
    assert_eq!(host_call(&[("GOOD".to_owned(), "1".to_owned())]).unwrap().len(), 1);
}

#[test]
fn a095_builtins_that_change_what_later_commands_get() {
    misses(
        &["git", "*"],
        &[
            "export PAGER='touch MARK'; git log",
            "typeset -x PAGER='touch MARK'; git log",
            "declare -x PAGER=x; git log",
            "readonly PAGER=x; git log",
            "PAGER='touch MARK'; git log",
            "unset PATH; git log",
            "alias git='touch MARK'; git log",
            "set -a; git log",
        ],
    );
    passes(&["git"], &["cd sub && git log", "pwd; true; false || git log", ": ; git log"]);
}
