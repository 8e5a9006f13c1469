//! A decision as text that a tired person can read: the verdict first, then why, then the rest.

use std::fmt::Write as _;

use crate::approvals::binding::Covers;
use crate::approvals::explain::tree::{CommandShown, GroupShown, ObstacleShown};
use crate::approvals::explain::{Analysis, Explained, Layer, PolicyShown, Run};
use crate::approvals::host;
use crate::cli::paint::Paint;
use crate::policy::Verdict;
use crate::shown::{lines, one_line};

/// The whole text. Writing to a string cannot fail.
pub(super) fn text(all: &Explained, paint: Paint) -> String {
    let mut out = String::new();
    head(&mut out, all, paint);
    layers(&mut out, &all.layers, paint);
    if let Some(analysis) = &all.analysis {
        commands(&mut out, analysis, paint);
    }
    if let Some(run) = &all.run {
        started(&mut out, run, all.verdict, paint);
    }
    always(&mut out, all, paint);
    changes(&mut out, all, paint);
    for note in &all.notes {
        let _ = writeln!(out, "\nnote: {}", lines(note).replace('\n', "\n  "));
    }
    out
}

/// The word of a verdict, in its colour.
pub(super) fn word(verdict: Verdict, paint: Paint) -> String {
    match verdict {
        Verdict::Allow => paint.good("allow"),
        Verdict::Ask => paint.doubtful("ask"),
        Verdict::Deny => paint.bad("deny"),
    }
}

fn head(out: &mut String, all: &Explained, paint: Paint) {
    let _ = writeln!(out, "{}: {}", word(all.verdict, paint), one_line(&all.command));
    if let Some(decider) = all.decider() {
        let rule =
            decider.rule.as_ref().map(|rule| format!("\n  rule: {}", rule.shown())).unwrap_or_default();
        let why = lines(&decider.why).replace('\n', "\n  ");
        let _ = writeln!(out, "  {why} [{}]{rule}", decider.code);
    }
    if let Some(report) = &all.report {
        let _ = writeln!(out, "  fix:  {}", one_line(&report.fix));
    }
    let host = match (all.host, &all.workdir) {
        (None, _) => "nowhere".to_owned(),
        (Some(host), Some(dir)) => format!("{} in {}", json(&host), one_line(dir)),
        (Some(host), None) => json(&host),
    };
    let _ = writeln!(
        out,
        "  who:  agent {}, session {}; host {host}",
        one_line(&all.agent_id),
        one_line(&all.session_key)
    );
    if let Some(PolicyShown { mode, security, security_source, ask, ask_source, .. }) = &all.policy {
        let _ = writeln!(
            out,
            "  mode: {}: security {} ({}), ask {} ({})",
            json(mode),
            json(security),
            one_line(security_source),
            json(ask),
            one_line(ask_source),
        );
    }
}

fn layers(out: &mut String, layers: &[Layer], paint: Paint) {
    let _ = writeln!(out, "\n{}", paint.heading("layers, in order"));
    for layer in layers {
        let mark = if layer.decides { ">" } else { " " };
        let verdict = match layer.verdict {
            None => paint.faint("-    "),
            Some(verdict) => format!(
                "{}{}",
                word(verdict, paint),
                if verdict == Verdict::Ask { "  " } else { padding(verdict) }
            ),
        };
        let rule = layer.rule.as_ref().map(|rule| format!("  ({})", rule.shown())).unwrap_or_default();
        let why = one_line(layer.why.lines().next().unwrap_or_default());
        let _ = writeln!(out, "{mark} {verdict} {:12} {why}{rule}", layer.layer);
    }
}

const fn padding(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "",
        Verdict::Ask => "  ",
        Verdict::Deny => " ",
    }
}

fn commands(out: &mut String, analysis: &Analysis, paint: Paint) {
    let _ = writeln!(out, "\n{}", paint.heading("what the text runs"));
    if let Some(ObstacleShown { what, line, caret, code, .. }) = &analysis.obstacle {
        let _ = writeln!(out, "  cannot say: {what} [{code}]\n    {line}\n    {caret}");
    }
    groups(out, &analysis.groups, 1, paint);
}

fn groups(out: &mut String, groups: &[GroupShown], depth: usize, paint: Paint) {
    let indent = "  ".repeat(depth);
    for group in groups {
        for (at, command) in group.commands.iter().enumerate() {
            let pipe = if at > 0 { "| " } else { "" };
            one(out, command, &indent, pipe, paint);
            self::groups(out, &command.inner, depth + 1, paint);
        }
        if let Some(next) = group.next {
            let _ = writeln!(out, "{indent}{next}");
        }
    }
}

fn one(out: &mut String, command: &CommandShown, indent: &str, pipe: &str, paint: Paint) {
    let why = if command.covered() { command.why.clone() } else { paint.doubtful(&command.why) };
    let _ = writeln!(out, "{indent}{pipe}{}", one_line(&command.argv.join(" ")));
    let entry = command.rule.as_ref().map(|rule| format!(": {}", rule.shown())).unwrap_or_default();
    let _ = writeln!(out, "{indent}    {why}{entry}");
    let mut facts = Vec::new();
    if let Some(program) = &command.program {
        facts.push(match &command.real_path {
            Some(real) => format!("program {} -> {}", one_line(program), one_line(real)),
            None => format!("program {}", one_line(program)),
        });
    }
    if let Some(script) = &command.script {
        facts.push(format!("script {}", one_line(script)));
    }
    if !command.wrappers.is_empty() {
        facts.push(format!("through {}", one_line(&command.wrappers.join(", "))));
    }
    if let Some(dir) = &command.dir {
        facts.push(format!("in {}", one_line(dir)));
    }
    if !facts.is_empty() {
        let _ = writeln!(out, "{indent}    {}", paint.faint(&facts.join("; ")));
    }
}

fn started(out: &mut String, run: &Run, verdict: Verdict, paint: Paint) {
    let heading =
        if verdict == Verdict::Ask { "what would be started after a yes" } else { "what would be started" };
    let _ = writeln!(out, "\n{}", paint.heading(heading));
    if let Some(text) = &run.text {
        let fixed = run.binds.as_ref().is_some_and(|binds| binds.covers == Covers::Programs);
        let fixed = if fixed { ", its programs fixed" } else { "" };
        let _ = writeln!(out, "  text{fixed}: {}", one_line(text));
    }
    if run.how == "argv" {
        let words: Vec<String> = run.argv.iter().map(|word| format!("{:?}", one_line(word))).collect();
        let _ = writeln!(out, "  without a shell: {}", words.join(" "));
    }
    if let Some(cwd) = &run.cwd {
        let _ = writeln!(out, "  in {}", one_line(cwd));
    }
    for file in run.binds.iter().flat_map(|binds| &binds.files) {
        let mutable = if file.mutable { ", can be changed here" } else { "" };
        let _ = writeln!(out, "  bound: {} {}{mutable}", json(&file.role), one_line(&file.real));
    }
    if let Some(path) = &run.path {
        let _ = writeln!(out, "  PATH: {}", one_line(path));
    }
    if !run.env.is_empty() {
        let _ = writeln!(out, "  variables: {}", one_line(&run.env.join(" ")));
    }
}

fn always(out: &mut String, all: &Explained, paint: Paint) {
    let Some(always) = &all.always else { return };
    let _ = writeln!(out, "\n{}", paint.heading("what \"always\" would write"));
    for entry in &always.entries {
        let _ = writeln!(out, "  {}", entry.shown());
    }
    if always.entries.is_empty() {
        let _ = writeln!(out, "  nothing: {}", always.one_shot.join("; "));
    }
}

fn changes(out: &mut String, all: &Explained, paint: Paint) {
    if all.changes.is_empty() && all.verdict != Verdict::Ask {
        return;
    }
    let heading = if all.verdict == Verdict::Allow { "what would stop it" } else { "what would change it" };
    let _ = writeln!(out, "\n{}", paint.heading(heading));
    match all.asks.as_ref().and_then(|asks| asks.reviewer.as_deref()) {
        Some(host::FIRST) => {
            let _ = writeln!(
                out,
                "  -> {}: the reviewer, which looks first, says yes",
                word(Verdict::Allow, paint)
            );
        }
        Some(skipped) => {
            let _ = writeln!(out, "  (mode auto: {})", one_line(skipped));
        }
        None => {}
    }
    if all.verdict == Verdict::Ask {
        let _ = writeln!(
            out,
            "  -> {}: a person says yes: creel approvals approve ID",
            word(Verdict::Allow, paint)
        );
    }
    for change in &all.changes {
        let _ = writeln!(out, "  -> {}: {}", word(change.gives, paint), one_line(&change.what));
        if let Some(command) = &change.command {
            let _ = writeln!(out, "       $ {}", one_line(command));
        }
    }
}

/// The word that JSON has for a value.
fn json(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
