//! Commands in the sandbox.

use creel::tools::Context;
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::lab::{Lab, text};

#[tokio::test(flavor = "multi_thread")]
async fn foreground_results_have_their_shape() {
    let lab = Lab::sandboxed("").await;
    let result = lab.run("echo out; pwd").await;
    assert_eq!(result.text(), "out\n/workspace");
    let details = &result.details;
    assert_eq!(details["status"], "completed");
    assert_eq!((&details["exitCode"], &details["exitReason"]), (&json!(0), &json!("exit")));
    assert_eq!(details["aggregated"], "out\n/workspace\n");
    assert_eq!(lab.run("echo err >&2").await.text(), "err");
    assert_eq!((&details["cwd"], &details["host"]), (&json!("/workspace"), &json!("sandbox")));
    assert!(details["exitSignal"].is_null() && details.get("failureKind").is_none(), "{details:#}");
    for extension in ["cause", "certainty", "usage", "processes", "transport", "capabilities", "durationMs"] {
        assert!(details.get(extension).is_some_and(|value| !value.is_null()), "{extension}: {details:#}");
    }
    assert!(lab.tools.sessions.views().is_empty(), "a result that was told is not kept");

    assert_eq!(lab.run("exit 3").await.text(), "(no output)\n\n(Command exited with code 3)");
    assert_eq!(lab.run("true").await.text(), "(no output)");
    let missing = lab.run("no-such-program").await;
    assert_eq!(
        (&missing.details["status"], &missing.details["failureKind"]),
        (&json!("failed"), &json!("shell-command-not-found"))
    );
    assert!(missing.text().ends_with("\n\nCommand not found"), "{}", missing.text());
    let killed = lab.run("kill -9 $$").await;
    assert_eq!(
        (text(&killed, "exitSignal"), text(&killed, "failureKind")),
        ("SIGKILL".to_owned(), "signal".to_owned())
    );
    assert!(killed.text().starts_with("Command aborted by signal SIGKILL"), "{}", killed.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_window_ends_and_the_command_goes_on() {
    let lab = Lab::sandboxed("").await;
    let params =
        json!({"command": "echo begun; until [ -e go ]; do sleep 0.05; done; echo over", "yieldMs": 10});
    let result = lab.exec(params).await.unwrap();
    let (id, pid) = (text(&result, "sessionId"), result.details["pid"].clone());
    assert_eq!(result.details["status"], "running");
    assert!(
        result.text().starts_with(&format!("Command still running (session {id}, pid {pid}). ")),
        "{}",
        result.text()
    );
    for action in ["list", "poll", "log", "write", "send-keys", "submit", "paste", "kill", "clear", "remove"]
    {
        assert!(result.text().contains(action), "{action}");
    }
    assert!(result.details["startedAt"].as_u64().is_some() && result.details["followUp"].is_string());
    // Another call runs beside it, in the same sandbox.
    lab.run("touch go").await;
    lab.until_ended(&result).await;
    let poll = lab.process(json!({"action": "poll", "sessionId": id})).await;
    assert!(poll.text().contains("begun\nover"), "{}", poll.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_background_has_an_open_input_and_limits() {
    let lab = Lab::sandboxed("").await;
    let result = lab.exec(json!({"command": "read line; echo got $line", "background": true})).await.unwrap();
    assert_eq!(result.details["status"], "running");
    let id = text(&result, "sessionId");
    let wrote = lab.process(json!({"action": "write", "sessionId": id, "data": "it\n"})).await;
    assert!(wrote.text().starts_with("Wrote 3 bytes"), "{}", wrote.text());
    lab.until_ended(&result).await;
    let poll = lab.process(json!({"action": "poll", "sessionId": id})).await;
    assert!(poll.text().contains("got it"), "{}", poll.text());
    // A foreground command has none.
    assert_eq!(lab.run("cat; echo end").await.text(), "end");

    let params = json!({"command": "sleep 60", "background": true, "timeoutSeconds": 0.2});
    let limited = lab.exec(params).await.unwrap();
    lab.until_ended(&limited).await;
    let poll = lab.process(json!({"action": "poll", "sessionId": text(&limited, "sessionId")})).await;
    assert_eq!(poll.details["timedOut"], true, "{:#}", poll.details);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_on_time_ends_the_tree() {
    let lab = Lab::sandboxed("").await;
    let params = json!({"command": "echo before; sleep 61 & sleep 60", "timeoutSeconds": 0.3});
    let result = lab.exec(params).await.unwrap();
    let details = &result.details;
    assert_eq!((&details["status"], &details["failureKind"]), (&json!("failed"), &json!("overall-timeout")));
    assert_eq!((&details["timedOut"], &details["exitReason"]), (&json!(true), &json!("overall-timeout")));
    assert!(details["exitCode"].is_null(), "{details:#}");
    assert!(
        result.text().starts_with("before\n\nCommand timed out after 0.3 seconds.\n\n"),
        "{}",
        result.text()
    );
    assert!(result.text().contains("background"), "{}", result.text());
    assert_eq!(details["processes"]["provenGone"], true);
    assert_eq!(lab.run("cat /proc/[0-9]*/comm | grep sleep || echo none").await.text(), "none");
    // A call of creel's own: nothing printed for too long.
    let params = json!({"command": "sleep 60", "limits": {"silenceSeconds": 1}});
    let silent = lab.exec(params).await.unwrap();
    assert_eq!(silent.details["noOutputTimedOut"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_process_tool_a_call_waits() {
    let lab = Lab::sandboxed("exec: {backgroundMs: 10}, deny: ['process']").await;
    let result = lab.exec(json!({"command": "sleep 0.3; echo done", "background": true})).await.unwrap();
    assert!(
        result.text().starts_with("Warning: background and yieldMs are not available"),
        "{}",
        result.text()
    );
    assert!(result.text().ends_with("\n\ndone"), "{}", result.text());
    assert_eq!(lab.run("sleep 0.3; echo done").await.text(), "done");
    let without = Context { without: vec!["process".to_owned()], ..Context::default() };
    let lab = Lab::sandboxed("").await;
    let params = json!({"command": "sleep 0.3; echo done", "yieldMs": 10});
    assert!(lab.exec_as(params, &without).await.unwrap().text().ends_with("\n\ndone"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_call_ends_its_command() {
    let lab = Lab::sandboxed("").await;
    let cancel = CancellationToken::new();
    let (partial, mut updates) = tokio::sync::mpsc::channel(16);
    let params = json!({"command": "echo begun; sleep 60"});
    let context = Context::default();
    let call = lab.tools.call("exec", params, &context, Some(partial), cancel.clone());
    let watch = async {
        let update = updates.recv().await.unwrap();
        assert_eq!((update.text().trim(), &update.details["status"]), ("begun", &json!("running")));
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(call, watch);
    assert!(result.unwrap_err().text.contains("aborted"));
    assert!(lab.tools.sessions.views().is_empty());
    assert_eq!(lab.run("cat /proc/[0-9]*/comm | grep sleep || echo none").await.text(), "none");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_a_real_one() {
    let lab = Lab::sandboxed("").await;
    let params = json!({"command": "tty; stty size; echo $TERM $OPENCLAW_SHELL; echo err >&2", "pty": true});
    let result = lab.exec(params).await.unwrap();
    let text = result.text().replace('\r', "");
    assert_eq!(text, "/dev/pts/0\n30 120\nxterm-256color exec\nerr");
    assert_eq!(lab.run("tty; true").await.text(), "not a tty");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_said_again_is_the_same_call() {
    let lab = Lab::sandboxed("").await;
    let context = Context { call_id: Some("call-1".to_owned()), ..Context::default() };
    let params = json!({"command": "echo x >> count; wc -l < count"});
    let both = tokio::join!(lab.exec_as(params.clone(), &context), lab.exec_as(params.clone(), &context));
    assert_eq!((both.0.unwrap().text(), both.1.unwrap().text()), ("1".to_owned(), "1".to_owned()));
    assert_eq!(lab.exec_as(params.clone(), &context).await.unwrap().text(), "1");
    let other = Context { call_id: Some("call-2".to_owned()), ..Context::default() };
    assert_eq!(lab.exec_as(params.clone(), &other).await.unwrap().text(), "2");
    // The id of another session's call is another id.
    let session = Context { session: Some("other".to_owned()), ..context.clone() };
    assert_eq!(lab.exec_as(params, &session).await.unwrap().text(), "3");
    let begun = json!({"command": "sleep 60", "background": true});
    let first = lab.exec_as(begun.clone(), &context).await.unwrap();
    let second = lab.exec_as(begun, &context).await.unwrap();
    assert_eq!(text(&first, "sessionId"), text(&second, "sessionId"));
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_and_variables() {
    let lab = Lab::sandboxed("").await;
    lab.run("mkdir -p sub/dir").await;
    for dir in ["sub/dir", "/workspace/sub/dir", " sub/dir "] {
        let result = lab.exec(json!({"command": "pwd", "workdir": dir})).await.unwrap();
        assert_eq!(result.text(), "/workspace/sub/dir", "{dir}");
    }
    for dir in ["none", "../x", "/etc", " ", "~", "sub/../sub"] {
        let result = lab.exec(json!({"command": "touch ran", "workdir": dir})).await.unwrap();
        assert_eq!(result.details["status"], "failed", "{dir}");
        assert!(
            result.text().contains("Nothing was executed") && result.details["error"].is_string(),
            "{dir}"
        );
    }
    assert_eq!(lab.run("ls").await.text(), "sub");
    let env = json!({"FOO": "$HOME", "N": 5, "LD_PRELOAD": "", "OPENCLAW_SHELL": "mine"});
    let result = lab.exec(json!({"command": "echo $FOO $N $OPENCLAW_SHELL", "env": env})).await.unwrap();
    assert_eq!(result.text(), "$HOME 5 exec");
    for (name, value) in [("A-B", "x"), ("A", "x\ny")] {
        let error = lab.exec(json!({"command": "true", "env": {name: value}})).await.unwrap_err();
        assert!(error.text.contains(name), "{error}");
    }
    let context: Context =
        serde_json::from_value(json!({"chat": "c1", "sender": {"id": "u1"}, "subagent": true})).unwrap();
    let command = "echo $OPENCLAW_CHANNEL_CONTEXT $OPENCLAW_SUBAGENT_EXEC";
    let result = lab.exec_as(json!({"command": command}), &context).await.unwrap();
    assert_eq!(result.text(), r#"{"sender":{"id":"u1"},"chat":{"id":"c1"}} 1"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_one_scope_share_an_open_sandbox_and_notice_its_end() {
    let lab = Lab::sandboxed("").await;
    lab.run("hostname > name").await;
    let other = Context { session: Some("other".to_owned()), ..Context::default() };
    let result = lab.exec_as(json!({"command": "hostname | cmp - name && echo same"}), &other).await.unwrap();
    assert_eq!(result.text(), "same");
    // Somebody stops it behind the toolbox's back: the next call makes it anew.
    let ended = lab.run("kill -9 -1; sleep 5").await;
    assert_eq!(ended.details["status"], "failed", "{:#}", ended.details);
    let engine =
        creel::engine::Engine::discover(&creel::engine::Discovery::from_process(None)).await.unwrap();
    let sandboxes = creel::sandbox::Sandboxes::open(engine, &lab.tools.state).unwrap();
    for (_, outcome) in sandboxes.stop_all(creel::sandbox::InUse::Remove).await.unwrap() {
        outcome.unwrap();
    }
    let again = lab.run("cat name >/dev/null && echo again").await;
    assert_eq!(again.text(), "again");
}
