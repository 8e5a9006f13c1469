//! Who answers: a person, and no command that an agent runs, by whatever name and however deep.

use crate::home::{Home, until};

#[test]
fn a_command_of_an_agent_answers_nothing() {
    let home = Home::new();
    let config = "{tools: {exec: {host: 'gateway', mode: 'full', strictInlineEval: true}}}";
    std::fs::write(home.state().join("openclaw.json"), config).unwrap();
    let asked = home.json(&["tool", "exec", r#"{"command": "perl -e 'print 1'"}"#]);
    let id = asked["details"]["approvalId"].as_str().unwrap().to_owned();
    // A script of another name, in the background of a session of its own.
    let script = home.state().join("answer.sh");
    let creel = env!("CARGO_BIN_EXE_creel");
    let state = home.state().display().to_string();
    let text = format!(
        "#!/bin/sh\nln -sf {creel} {state}/cc\n(setsid env CREEL_STATE_DIR={state} {state}/cc approvals approve {id} \
         >{state}/said 2>&1; echo $? >{state}/status) &\nwait\n"
    );
    std::fs::write(&script, text).unwrap();
    let call = format!(r#"{{"command": "sh {}"}}"#, script.display());
    home.json(&["tool", "exec", &call]);
    until("the script's end", || {
        std::fs::read_to_string(home.state().join("status")).is_ok_and(|text| !text.is_empty())
    });
    let said = std::fs::read_to_string(home.state().join("said")).unwrap();
    assert!(said.contains("CRL-KEEPER-018"), "{said}");
    assert_eq!(home.json(&["approvals", "pending", "--json"])["approvals"][0]["id"], id.as_str());
    home.ok(&["approvals", "approve", &id]);
}
