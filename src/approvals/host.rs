//! Whether a command may run on a host, and the only maker of a [`HostPermit`] (spec `exec.md` §2.4, §9.4; design
//! invariant 2). Pure.
//!
//! As long as no person can be asked, the one way out of every sandbox is that somebody wrote it down: `full` in the
//! configuration or by an authorised sender for the session, and neither the configuration nor the machine's approvals
//! document wants to be asked. A built-in default opens nothing.

use super::host_permit::{Ground, HostCommand, HostPermit};
use super::policy::{Effective, Facts, ModePolicy, Reason, Requested, Source, Target, judge};
use crate::config::exec::{Ask, Security};
use crate::error::{Diagnose, Report};
use crate::policy::{Level, Verdict};

/// What is known when a command is decided about.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// What configuration and session ask for.
    pub requested: &'a Requested,
    /// What holds under the machine's document.
    pub effective: &'a Effective,
    /// The same for this call, which may have asked to be stricter.
    pub policy: ModePolicy,
    /// How far elevated goes for this call, all its gates passed.
    pub elevated: Level,
    /// Code in an argument needs a person (`strictInlineEval`), and the command may carry some.
    pub inline_eval: bool,
}

/// Why a command does not run on a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostDenied {
    /// Nothing runs there.
    #[error("exec denied: host={} security=deny", word(*.host))]
    Security {
        /// The host.
        host: Target,
        /// Who said so.
        rule: String,
    },
    /// Only what is listed runs, nobody is asked, and it is not listed.
    #[error("exec denied: allowlist miss")]
    Miss {
        /// Who said so.
        rule: String,
    },
    /// Nobody wrote that commands run there without a question.
    #[error("exec denied: host={} needs security=full and ask=off to be written, and {what}", word(*.host))]
    NotWritten {
        /// The host.
        host: Target,
        /// What is missing.
        what: String,
        /// What holds now, and who said so.
        rule: String,
    },
    /// A person has to decide, and none can be reached.
    #[error("a person has to decide about this command ({}), and nobody can be asked", .reason.code())]
    Person {
        /// Why.
        reason: Reason,
        /// Who said so.
        rule: String,
    },
}

const fn word(host: Target) -> &'static str {
    match host {
        Target::Sandbox => "sandbox",
        Target::Gateway => "gateway",
        Target::Node => "node",
    }
}

impl Diagnose for HostDenied {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::Security { rule, .. } => {
                ("CRL-APPR-001", rule, "run it in the sandbox, or have the operator lift the denial")
            }
            Self::Miss { rule } => (
                "CRL-APPR-002",
                rule,
                "run it in the sandbox; tools.exec.mode \"full\" lets every command run on this machine",
            ),
            Self::NotWritten { rule, .. } => (
                "CRL-APPR-003",
                rule,
                "set agents.defaults.sandbox.mode to \"all\" for a sandbox; or write tools.exec.mode: \"full\", which \
                 lets every command of the agent run on this machine without a question",
            ),
            Self::Person { rule, .. } => (
                "CRL-APPR-004",
                rule,
                "run it in the sandbox, or have the operator set tools.exec.ask to \"off\" and security to \"full\"",
            ),
        };
        Report { code, message: self.to_string(), rule: Some(rule.clone()), fix: fix.to_owned() }
    }
}

/// Whether nothing of a host is open to the call, whatever the command is.
///
/// # Errors
///
/// [`HostDenied::Security`] where security is `deny`.
pub fn open(host: Target, standing: &Standing<'_>) -> Result<(), HostDenied> {
    if standing.policy.security == Security::Deny {
        return Err(HostDenied::Security { host, rule: of_security(standing) });
    }
    Ok(())
}

/// Leave for a command, or why not.
///
/// # Errors
///
/// Every command that is not allowed in so many words.
pub fn permit(command: HostCommand, standing: &Standing<'_>) -> Result<HostPermit, HostDenied> {
    open(command.host, standing)?;
    if standing.elevated == Level::Full && standing.effective.never_asks() && standing.policy.ask == Ask::Off
    {
        return Ok(HostPermit::new(command, Ground::ElevatedFull));
    }
    // No list is read yet, so that nothing is listed and nothing is analysed.
    let facts = Facts { inline_eval: standing.inline_eval, ..Facts::default() };
    let judged = judge(standing.policy, &facts);
    let reason = judged.decider().map_or(Reason::Miss, |say| say.reason);
    match judged.verdict {
        Verdict::Allow => written(command, standing),
        Verdict::Ask => Err(HostDenied::Person { reason, rule: of_ask(standing) }),
        Verdict::Deny => Err(HostDenied::Miss { rule: of_security(standing) }),
    }
}

fn written(command: HostCommand, standing: &Standing<'_>) -> Result<HostPermit, HostDenied> {
    let host = command.host;
    let rule = of_security(standing);
    let missing = |what: String| HostDenied::NotWritten { host, what, rule: rule.clone() };
    if !standing.effective.never_asks() || standing.policy.ask != Ask::Off {
        let ask = standing.policy.ask;
        return Err(missing(format!("ask is {}", if ask == Ask::Off { "off" } else { "not off" })));
    }
    match &standing.requested.security.source {
        Source::Key(key) | Source::Derived(key) => Ok(HostPermit::new(command, Ground::Written(key.clone()))),
        Source::BuiltIn | Source::Inherited | Source::Document { .. } => {
            Err(missing("nothing is".to_owned()))
        }
    }
}

/// Who decided how far commands are trusted: the configuration, or a document that is stricter.
fn of_security(standing: &Standing<'_>) -> String {
    let way = &standing.effective.security;
    let decided = if way.effective == way.requested.value { &way.requested } else { &way.host };
    format!("tools.exec.security ({})", decided.source)
}

fn of_ask(standing: &Standing<'_>) -> String {
    let way = &standing.effective.ask;
    if standing.policy.ask != way.effective {
        return "the call's own ask".to_owned();
    }
    let decided = if way.effective == way.requested.value { &way.requested } else { &way.host };
    format!("tools.exec.ask ({})", decided.source)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::approvals::document::Document;
    use crate::approvals::policy::{Host, Layers, effective};
    use crate::approvals::{Command, policy};
    use crate::config::Config;
    use crate::session::AgentId;

    /// Decides `ls` under a configuration of `tools.exec`, a document and a call.
    fn decide(exec: &str, document: &str, ask: Option<Ask>, elevated: Level, inline: bool) -> String {
        let text = format!("{{tools: {{exec: {exec}}}}}");
        let config = Config::parse(&text, Path::new("/c.json"), &|_| None).unwrap();
        let (global, agent) = config.exec_layers(&AgentId::main());
        let layers = Layers { global: Some(global), agent, ..Layers::default() };
        let requested = Requested::of(&layers, false);
        let document = Document::parse(document, Path::new("/a.json")).unwrap();
        let hosts = [Host { locator: "exec-approvals.json", rules: document.rules(Some(&AgentId::main())) }];
        let effective = effective(&requested, &hosts);
        let call = policy::Call { security: None, ask, origin: policy::Origin::Local };
        let standing = Standing {
            requested: &requested,
            effective: &effective,
            policy: call.tighten(effective.policy()),
            elevated,
            inline_eval: inline,
        };
        let command = HostCommand {
            command: Command::Shell("ls".to_owned()),
            host: Target::Gateway,
            workdir: "/w".to_owned(),
            env: Vec::new(),
            session: "agent:main:main".to_owned(),
            agent: "main".to_owned(),
        };
        match permit(command, &standing) {
            Ok(permit) => match permit.ground() {
                Ground::Written(key) => format!("written {key}"),
                Ground::ElevatedFull => "elevated".to_owned(),
            },
            Err(error) => {
                let report = error.report();
                assert!(report.rule.is_some() && !report.fix.is_empty());
                report.code.to_owned()
            }
        }
    }

    const EMPTY: &str = "{\"version\": 1}";

    #[test]
    fn only_what_is_written_opens_a_host() {
        let plain = |exec: &str| decide(exec, EMPTY, None, Level::Off, false);
        assert_eq!(plain("{}"), "CRL-APPR-003");
        assert_eq!(plain("{ask: 'off'}"), "CRL-APPR-003");
        assert_eq!(plain("{host: 'gateway'}"), "CRL-APPR-003");
        assert_eq!(plain("{mode: 'full'}"), "written tools.exec.mode");
        assert_eq!(plain("{security: 'full'}"), "written tools.exec.security");
        assert_eq!(plain("{security: 'full', ask: 'on-miss'}"), "CRL-APPR-003");
        assert_eq!(plain("{security: 'full', ask: 'always'}"), "CRL-APPR-004");
        assert_eq!(plain("{mode: 'deny'}"), "CRL-APPR-001");
        assert_eq!(plain("{mode: 'allowlist'}"), "CRL-APPR-002");
        assert_eq!(plain("{mode: 'ask'}"), "CRL-APPR-004");
        assert_eq!(plain("{mode: 'auto'}"), "CRL-APPR-004");
    }

    #[test]
    fn the_stricter_document_and_the_stricter_call_hold() {
        let with = |document: &str| decide("{mode: 'full'}", document, None, Level::Off, false);
        assert_eq!(
            with("{\"version\": 1, \"defaults\": {\"security\": \"full\"}}"),
            "written tools.exec.mode"
        );
        assert_eq!(with("{\"version\": 1, \"defaults\": {\"security\": \"deny\"}}"), "CRL-APPR-001");
        assert_eq!(with("{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}}"), "CRL-APPR-002");
        assert_eq!(with("{\"version\": 1, \"defaults\": {\"ask\": \"always\"}}"), "CRL-APPR-004");
        assert_eq!(with("{\"version\": 1, \"defaults\": {\"ask\": \"on-miss\"}}"), "CRL-APPR-003");
        // A document that says full opens nothing that nobody asked for.
        let full = "{\"version\": 1, \"defaults\": {\"security\": \"full\", \"ask\": \"off\"}}";
        assert_eq!(decide("{}", full, None, Level::Off, false), "CRL-APPR-003");
        assert_eq!(decide("{mode: 'full'}", EMPTY, Some(Ask::Always), Level::Off, false), "CRL-APPR-004");
        assert_eq!(decide("{mode: 'full'}", EMPTY, None, Level::Off, true), "CRL-APPR-004");
    }

    #[test]
    fn elevated_full_skips_approvals_only_where_there_are_none() {
        let full = |exec: &str, document: &str| decide(exec, document, None, Level::Full, true);
        assert_eq!(full("{}", EMPTY), "elevated");
        assert_eq!(full("{mode: 'ask'}", EMPTY), "CRL-APPR-004");
        assert_eq!(full("{mode: 'deny'}", EMPTY), "CRL-APPR-001");
        assert_eq!(
            full("{}", "{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}}"),
            "CRL-APPR-002"
        );
        assert_eq!(full("{}", "{\"version\": 1, \"defaults\": {\"ask\": \"always\"}}"), "CRL-APPR-004");
        assert_eq!(decide("{}", EMPTY, None, Level::Ask, false), "CRL-APPR-003");
        assert_eq!(decide("{}", EMPTY, Some(Ask::Always), Level::Full, false), "CRL-APPR-004");
    }
}
