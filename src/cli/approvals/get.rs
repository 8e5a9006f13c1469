//! `creel approvals get`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{Shared, snapshot};
use crate::approvals::document::Standing;
use crate::approvals::overview::{Overview, overview, strangers};
use crate::approvals::store::{self, Local};
use crate::cli::print;
use crate::error::Failure;
use crate::shown::one_line;

pub(super) fn run(shared: &Shared) -> Result<ExitCode, Failure> {
    let state = Shared::state()?;
    let local = store::read(&state);
    // The document can be looked at whatever the configuration is.
    let config = shared.configuration(&state);
    let found = config.as_ref().map(|config| overview(config, &local));
    if shared.json {
        let policy = match &found {
            Ok(found) => serde_json::to_value(found).unwrap_or_default(),
            Err(failure) => json!({ "scopes": [], "note": failure.0.message }),
        };
        let mut shown = snapshot(&local);
        if let Some(map) = shown.as_object_mut() {
            map.insert("effectivePolicy".to_owned(), policy);
        }
        print::compact(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    document(&local);
    if let Ok(config) = &config {
        for id in strangers(config, &local) {
            print::line(&format!("note: no agent {} is configured; its rules hold for nobody", one_line(id)));
        }
    }
    match found {
        Ok(found) => policy(&found),
        Err(failure) => print::line(&format!("\nthe policy that holds is not known: {failure}")),
    }
    Ok(ExitCode::SUCCESS)
}

fn document(local: &Local) {
    let word = match &local.held.standing {
        Standing::Current => "holds",
        Standing::Absent => "does not exist: nothing is imposed",
        Standing::LastGood(_) => "cannot be used: the last good copy holds",
        Standing::Closed(_) => "cannot be used: nothing runs",
    };
    print::line(&format!("{}  {word}", local.locator()));
    for floor in local.floors() {
        print::line(&format!("{}  holds as a floor", floor.locator));
    }
    for problem in local.problems() {
        print::line(&format!("problem: {problem}"));
    }
    let document = &local.held.document;
    if let Some(path) = &document.socket.path {
        print::line(&format!("socket  {}", one_line(path)));
    }
    let denied = document.defaults.denylist.len()
        + document.agents.iter().map(|agent| agent.rules.denylist.len()).sum::<usize>();
    let listed: usize = document.agents.iter().map(|agent| agent.allowlist.len()).sum();
    print::line(&format!("entries  {listed} that allow, {denied} that deny: creel approvals allowlist list"));
}

/// What holds for each scope, one line for each value.
pub(in crate::cli) fn policy(found: &Overview) {
    for row in &found.scopes {
        let scope = serde_json::to_value(&row.scope).unwrap_or_default();
        let word = |place: &str| {
            let found = scope.pointer(place).and_then(Value::as_str);
            one_line(found.unwrap_or("unknown"))
        };
        print::line(&format!("\n{} ({})", one_line(&row.scope.scope_label), one_line(&row.config_path)));
        print::line(&format!(
            "  host         {:9}  {}",
            word("/host/requested"),
            word("/host/requestedSource")
        ));
        for name in ["mode", "security", "ask"] {
            let of = |what: &str| word(&format!("/{name}/{what}"));
            let (requested, effective) = (of("requested"), of("effective"));
            let way = if requested == effective {
                effective
            } else {
                format!("{effective} (requested {requested})")
            };
            print::line(&format!("  {name:11}  {way:9}  {}", of("note")));
        }
        print::line(&format!("  askFallback  {}", word("/askFallback/effective")));
    }
    print::line(&format!("\n{}", found.note));
}
