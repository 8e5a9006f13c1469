//! Whether a command may run on a host, and the only maker of a [`HostPermit`] (spec `exec.md` §2.4, §9.4; design
//! invariant 2). Pure.
//!
//! As long as no person can be asked, the one way out of every sandbox is that somebody wrote it down: `full` in the
//! configuration or by an authorised sender for the session, and neither the configuration nor the machine's approvals
//! document wants to be asked. A built-in default opens nothing.

use super::denied::{Scene, Why};
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
    /// What a refusal needs to be told.
    pub scene: &'a Scene,
}

/// Why a command does not run on a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostDenied {
    /// Nothing runs there.
    #[error("exec denied: host={} security=deny", word(*.host))]
    Security {
        /// The host.
        host: Target,
        /// Who said so, and what helps.
        why: Why,
    },
    /// Only what is listed runs, nobody is asked, and it is not listed.
    #[error("exec denied: allowlist miss")]
    Miss {
        /// Who said so, and what helps.
        why: Why,
    },
    /// Nobody wrote that commands run there without a question.
    #[error("exec denied: host={} needs security=full and ask=off to be written, and {what}", word(*.host))]
    NotWritten {
        /// The host.
        host: Target,
        /// What is missing.
        what: String,
        /// What holds now, who said so, and what helps.
        why: Why,
    },
    /// A person has to decide, and none can be reached.
    #[error("a person has to decide about this command ({}), and nobody can be asked", .reason.code())]
    Person {
        /// Why.
        reason: Reason,
        /// Who said so, and what helps.
        why: Why,
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
        let (code, why) = match self {
            Self::Security { why, .. } => ("CRL-APPR-001", why),
            Self::Miss { why } => ("CRL-APPR-002", why),
            Self::NotWritten { why, .. } => ("CRL-APPR-003", why),
            Self::Person { why, .. } => ("CRL-APPR-004", why),
        };
        Report { code, message: self.to_string(), rule: Some(why.rule.clone()), fix: why.fix.clone() }
    }
}

/// Whether nothing of a host is open to the call, whatever the command is.
///
/// # Errors
///
/// [`HostDenied::Security`] where security is `deny`.
pub fn open(host: Target, standing: &Standing<'_>) -> Result<(), HostDenied> {
    if standing.policy.security == Security::Deny {
        return Err(HostDenied::Security { host, why: Why::security(host, standing) });
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
    let host = command.host;
    // No list is read yet, so that nothing is listed and nothing is analysed.
    let facts = Facts { inline_eval: standing.inline_eval, ..Facts::default() };
    let judged = judge(standing.policy, &facts);
    let reason = judged.decider().map_or(Reason::Miss, |say| say.reason);
    match judged.verdict {
        Verdict::Allow => written(command, standing),
        Verdict::Ask if reason == Reason::InlineEval => {
            Err(HostDenied::Person { reason, why: Why::inline(host, standing) })
        }
        Verdict::Ask => Err(HostDenied::Person { reason, why: Why::ask(host, standing) }),
        Verdict::Deny => Err(HostDenied::Miss { why: Why::security(host, standing) }),
    }
}

fn written(command: HostCommand, standing: &Standing<'_>) -> Result<HostPermit, HostDenied> {
    let host = command.host;
    if !standing.effective.never_asks() || standing.policy.ask != Ask::Off {
        let what = if standing.policy.ask == Ask::Off { "ask is off" } else { "ask is not off" };
        return Err(HostDenied::NotWritten { host, what: what.to_owned(), why: Why::ask(host, standing) });
    }
    match &standing.requested.security.source {
        Source::Key(key) | Source::Derived(key) => Ok(HostPermit::new(command, Ground::Written(key.clone()))),
        Source::BuiltIn | Source::Inherited | Source::Document { .. } => {
            let what = "nothing is".to_owned();
            Err(HostDenied::NotWritten { host, what, why: Why::security(host, standing) })
        }
    }
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
    use crate::config::exec::ExecLayer;
    use crate::config::reader::Set;
    use crate::session::AgentId;

    fn scene() -> Scene {
        Scene {
            session: "agent:main:main".to_owned(),
            message: None,
            sandboxed: false,
            document: crate::approvals::document::Standing::Current,
            inline_key: "tools.exec.strictInlineEval".to_owned(),
        }
    }

    /// A call of `ls` under a configuration of `tools.exec` and a document.
    struct Case<'a> {
        exec: &'a str,
        document: &'a str,
        session: ExecLayer,
        ask: Option<Ask>,
        elevated: Level,
        inline: bool,
        scene: Scene,
    }

    fn case<'a>(exec: &'a str, document: &'a str) -> Case<'a> {
        let session = ExecLayer::default();
        Case { exec, document, session, ask: None, elevated: Level::Off, inline: false, scene: scene() }
    }

    impl Case<'_> {
        fn permit(&self) -> Result<HostPermit, HostDenied> {
            let text = format!("{{tools: {{exec: {}}}}}", self.exec);
            let config = Config::parse(&text, Path::new("/c.json"), &|_| None).unwrap();
            let (global, agent) = config.exec_layers(&AgentId::main());
            let session = Some(&self.session);
            let layers = Layers { global: Some(global), agent, session, ..Layers::default() };
            let requested = Requested::of(&layers, false);
            let document = Document::parse(self.document, Path::new("/a.json")).unwrap();
            let hosts =
                [Host { locator: "exec-approvals.json", rules: document.rules(Some(&AgentId::main())) }];
            let effective = effective(&requested, &hosts);
            let call = policy::Call { security: None, ask: self.ask, origin: policy::Origin::Local };
            let standing = Standing {
                requested: &requested,
                effective: &effective,
                policy: call.tighten(effective.policy()),
                elevated: self.elevated,
                inline_eval: self.inline,
                scene: &self.scene,
            };
            permit(command(), &standing)
        }

        /// Rule and fix of the refusal.
        fn told(&self) -> (String, String) {
            let report = self.permit().unwrap_err().report();
            (report.rule.unwrap(), report.fix)
        }
    }

    fn command() -> HostCommand {
        HostCommand {
            command: Command::Shell("ls".to_owned()),
            host: Target::Gateway,
            workdir: "/w".to_owned(),
            env: Vec::new(),
            session: "agent:main:main".to_owned(),
            agent: "main".to_owned(),
        }
    }

    fn decide(exec: &str, document: &str, ask: Option<Ask>, elevated: Level, inline: bool) -> String {
        match (Case { ask, elevated, inline, ..case(exec, document) }).permit() {
            Ok(permit) => match permit.ground() {
                Ground::Written(key) => format!("written {key}"),
                Ground::ElevatedFull => "elevated".to_owned(),
                other => format!("{other:?}"),
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

    #[test]
    fn the_document_that_decides_is_rule_and_fix() {
        let deny = "{\"version\": 1, \"defaults\": {\"security\": \"deny\"}}";
        let (rule, fix) = case("{mode: 'full'}", deny).told();
        assert_eq!(rule, "exec-approvals.json defaults.security");
        assert!(fix.ends_with("set defaults.security to \"full\" in exec-approvals.json"), "{fix}");
        assert!(!fix.contains("tools.exec"), "{fix}");
        let ask = "{\"version\": 1, \"defaults\": {\"ask\": \"always\"}}";
        let (rule, fix) = case("{mode: 'full'}", ask).told();
        assert_eq!(rule, "exec-approvals.json defaults.ask");
        assert!(fix.ends_with("set defaults.ask to \"off\" in exec-approvals.json"), "{fix}");
        let file = Path::new("/a.json").to_owned();
        let broken = crate::approvals::document::DocumentError::Missing { file };
        let document = crate::approvals::document::Standing::LastGood(broken);
        let (rule, fix) =
            Case { scene: Scene { document, ..scene() }, ..case("{mode: 'full'}", deny) }.told();
        assert!(rule.contains("the last good copy of it holds, because /a.json is missing"), "{rule}");
        assert!(rule.contains("[CRL-APPROVALS-001]"), "{rule}");
        assert!(fix.contains("mend /a.json (restore the file"), "{fix}");
    }

    #[test]
    fn a_mode_is_mended_by_itself_and_half_a_pair_by_its_other_half() {
        let (rule, fix) = case("{mode: 'ask'}", EMPTY).told();
        assert_eq!(rule, "tools.exec.mode");
        assert!(fix.ends_with("set tools.exec.mode to \"full\""), "{fix}");
        assert!(!fix.contains("tools.exec.ask") && !fix.contains("tools.exec.security"), "{fix}");
        let (_, fix) = case("{ask: 'off'}", EMPTY).told();
        assert!(fix.ends_with("write tools.exec.security: \"full\""), "{fix}");
        let (rule, fix) = case("{security: 'full', ask: 'always'}", EMPTY).told();
        assert_eq!(rule, "tools.exec.ask");
        assert!(fix.ends_with("set tools.exec.ask to \"off\""), "{fix}");
        let (rule, fix) = Case { inline: true, ..case("{mode: 'full'}", EMPTY) }.told();
        assert_eq!(rule, "tools.exec.strictInlineEval");
        assert!(fix.ends_with("set tools.exec.strictInlineEval to false"), "{fix}");
    }

    #[test]
    fn a_choice_of_the_session_is_taken_back_there() {
        let set = Set { value: Security::Deny, key: "/exec security".to_owned() };
        let session = || ExecLayer { security: Some(set.clone()), ..ExecLayer::default() };
        let chosen = Case { session: session(), ..case("{mode: 'full'}", EMPTY) };
        let (rule, fix) = chosen.told();
        assert_eq!(rule, "/exec security of session agent:main:main");
        assert!(fix.contains("`creel session set agent:main:main security=unset`"), "{fix}");
        assert!(!fix.contains("in the sandbox"), "{fix}");
        let message = Some("Security=deny".to_owned());
        let said = Case { scene: Scene { message, ..scene() }, ..chosen };
        assert!(said.told().1.contains("take security out of /exec in the message"));
        let inside = Why::inside(&scene(), &Source::Key(set.key.clone()));
        assert!(inside.fix.contains("security=unset") && !inside.fix.contains("in the sandbox"));
        let derived = Why::inside(&scene(), &Source::Derived("tools.exec.mode".to_owned()));
        assert!(derived.fix.starts_with("remove tools.exec.mode"), "{}", derived.fix);
    }

    #[test]
    fn the_way_into_a_sandbox_is_one_that_is_there() {
        let (_, fix) = case("{}", EMPTY).told();
        assert!(fix.starts_with("set agents.defaults.sandbox.mode to \"all\""), "{fix}");
        let sandboxed = || Scene { sandboxed: true, ..scene() };
        let (_, fix) = Case { elevated: Level::Ask, scene: sandboxed(), ..case("{}", EMPTY) }.told();
        assert!(fix.starts_with("leave elevated out of the call"), "{fix}");
        assert!(fix.contains("/elevated full") && !fix.contains("sandbox.mode"), "{fix}");
        let (_, fix) = Case { scene: sandboxed(), ..case("{host: 'gateway'}", EMPTY) }.told();
        assert!(fix.starts_with("set tools.exec.host to \"auto\": it then runs in the sandbox"), "{fix}");
    }
}
