//! `binds.json`, kind `hostExecEnv`: one variable as an override of a host call, as an inherited variable, and as an
//! override for a shell wrapper on a node.

use creel::policy::host_env::{self, PathRule, Refusal};
use serde_json::{Value, json};

use crate::harness::{Difference, Direction, Judgement, Rule};

/// creel's verdict beside upstream's.
pub(super) fn judge(input: &Value, expect: &Value) -> Judgement {
    let (name, value) = (input["name"].as_str().unwrap(), input["value"].as_str().unwrap());
    if name == "(marker)" {
        let (name, value) = host_env::MARKER;
        let same = expect["added"] == json!({ name: value });
        return if same { Judgement::Equal } else { differs(json!({ name: value }), Difference::Other) };
    }
    let refused = host_env::set_by_call(name, value, PathRule::Refused);
    let allowed = host_env::set_by_call(name, value, PathRule::Allowed);
    let creel = json!({
        "override": word(refused.as_ref()),
        "overridePathAllowed": word(allowed.as_ref()),
        "inherited": host_env::inherited(name, value),
        "shellWrapperOverride": host_env::set_for_wrapper(name, value),
        "stricter": refused.as_ref().is_err_and(|refusal| refusal.stricter()),
    });
    let verdicts = ["override", "overridePathAllowed"]
        .map(|part| expect[part].as_str().is_none_or(|wanted| creel[part] == wanted));
    let values = ["inherited", "shellWrapperOverride"].map(|part| passes(&expect[part], &creel[part], value));
    if verdicts.into_iter().chain(values).all(|same| same) {
        return Judgement::Equal;
    }
    let tighter = expect["override"] == "accepted" && creel["override"] != "accepted" && values == [true; 2];
    differs(creel, if tighter { Difference::Stricter } else { Difference::Looser })
}

fn differs(creel: Value, kind: Difference) -> Judgement {
    Judgement::Differs { creel, kind }
}

fn word(verdict: Result<&String, &Refusal>) -> &'static str {
    match verdict {
        Ok(_) => "accepted",
        Err(Refusal::Name) => "invalid",
        Err(_) => "blocked",
    }
}

/// Upstream's `kept`, `dropped`, value or null, and creel's value or null.
fn passes(recorded: &Value, creel: &Value, value: &str) -> bool {
    match recorded.as_str() {
        Some("kept") => creel == value,
        Some("dropped") | None => creel.is_null(),
        Some(wanted) => creel == wanted,
    }
}

/// Overrides that upstream accepts.
pub(super) const RULE: Rule = Rule {
    name: "host-env-families",
    direction: Direction::Stricter,
    applies: |facts| facts.kind == "hostExecEnv" && facts.creel["stricter"] == json!(true),
};
