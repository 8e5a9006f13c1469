use super::*;

/// What models are shown must not change unseen.
#[test]
fn the_schema_is_the_one_on_record() {
    let schema = serde_json::to_string_pretty(&schema()).unwrap();
    insta::with_settings!({snapshot_path => "../../../tests/snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("process-schema", schema);
    });
}

fn agent(value: Value) -> Result<String, SessionError> {
    scope(&serde_json::from_value(value).unwrap()).map(|agent| agent.to_string())
}

#[test]
fn the_scope_is_the_agent() {
    use serde_json::json;
    assert_eq!(agent(json!({})).unwrap(), "main");
    assert_eq!(agent(json!({"agent": "Ops"})).unwrap(), "ops");
    assert_eq!(agent(json!({"session": "agent:ops:telegram:1"})).unwrap(), "ops");
    assert_eq!(agent(json!({"agent": "ops", "session": "side"})).unwrap(), "ops");
    assert!(agent(json!({"agent": "ops", "session": "agent:main:main"})).is_err());
    assert!(agent(json!({"agent": "///"})).is_err());
}
