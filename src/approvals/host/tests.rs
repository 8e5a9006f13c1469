use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;

use super::*;
use crate::approvals::Command;
use crate::approvals::assess::{DeniedBy, Gap, Part};
use crate::approvals::document::{Document, DocumentError, Standing as Known};
use crate::approvals::enforce::Enforced;
use crate::approvals::policy::{Answer, Call, Decision, Denial, Host, Layers, Origin, effective};
use crate::approvals::programs::Program;
use crate::approvals::remember::OneShot;
use crate::config::Config;
use crate::config::exec::ExecLayer;
use crate::config::reader::Set;
use crate::error::Diagnose as _;
use crate::session::AgentId;
use crate::shell::parse::Span;

const EMPTY: &str = "{\"version\": 1}";

fn scene() -> Scene {
    Scene {
        session: "agent:main:main".to_owned(),
        agent: "main".to_owned(),
        message: None,
        sandboxed: false,
        document: Known::Current,
        inline_key: "tools.exec.strictInlineEval".to_owned(),
    }
}

/// What is known of `ls`.
#[derive(Clone, Copy, Default)]
struct Facts {
    listed: bool,
    durable: bool,
    unread: bool,
    inline: bool,
    unpinned: bool,
    suppresses: bool,
    sets: bool,
    heredoc: bool,
    denied: bool,
    unseen: bool,
    lasting: bool,
}

const LISTED: Facts = Facts {
    listed: true,
    durable: false,
    unread: false,
    inline: false,
    unpinned: false,
    suppresses: false,
    sets: false,
    heredoc: false,
    denied: false,
    unseen: false,
    lasting: true,
};
const MISSED: Facts = Facts { listed: false, ..LISTED };

/// A call of `ls` under a configuration of `tools.exec` and a document.
struct Case<'a> {
    exec: &'a str,
    document: &'a str,
    session: ExecLayer,
    ask: Option<Ask>,
    elevated: Level,
    facts: Facts,
    scene: Scene,
}

fn case<'a>(exec: &'a str, document: &'a str, facts: Facts) -> Case<'a> {
    let session = ExecLayer::default();
    Case { exec, document, session, ask: None, elevated: Level::Off, facts, scene: scene() }
}

impl Case<'_> {
    fn next(&self) -> Next {
        let text = format!("{{tools: {{exec: {}}}}}", self.exec);
        let config = Config::parse(&text, Path::new("/c.json"), &|_| None).unwrap();
        let (global, agent) = config.exec_layers(&AgentId::main());
        let session = Some(&self.session);
        let layers = Layers { global: Some(global), agent, session, ..Layers::default() };
        let requested = Requested::of(&layers, false);
        let document = Document::parse(self.document, Path::new("/a.json")).unwrap();
        let rules = document.rules(Some(&AgentId::main()));
        let hosts = [Host { locator: "exec-approvals.json", rules }];
        let effective = effective(&requested, &hosts);
        let call = Call { security: None, ask: self.ask, origin: Origin::Local };
        let facts = self.facts;
        let standing = Standing {
            requested: &requested,
            effective: &effective,
            policy: call.tighten(effective.policy()),
            elevated: self.elevated,
            strict_inline: facts.inline,
            denies: facts.denied || facts.unseen,
            scene: &self.scene,
        };
        if let Some(next) = ahead(Target::Gateway, &standing) {
            return next;
        }
        let assessed = assessed(facts);
        let enforced =
            Enforced { command: Command::Argv(vec!["/bin/ls".to_owned()]), arg0: None, programs: Vec::new() };
        let remembered = if facts.lasting {
            Remembered::Entries(vec![Entry::of("/bin/ls")])
        } else {
            Remembered::OneShot(vec![OneShot::PromptOnly])
        };
        let pinned = facts.listed && !facts.unpinned;
        let looked = Looked {
            assessed: &assessed,
            enforced: if pinned { Ok(&enforced) } else { Err(Unpinnable::Expands) },
            remembered: &remembered,
            allow: &[Entry::of("/bin/ls")],
            denied_by: Some((
                "exec-approvals.json agents.*.denylist[0]",
                Some("creel approvals allowlist remove --deny ls --agent '*'"),
            )),
        };
        decide(Target::Gateway, &standing, &looked)
    }

    /// In one word.
    fn word(&self) -> String {
        match self.next() {
            Next::Run(cleared) => match (cleared.ground(), cleared.launch()) {
                (Ground::Written(key), Launch::AsWritten) => format!("written {key}"),
                (Ground::BuiltIn, Launch::AsWritten) => "built-in".to_owned(),
                (Ground::ElevatedFull, Launch::AsWritten) => "elevated".to_owned(),
                (Ground::Listed { entries }, Launch::Pinned) => format!("listed {}", entries.join(" ")),
                other => panic!("{other:?}"),
            },
            Next::Ask(asking) => format!("ask {}", asking.reason().code()),
            Next::Deny(denied) => {
                let report = denied.report();
                assert!(report.rule.is_some() && !report.fix.is_empty());
                report.code.to_owned()
            }
        }
    }

    fn asking(&self) -> Asking {
        match self.next() {
            Next::Ask(asking) => *asking,
            other => panic!("{other:?}"),
        }
    }

    /// Rule and fix of the refusal.
    fn told(&self) -> (String, String) {
        let Next::Deny(denied) = self.next() else { panic!("{}", self.word()) };
        let report = denied.report();
        (report.rule.unwrap(), report.fix)
    }
}

fn assessed(facts: Facts) -> Assessed {
    let program = Program { invoked: PathBuf::from("/bin/ls"), real: PathBuf::from("/bin/ls") };
    let part = Part {
        span: Span::default(),
        nested: false,
        argv: Vec::new(),
        effective: Vec::new(),
        wrappers: Vec::new(),
        program: Some(program),
        script: None,
        dir: Some(PathBuf::from("/w")),
        typed_dir: Some(PathBuf::from("/w")),
        by: if facts.listed { By::Entry(0) } else { By::Nothing(Gap::NoEntry) },
    };
    let text = if facts.unread { "ls > \"$x\"" } else { "ls" };
    let analysis = crate::shell::analyse::analyse(text);
    assert_eq!(analysis.is_err(), facts.unread);
    Assessed {
        text: text.to_owned(),
        cwd: PathBuf::from("/w"),
        analysis,
        parts: if facts.unread { Vec::new() } else { vec![part] },
        inline: facts.inline.then(|| "python -c".to_owned()),
        suppresses: facts.suppresses,
        unseen: facts.unseen,
        heredoc: facts.heredoc,
        denied: facts.denied.then(|| DeniedBy {
            entry: Some(0),
            pattern: "ls".to_owned(),
            command: "ls".to_owned(),
        }),
        strict_inline: facts.inline,
        sets: if facts.sets { vec!["LESS".to_owned()] } else { Vec::new() },
        satisfied: facts.listed && !facts.unread,
        durable: facts.durable,
    }
}

fn word(exec: &str, facts: Facts) -> String {
    case(exec, EMPTY, facts).word()
}

#[test]
fn the_table_of_outcomes() {
    let durable = Facts { durable: true, ..LISTED };
    for (exec, missed, listed, lasting) in [
        ("{mode: 'deny'}", "CRL-APPR-001", "CRL-APPR-001", "CRL-APPR-001"),
        ("{}", "built-in", "built-in", "built-in"),
        ("{ask: 'off'}", "built-in", "built-in", "built-in"),
        ("{mode: 'full'}", "written tools.exec.mode", "written tools.exec.mode", "written tools.exec.mode"),
        ("{ask: 'on-miss'}", "built-in", "built-in", "built-in"),
        ("{ask: 'always'}", "ask ask-always", "ask ask-always", "ask ask-always"),
        ("{mode: 'allowlist'}", "CRL-APPR-002", "listed /bin/ls", "listed /bin/ls"),
        ("{mode: 'ask'}", "ask allowlist-miss", "listed /bin/ls", "listed /bin/ls"),
        ("{mode: 'auto'}", "ask allowlist-miss", "listed /bin/ls", "listed /bin/ls"),
        ("{security: 'allowlist', ask: 'always'}", "ask allowlist-miss", "ask ask-always", "ask ask-always"),
    ] {
        assert_eq!(word(exec, MISSED), missed, "{exec}");
        assert_eq!(word(exec, LISTED), listed, "{exec}");
        assert_eq!(word(exec, durable), lasting, "{exec}");
    }
}

#[test]
fn what_forces_a_question() {
    let inline = Facts { inline: true, ..LISTED };
    assert_eq!(word("{mode: 'full'}", inline), "ask inline-eval", "under full too");
    assert_eq!(word("{mode: 'ask'}", inline), "ask inline-eval");
    assert_eq!(word("{mode: 'allowlist'}", inline), "CRL-APPR-002", "where nobody is asked it is refused");
    let (rule, fix) = case("{mode: 'allowlist'}", EMPTY, inline).told();
    assert_eq!(rule, "tools.exec.strictInlineEval");
    assert!(fix.contains("set tools.exec.strictInlineEval to false"), "{fix}");
    let sets = Facts { sets: true, ..LISTED };
    assert_eq!(word("{mode: 'ask'}", sets), "ask environment-miss");
    assert_eq!(word("{mode: 'ask'}", Facts { durable: true, ..sets }), "ask environment-miss");
    assert_eq!(word("{mode: 'allowlist'}", sets), "CRL-APPR-002");
    assert_eq!(word("{mode: 'full'}", sets), "written tools.exec.mode");
    let (rule, fix) = case("{mode: 'allowlist'}", EMPTY, sets).told();
    assert!(rule.contains("variables") && fix.contains("leave LESS out"), "{rule} {fix}");
    let asking = case("{mode: 'ask'}", EMPTY, sets).asking();
    assert!(!asking.offered().contains(&Decision::AllowAlways) && !asking.listed());
    assert!(asking.warnings().iter().any(|warning| warning.contains("LESS")), "{:?}", asking.warnings());
    let unpinned = Facts { unpinned: true, ..LISTED };
    assert_eq!(word("{mode: 'ask'}", unpinned), "ask execution-plan-miss");
    assert_eq!(word("{mode: 'allowlist'}", unpinned), "CRL-APPR-002");
    assert_eq!(word("{mode: 'full'}", unpinned), "written tools.exec.mode");
    let suppresses = Facts { suppresses: true, ..LISTED };
    assert_eq!(word("{mode: 'ask'}", suppresses), "ask audit-suppression");
    assert_eq!(word("{security: 'full', ask: 'on-miss'}", suppresses), "ask audit-suppression");
    assert_eq!(word("{mode: 'full'}", suppresses), "written tools.exec.mode");
    let unread = Facts { unread: true, listed: false, lasting: false, ..LISTED };
    assert_eq!(word("{mode: 'ask'}", unread), "ask allowlist-miss", "no automatic pass, no dead end");
    assert_eq!(word("{mode: 'allowlist'}", unread), "CRL-APPR-002");
}

#[test]
fn a_deny_list_comes_first() {
    let denied = Facts { denied: true, ..LISTED };
    for exec in ["{}", "{mode: 'full'}", "{mode: 'ask'}", "{mode: 'allowlist'}", "{ask: 'always'}"] {
        assert_eq!(word(exec, denied), "CRL-APPR-005", "{exec}");
        let elevated = Case { elevated: Level::Full, ..case(exec, EMPTY, denied) };
        assert_eq!(elevated.word(), "CRL-APPR-005", "{exec}");
    }
    let (rule, fix) = case("{}", EMPTY, denied).told();
    assert_eq!(rule, "exec-approvals.json agents.*.denylist[0]");
    assert!(fix.ends_with("`creel approvals allowlist remove --deny ls --agent '*'`"), "{fix}");
}

#[test]
fn what_cannot_be_compared_with_a_deny_list_does_not_run_unasked() {
    let unseen = Facts { unseen: true, ..LISTED };
    for exec in ["{}", "{mode: 'full'}", "{mode: 'allowlist'}"] {
        assert_eq!(word(exec, unseen), "CRL-APPR-009", "{exec}");
        let elevated = Case { elevated: Level::Full, ..case(exec, EMPTY, unseen) };
        assert_eq!(elevated.word(), "CRL-APPR-009", "{exec}");
    }
    assert_eq!(word("{mode: 'ask'}", unseen), "ask denylist-unseen");
    assert_eq!(word("{security: 'full', ask: 'on-miss'}", unseen), "ask denylist-unseen");
}

#[test]
fn the_stricter_document_and_the_stricter_call_hold() {
    let with = |document: &str| case("{mode: 'full'}", document, MISSED).word();
    assert_eq!(with("{\"version\": 1, \"defaults\": {\"security\": \"full\"}}"), "written tools.exec.mode");
    assert_eq!(with("{\"version\": 1, \"defaults\": {\"security\": \"deny\"}}"), "CRL-APPR-001");
    assert_eq!(with("{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}}"), "CRL-APPR-002");
    assert_eq!(with("{\"version\": 1, \"defaults\": {\"ask\": \"always\"}}"), "ask ask-always");
    assert_eq!(with("{\"version\": 1, \"defaults\": {\"ask\": \"on-miss\"}}"), "written tools.exec.mode");
    // A document that says full opens nothing that was closed.
    let full = "{\"version\": 1, \"defaults\": {\"security\": \"full\", \"ask\": \"off\"}}";
    assert_eq!(case("{mode: 'ask'}", full, MISSED).word(), "ask allowlist-miss");
    let always = Case { ask: Some(Ask::Always), ..case("{mode: 'full'}", EMPTY, MISSED) };
    assert_eq!(always.word(), "ask ask-always");
}

#[test]
fn elevated_full_skips_approvals_only_where_there_are_none() {
    let full = |exec: &str, document: &str, facts: Facts| {
        Case { elevated: Level::Full, ..case(exec, document, facts) }.word()
    };
    let inline = Facts { inline: true, ..MISSED };
    assert_eq!(full("{}", EMPTY, inline), "elevated");
    assert_eq!(full("{mode: 'ask'}", EMPTY, MISSED), "ask allowlist-miss");
    assert_eq!(full("{mode: 'deny'}", EMPTY, MISSED), "CRL-APPR-001");
    let document = "{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}}";
    assert_eq!(full("{}", document, MISSED), "CRL-APPR-002");
    let document = "{\"version\": 1, \"defaults\": {\"ask\": \"always\"}}";
    assert_eq!(full("{}", document, MISSED), "ask ask-always");
    let ask = Case { elevated: Level::Ask, ..case("{mode: 'ask'}", EMPTY, MISSED) };
    assert_eq!(ask.word(), "ask allowlist-miss");
    let call = Case { ask: Some(Ask::Always), elevated: Level::Full, ..case("{}", EMPTY, MISSED) };
    assert_eq!(call.word(), "ask ask-always");
}

#[test]
fn what_is_offered() {
    let offered = |exec: &str, facts: Facts| case(exec, EMPTY, facts).asking().offered().to_vec();
    let (once, always, deny) = (Decision::AllowOnce, Decision::AllowAlways, Decision::Deny);
    assert_eq!(offered("{mode: 'ask'}", MISSED), [once, always, deny]);
    for (exec, facts) in [
        ("{ask: 'always'}", LISTED),
        ("{mode: 'ask'}", Facts { lasting: false, ..MISSED }),
        ("{mode: 'ask'}", Facts { inline: true, ..MISSED }),
        ("{mode: 'ask'}", Facts { suppresses: true, ..MISSED }),
        ("{mode: 'ask'}", Facts { unpinned: true, ..LISTED }),
        ("{mode: 'ask'}", Facts { unread: true, ..MISSED }),
    ] {
        assert_eq!(offered(exec, facts), [once, deny], "{exec}");
    }
    let mut asking = case("{mode: 'ask'}", EMPTY, MISSED).asking();
    asking.withhold("because");
    assert_eq!(asking.offered(), [once, deny]);
    assert_eq!(asking.warnings(), ["because"]);
}

#[test]
fn an_answer_that_was_not_offered_is_none() {
    let asking = case("{ask: 'always'}", EMPTY, MISSED).asking();
    let answer = |decision| asking.answered(Answer::Decided(decision), "q", None);
    assert_eq!(answer(Decision::AllowAlways), Err(Denial::Malformed));
    assert_eq!(answer(Decision::Deny), Err(Denial::User));
    let cleared = answer(Decision::AllowOnce).unwrap();
    assert_eq!(cleared.launch(), Launch::Seen);
    let ground = Ground::Approved { id: "q".to_owned(), decision: Decision::AllowOnce, by: None };
    assert_eq!(cleared.ground(), &ground);
    assert_eq!(asking.answered(Answer::TimedOut, "q", None), Err(Denial::Timeout));
}

#[test]
fn the_table_of_fallbacks() {
    let fallback = |value: &str, exec: &str, facts: Facts| {
        let document = format!(
            "{{\"version\": 1, \"defaults\": {{\"ask\": \"always\", \"askFallback\": \"{value}\"}}}}"
        );
        let asking = case(exec, &document, facts).asking();
        asking.answered(Answer::Unreachable, "q", None).map(|cleared| cleared.launch())
    };
    let full = "{mode: 'full'}";
    let listed = "{mode: 'ask'}";
    assert_eq!(fallback("deny", full, LISTED), Err(Denial::Timeout));
    assert_eq!(fallback("full", full, MISSED), Ok(Launch::Seen));
    assert_eq!(fallback("full", full, LISTED), Ok(Launch::Pinned));
    assert_eq!(fallback("allowlist", listed, LISTED), Ok(Launch::Pinned));
    assert_eq!(fallback("full", listed, LISTED), Ok(Launch::Pinned), "capped by security");
    assert_eq!(fallback("full", listed, MISSED), Err(Denial::TimeoutMiss));
    assert_eq!(fallback("allowlist", listed, MISSED), Err(Denial::TimeoutMiss));
    assert_eq!(fallback("allowlist", full, Facts { unpinned: true, ..LISTED }), Err(Denial::TimeoutUnpinned));
    for facts in [
        Facts { inline: true, ..LISTED },
        Facts { suppresses: true, ..LISTED },
        Facts { heredoc: true, ..LISTED },
    ] {
        assert_eq!(fallback("full", full, facts), Err(Denial::Timeout));
    }
    let document = "{\"version\": 1, \"defaults\": {\"askFallback\": \"allowlist\"}}";
    let mut asking = case("{security: 'allowlist', ask: 'always'}", document, LISTED).asking();
    assert!(asking.answered(Answer::Unreachable, "q", None).is_ok());
    asking.deferred("not sure");
    assert_eq!(asking.answered(Answer::Unreachable, "q", None), Err(Denial::Timeout), "13.14");
}

#[test]
fn who_is_reviewed() {
    let review = |exec: &str, facts: Facts| case(exec, EMPTY, facts).asking().review().clone();
    assert_eq!(review("{mode: 'ask'}", MISSED), Review::Off);
    assert_eq!(review("{mode: 'auto'}", MISSED), Review::Eligible);
    let hardened = Case { ask: Some(Ask::Always), ..case("{mode: 'auto'}", EMPTY, MISSED) };
    assert_eq!(hardened.asking().review(), &Review::Off, "a person sees every run");
    for facts in [Facts { suppresses: true, ..MISSED }, Facts { unread: true, ..MISSED }] {
        assert!(matches!(review("{mode: 'auto'}", facts), Review::Skipped(_)));
    }
    let asking = case("{mode: 'auto'}", EMPTY, MISSED).asking();
    assert_eq!(asking.reviewed().unwrap().ground(), &Ground::Reviewed);
    let mut asking = case("{mode: 'ask'}", EMPTY, MISSED).asking();
    assert_eq!(asking.reviewed(), None, "no reviewer, no word of one");
    asking.deferred("x");
    assert_eq!(asking.granted("g"), None);
}

#[test]
fn only_what_was_bound_becomes_a_permit_for_what_was_looked_at() {
    let command = || HostCommand {
        command: Command::Shell("ls".to_owned()),
        host: Target::Gateway,
        workdir: "/w".to_owned(),
        env: Vec::new(),
        session: "agent:main:main".to_owned(),
        agent: "main".to_owned(),
    };
    let Next::Run(written) = case("{}", EMPTY, MISSED).next() else { panic!() };
    assert_eq!(written.permit(command(), None).unwrap().ground(), &Ground::BuiltIn);
    let Next::Run(listed) = case("{mode: 'ask'}", EMPTY, LISTED).next() else { panic!() };
    assert!(listed.permit(command(), None).is_none());
}

#[test]
fn the_document_that_decides_is_rule_and_fix() {
    let deny = "{\"version\": 1, \"defaults\": {\"security\": \"deny\"}}";
    let (rule, fix) = case("{mode: 'full'}", deny, MISSED).told();
    assert_eq!(rule, "exec-approvals.json defaults.security");
    assert!(fix.ends_with("set defaults.security to \"full\" in exec-approvals.json"), "{fix}");
    assert!(!fix.contains("tools.exec"), "{fix}");
    let file = Path::new("/a.json").to_owned();
    let document = Known::LastGood(DocumentError::Missing { file });
    let broken = Case { scene: Scene { document, ..scene() }, ..case("{mode: 'full'}", deny, MISSED) };
    let (rule, fix) = broken.told();
    assert!(rule.contains("the last good copy of it holds, because /a.json is missing"), "{rule}");
    assert!(rule.contains("[CRL-APPROVALS-001]"), "{rule}");
    assert!(fix.contains("mend /a.json (restore the file"), "{fix}");
}

#[test]
fn a_mode_is_mended_by_itself_and_a_miss_by_an_entry() {
    let (rule, fix) = case("{mode: 'allowlist'}", EMPTY, MISSED).told();
    assert_eq!(rule, "tools.exec.mode");
    // Nothing can be listed here: the command has no words.
    assert!(fix.contains("`creel explain exec --agent main -- ls`"), "{fix}");
    let smaller =
        "set tools.exec.mode to \"ask\" (`creel config set tools.exec.mode ask`): a person is then asked";
    assert!(fix.find(smaller).unwrap() < fix.find("\"full\"").unwrap(), "{fix}");
    assert!(fix.ends_with("set tools.exec.mode to \"full\""), "{fix}");
    assert!(!fix.contains("tools.exec.ask") && !fix.contains("tools.exec.security"), "{fix}");
}

#[test]
fn a_choice_of_the_session_is_taken_back_there() {
    let set = Set { value: Security::Deny, key: "/exec security".to_owned() };
    let session = || ExecLayer { security: Some(set.clone()), ..ExecLayer::default() };
    let chosen = Case { session: session(), ..case("{mode: 'full'}", EMPTY, MISSED) };
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
    let closed = "{mode: 'deny'}";
    let (_, fix) = case(closed, EMPTY, MISSED).told();
    assert!(fix.starts_with("set agents.defaults.sandbox.mode to \"all\""), "{fix}");
    let sandboxed = || Scene { sandboxed: true, ..scene() };
    let ask = Case { elevated: Level::Ask, scene: sandboxed(), ..case(closed, EMPTY, MISSED) };
    let (_, fix) = ask.told();
    assert!(fix.starts_with("leave elevated out of the call"), "{fix}");
    let host = Case { scene: sandboxed(), ..case("{host: 'gateway', mode: 'deny'}", EMPTY, MISSED) };
    let (_, fix) = host.told();
    assert!(fix.starts_with("set tools.exec.host to \"auto\": it then runs in the sandbox"), "{fix}");
}
