use std::os::unix::fs::symlink;

use super::*;

fn control(command: &str) -> Result<(), GuardError> {
    check(command, &GuardFacts::default())
}

#[test]
fn approvals_are_not_answered() {
    for command in [
        "/approve abc allow-once",
        "/approve abc ALWAYS",
        "/approve@bot abc deny extra",
        "ls; '/approve' abc allow-always",
        "sh -c '/approve abc deny'",
        "true && (sudo /approve x always)",
        "echo $(/approve x deny)",
        "echo '/approve x deny' | bash",
        "/approve x deny |",
        "((x)) ; \"/approve\" x deny",
        "X=/approve; $X x deny",
        "creel approvals approve abc --always",
        "/usr/local/bin/creel --config x approvals resolve abc allow-once",
        "timeout 5 sh -c 'creel approvals watch --json < answers'",
        "openclaw exec-approvals resolve abc allow-once",
    ] {
        assert_eq!(control(command), Err(GuardError::Approve), "{command}");
    }
    for command in [
        "/approve abc",
        "echo '/approve x deny'",
        "approve abc deny",
        "grep -r /approve x",
        "creel approvals pending",
        "creel approvals get --json",
        "echo creel approvals approve abc",
        "creel exec -- approvals approve",
        "/approve x maybe",
    ] {
        assert_eq!(control(command), Ok(()), "{command}");
    }
}

#[test]
fn logins_are_a_persons() {
    for command in [
        "openclaw channels login",
        "openclaw channel login --channel whatsapp",
        "/usr/bin/openclaw.CMD channels login",
        "openclaw --profile x channels login",
        "openclaw --dev channels -v login",
        "npx -y openclaw@latest channels login",
        "npm exec -- openclaw channels login",
        "npm run openclaw channels login",
        "pnpm dlx openclaw channels login",
        "yarn openclaw channels login",
        "bunx openclaw channels login",
        "timeout 60 sh -c 'cd /x && openclaw channels login'",
        "for i in 1; do openclaw channels login; done",
        "openclaw channels login |",
        "a=(1); \\\n openclaw channels login",
    ] {
        assert!(matches!(control(command), Err(GuardError::ChannelLogin { .. })), "{command}");
    }
    for command in [
        "openclaw channels list",
        "openclaw status",
        "echo openclaw channels login",
        "openclaw channels add --token login",
        "git commit -m 'openclaw channels login'",
        "openclaw message send channels login",
        "npm install openclaw",
        "cat <<'E' > notes.md\nopenclaw channels login\nE",
    ] {
        assert_eq!(control(command), Ok(()), "{command}");
    }
}

/// What cannot be read is no reason to refuse; what cannot be looked through is.
#[test]
fn ordinary_commands_pass() {
    for command in [
        "((i++))",
        "for ((i=0;i<3;i++)); do echo $i; done",
        "x=(a b); echo ${x[0]}",
        "ls |",
        "echo 'open",
        "ls\r\n",
    ] {
        assert_eq!(control(command), Ok(()), "{command}");
    }
    let script = format!("cat > app.js <<'E'\n{}E\nnode app.js", "const x = `${a} ${b} $(c)`;\n".repeat(900));
    assert_eq!(control(&script), Ok(()));
    let long = format!("cat <<'E'\n{}\nE\n", "x".repeat(140_000));
    assert_eq!(control(&long), Err(GuardError::TooComplex));
    assert_eq!(control(&format!("{}ls", "sudo ".repeat(40))), Err(GuardError::TooComplex));
    assert_eq!(control(&format!("/approve x deny; {}ls", "sudo ".repeat(40))), Err(GuardError::Approve));
}

#[test]
fn the_live_state_is_not_opened() {
    let home = tempfile::tempdir().unwrap();
    let root = follow(home.path()).unwrap();
    let state = root.join(".openclaw");
    let work = root.join("work");
    std::fs::create_dir_all(state.join("state")).unwrap();
    std::fs::create_dir(&work).unwrap();
    std::fs::write(state.join("state/openclaw.sqlite"), "").unwrap();
    symlink(&state, work.join("link")).unwrap();
    symlink(state.join("state/openclaw.sqlite"), work.join("db")).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let environment = [("HOME".to_owned(), text(&root)), ("OPENCLAW_STATE_DIR".to_owned(), text(&state))];
    let guarded = |command: &str| {
        let live =
            LiveState { directory: &state, workdir: &work, environment: &environment, resolve: follow };
        check(command, &GuardFacts { live_state: Some(live) })
    };
    let whole = state.join("state/openclaw.sqlite");
    let whole = whole.display();
    for command in [
        format!("sqlite3 {whole}"),
        format!("/usr/bin/sqlite3 -readonly -cmd '.mode box' {whole} 'select 1'"),
        format!("sqlite3 ':memory:' '.open {whole}'"),
        format!("sqlite3 -cmd \".open '{whole}'\""),
        format!("sqlite3 'file:{whole}?mode=ro'"),
        format!("sqlite3 'file://localhost{whole}'").replace("openclaw.s", "openclaw%2es"),
        format!("sqlite3 x.db \"attach database '{whole}' as y\""),
        format!("sqlite3 x.db <<E\n.restore {whole}\nE"),
        format!("echo '.open {whole}' | sqlite3"),
        "sqlite3 ~/.openclaw/state/openclaw.sqlite".to_owned(),
        "sqlite3 \"$HOME/.openclaw/state/openclaw.sqlite\"".to_owned(),
        "sqlite3 ${OPENCLAW_STATE_DIR}/new.db".to_owned(),
        "sqlite3 $OPENCLAW_STATE_DIR/*.sqlite".to_owned(),
        "sqlite3 ../.openclaw/x.db".to_owned(),
        "sqlite3 link/state/openclaw.sqlite".to_owned(),
        "sqlite3 db .dump".to_owned(),
        "cd ~/.openclaw && sqlite3 state/openclaw.sqlite".to_owned(),
        "cd ..; cd .openclaw; sqlite3 x".to_owned(),
        "D=$HOME/.openclaw; sudo sqlite3 $D/x".to_owned(),
        "sh -c 'sqlite3 ~/.openclaw/x'".to_owned(),
        "sqlite3 ~/.openclaw/x |".to_owned(),
    ] {
        assert!(
            matches!(guarded(&command), Err(GuardError::LiveState { .. })),
            "{command}: {:?}",
            guarded(&command)
        );
    }
    for command in [
        "sqlite3 x.db",
        "sqlite3 ~/x.db 'select 1'",
        "sqlite3",
        "sqlite3 :memory: .tables",
        "ls ~/.openclaw",
        "echo sqlite3 ~/.openclaw/x",
        "sqlite3 -separator ~/.openclaw/x x.db",
        "sqlite3 \"$UNKNOWN\"",
        "sqlite3 x.db |",
    ] {
        assert_eq!(guarded(command), Ok(()), "{command}");
    }
}

#[test]
fn refusals_say_what_to_do_instead() {
    let texts: Vec<String> = ["/approve x deny", "openclaw channels login"]
        .into_iter()
        .map(|command| control(command).unwrap_err().report().message)
        .collect();
    assert!(texts[0].starts_with("exec cannot run /approve commands. "), "{}", texts[0]);
    assert!(
        texts[1].starts_with("exec cannot run interactive OpenClaw channel login commands. "),
        "{}",
        texts[1]
    );
    assert!(texts[1].contains("terminal on the gateway host") && texts[1].contains("whatsapp_login"));
}
