//! Allow, ask or deny for one command (spec `approvals.md` 2.11 and its table).

use super::mode::ModePolicy;
use crate::config::exec::{Ask, Security};
use crate::policy::Verdict;

/// What is known of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Facts {
    /// Its text was understood as a whole.
    pub analysed: bool,
    /// Every part is covered by an entry, a safe program or a harmless builtin.
    pub listed: bool,
    /// Every part is covered by an approval for good.
    pub durable: bool,
    /// The call sets variables about which no entry says anything.
    pub environment: bool,
    /// It carries code in an argument, and `strictInlineEval` is on.
    pub inline_eval: bool,
    /// It is covered, and cannot be run exactly as it was matched.
    pub unpinned: bool,
    /// It changes which findings of the audit are suppressed.
    pub suppresses: bool,
    /// Something is on the deny list, and what the command runs cannot be compared with it.
    pub unseen: bool,
}

impl Facts {
    /// Whether entries, safe programs or an approval for good cover it, whatever the call sets.
    const fn covered(self) -> bool {
        self.durable || self.analysed && self.listed
    }
}

/// Why a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Everything is trusted.
    Full,
    /// It is covered.
    Listed,
    /// It was approved for good.
    Durable,
    /// Nothing runs on this host.
    SecurityDeny,
    /// It is not covered, or not understood.
    Miss,
    /// It is covered, and the call sets variables about which no entry says anything.
    Environment,
    /// A person sees every command.
    AskAlways,
    /// It carries code in an argument.
    InlineEval,
    /// It cannot be run exactly as it was matched.
    Unpinned,
    /// It changes which findings are suppressed.
    Suppresses,
    /// Something is on the deny list, and what it runs cannot be seen.
    Unseen,
}

impl Reason {
    /// A stable word for programs.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Full => "security-full",
            Self::Listed => "allowlist",
            Self::Durable => "allow-always",
            Self::SecurityDeny => "security-deny",
            Self::Miss => "allowlist-miss",
            Self::Environment => "environment-miss",
            Self::AskAlways => "ask-always",
            Self::InlineEval => "inline-eval",
            Self::Unpinned => "execution-plan-miss",
            Self::Suppresses => "audit-suppression",
            Self::Unseen => "denylist-unseen",
        }
    }

    /// Whether no fallback and no grant stands in for a person's answer (spec `approvals.md` 8.02, 10.03).
    pub const fn needs_answer(self) -> bool {
        matches!(self, Self::InlineEval | Self::Unpinned | Self::Suppresses | Self::Unseen)
    }
}

/// What one rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Say {
    /// Its verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
}

/// The verdict and everything that had a say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The strictest of all.
    pub verdict: Verdict,
    /// Every rule that had a say, in order.
    pub says: Vec<Say>,
}

impl Judged {
    /// The rule that decided: the first of the strictest.
    pub fn decider(&self) -> Option<Say> {
        self.says.iter().copied().find(|say| say.verdict == self.verdict)
    }

    /// Whether only a person's answer will do; no fallback then.
    pub fn needs_answer(&self) -> bool {
        self.says.iter().any(|say| say.verdict != Verdict::Allow && say.reason.needs_answer())
    }
}

/// Judges a command under a policy that holds.
///
/// Under `allowlist` with `off` nobody is ever asked: what would ask is refused (seeds; spec `approvals.md` 5.34).
/// Under `full` with `off` only strict inline evaluation asks (8.02).
pub fn judge(policy: ModePolicy, facts: &Facts) -> Judged {
    let say = |verdict, reason| Say { verdict, reason };
    let closed = policy.security == Security::Allowlist && policy.ask == Ask::Off;
    let must_ask = if closed { Verdict::Deny } else { Verdict::Ask };
    let mut says = vec![match policy.security {
        Security::Deny => say(Verdict::Deny, Reason::SecurityDeny),
        Security::Full => say(Verdict::Allow, Reason::Full),
        Security::Allowlist if facts.covered() && facts.environment => say(must_ask, Reason::Environment),
        Security::Allowlist if facts.durable => say(Verdict::Allow, Reason::Durable),
        Security::Allowlist if facts.analysed && facts.listed => say(Verdict::Allow, Reason::Listed),
        Security::Allowlist => say(must_ask, Reason::Miss),
    }];
    if policy.ask == Ask::Always {
        says.push(say(Verdict::Ask, Reason::AskAlways));
    }
    if facts.inline_eval {
        says.push(say(must_ask, Reason::InlineEval));
    }
    if facts.unpinned && policy.security == Security::Allowlist {
        says.push(say(must_ask, Reason::Unpinned));
    }
    if facts.suppresses && (policy.security, policy.ask) != (Security::Full, Ask::Off) {
        says.push(say(must_ask, Reason::Suppresses));
    }
    // Whoever wrote what must never run is asked, or it does not run, however open the host is otherwise.
    if facts.unseen {
        let verdict = if policy.ask == Ask::Off { Verdict::Deny } else { Verdict::Ask };
        says.push(say(verdict, Reason::Unseen));
    }
    Judged { verdict: Verdict::all(says.iter().map(|say| say.verdict)), says }
}

/// The bare prompt rule (2.11): whether ask wants a prompt, whatever security then says.
pub fn requires_approval(policy: ModePolicy, facts: &Facts) -> bool {
    match policy.ask {
        Ask::Always => true,
        Ask::Off => false,
        Ask::OnMiss => policy.security == Security::Allowlist && (facts.environment || !facts.covered()),
    }
}
