//! Public advisories, class 9: who may leave a sandbox, widen a policy or get a tool back. The numbers are those of the rows.

use creel::tools::Context;
use serde_json::{Value, json};

use super::lab::Lab;

fn context(value: Value) -> Context {
    serde_json::from_value(value).unwrap()
}

/// Whether a call that asks to leave the sandbox may.
async fn leaves(lab: &Lab, from: Value) -> bool {
    let params = json!({"command": "echo out", "elevated": true});
    match lab.exec_as(params, &context(from)).await {
        Ok(result) => result.details["host"] == "gateway",
        Err(error) => {
            assert!(error.text.starts_with("elevated is not available"), "{error}");
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_sender_opens_elevated() {
    let lab = Lab::direct("elevated: {allowFrom: {whatsapp: ['+1555'], chat: ['group-1', 'Ada']}}").await;
    // A181: the recipient is not the sender.
    let stranger =
        json!({"channel": "whatsapp", "to": "+1555", "sender": {"id": "+1999", "authorized": true}});
    assert!(!leaves(&lab, stranger).await);
    assert!(
        leaves(&lab, json!({"channel": "whatsapp", "sender": {"id": "+1555", "authorized": true}})).await
    );
    // A182: a group is nobody.
    let group = json!({"channel": "chat", "chat": "group-1", "sender": {"id": "u2", "authorized": true}});
    assert!(!leaves(&lab, group).await);
    // A183: a name that its bearer can change.
    for field in ["name", "username", "tag"] {
        let renamed = json!({"channel": "chat", "sender": {"id": "u2", (field): "Ada", "authorized": true}});
        assert!(!leaves(&lab, renamed).await, "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_does_not_choose_its_own_security() {
    // A189.
    let lab = Lab::direct("exec: {mode: 'allowlist'}").await;
    let loose = json!({"command": "touch ran", "security": "full", "ask": "off"});
    let error = lab.exec(loose).await.unwrap_err();
    assert!(error.text.starts_with("exec denied: allowlist miss"), "{error}");
    assert!(!lab.state().join("workspace/ran").exists());
    // Stricter is heard.
    let lab = Lab::direct("exec: {mode: 'full'}").await;
    let strict = lab.exec(json!({"command": "touch ran", "ask": "always"})).await.unwrap();
    assert_eq!(strict.details["status"], "approval-pending");
    // Not from a chat, where nobody is ever to be asked (3.03).
    let chat = context(json!({"channel": "chat", "sender": {"id": "u"}}));
    let result = lab.exec_as(json!({"command": "echo ok", "ask": "always"}), &chat).await.unwrap();
    assert_eq!(result.text(), "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_section_and_no_kind_of_run_brings_a_tool_back() {
    // A190: settings of exec are no leave to have it.
    let lab = Lab::direct("profile: 'minimal', exec: {timeoutSeconds: 5, mode: 'full'}").await;
    let error = lab.exec(json!({"command": "true"})).await.unwrap_err();
    assert!(error.text.starts_with("exec is not available"), "{error}");
    // A191: a schedule has no more tools than its agent.
    let lab = Lab::direct("deny: ['exec'], exec: {mode: 'full'}").await;
    let cron = Context { cron: true, ..Context::default() };
    let error = lab.exec_as(json!({"command": "true"}), &cron).await.unwrap_err();
    assert!(error.text.starts_with("exec is not available"), "{error}");
    let lab = Lab::direct("exec: {mode: 'full'}").await;
    assert_eq!(lab.exec_as(json!({"command": "echo ok"}), &cron).await.unwrap().text(), "ok");
}
