//! `creel sandbox list`: upstream's object (spec `sandbox.md` §21), or text.

use std::process::ExitCode;
use std::time::Duration;

use crate::cli::print;
use crate::client::{Runtime, SandboxOptions, inventory};
use crate::error::Failure;
use crate::process::store::now_ms;
use crate::runner::Transport;
use crate::sandbox::{Sandboxes, told};
use crate::shown::one_line;

pub(super) async fn run(
    sandboxes: &Sandboxes,
    options: &SandboxOptions,
    browser: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    let all = if browser { Vec::new() } else { inventory(sandboxes, options).await? };
    if json {
        print::json(&serde_json::json!({ "containers": all, "browsers": [] }));
    } else if browser {
        print::line("no browser containers: creel makes none");
    } else {
        text(&all);
    }
    Ok(ExitCode::SUCCESS)
}

fn text(all: &[Runtime]) {
    if all.is_empty() {
        return print::line("no sandboxes");
    }
    for one in all {
        // Names, states and labels are the engine's words, and whoever made a container chose its labels.
        print::line(&one_line(&one.listed.name));
        for (label, value) in rows(one) {
            print::line(&format!("  {label:<9} {}", one_line(&value)));
        }
        print::line("");
    }
    let running = all.iter().filter(|one| one.listed.running).count();
    print::line(&format!("Total: {} ({running} running)", all.len()));
    let mismatched = all.iter().filter(|one| one.mismatched()).count();
    if mismatched > 0 {
        let differ = if mismatched == 1 { "1 differs" } else { &format!("{mismatched} differ") };
        print::line(&format!("{differ} from the configuration: creel sandbox recreate --all --mismatched"));
    }
}

/// What a person wants to know first comes first.
fn rows(one: &Runtime) -> Vec<(&'static str, String)> {
    let listed = &one.listed;
    if let Some(why) = &listed.not_made {
        let session = ("session", listed.session_key.clone());
        let mut rows = vec![("status", listed.status.clone()), ("foreign", why.clone())];
        rows.extend(Some(session).filter(|(_, key)| !key.is_empty()));
        return rows;
    }
    let proof = if listed.proven { "proven" } else { "not proven" };
    let status = if listed.running { format!("running, {proof}") } else { listed.status.clone() };
    let image = match (one.image_match, listed.image_match) {
        (true, _) => listed.image.clone(),
        (false, Some(false)) => format!("{} (built anew since)", listed.image),
        (false, _) => format!("{} (another one is configured)", listed.image),
    };
    let road = match one.transport {
        Some(Transport::Init) => ", over init",
        Some(Transport::Engine) => ", over the engine's exec API",
        None => "",
    };
    let limit = |seconds: u64| {
        if seconds == 0 { String::new() } else { format!(", at most {}", told(Duration::from_secs(seconds))) }
    };
    let since = |then_ms: u64| told(Duration::from_millis(now_ms().saturating_sub(then_ms)));
    let mut rows = vec![
        ("status", status),
        (
            "in use",
            listed.use_now().map_or_else(|| "no".to_owned(), |used| used.replace("it is in use ", "")),
        ),
        ("image", image),
        ("backend", format!("{}{road}", one.backend_id)),
        ("age", since(listed.created_at_ms) + &limit(listed.max_age_s)),
        ("idle", since(listed.last_used_at_ms.unwrap_or(listed.created_at_ms)) + &limit(listed.idle_limit_s)),
        (
            "session",
            if listed.pool.is_some() {
                "none yet: it waits in a pool".to_owned()
            } else {
                listed.session_key.clone()
            },
        ),
    ];
    rows.extend(one.workspace_dir.iter().map(|dir| ("workspace", dir.clone())));
    rows.extend(one.drift.iter().flatten().map(|drift| ("drift", drift.clone())));
    rows.extend(one.not_compared.iter().map(|reason| ("drift", format!("not known: {reason}"))));
    if one.mismatched() {
        rows.push(("renew", one.recreate.clone()));
    }
    rows
}
