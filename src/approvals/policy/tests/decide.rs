//! Verdicts, answers, calls.

use super::{ASKS, SECURITIES};
use crate::approvals::policy::answer::{Answer, Decision, Denial, Persistence, State, allowed, state};
use crate::approvals::policy::judge::{Reason, Say};
use crate::approvals::policy::{Call, Facts, ModePolicy, Origin, judge, requires_approval};
use crate::config::exec::{Ask, ExecMode, Security};
use crate::policy::Verdict;

fn every_facts() -> impl Iterator<Item = Facts> {
    (0..=255_u8).map(|bits| Facts {
        analysed: bits & 1 != 0,
        listed: bits & 2 != 0,
        durable: bits & 4 != 0,
        inline_eval: bits & 8 != 0,
        unpinned: bits & 16 != 0,
        suppresses: bits & 32 != 0,
        environment: bits & 64 != 0,
        unseen: bits & 128 != 0,
    })
}

fn every_policy() -> impl Iterator<Item = ModePolicy> {
    SECURITIES.into_iter().flat_map(|security| ASKS.map(|ask| ModePolicy::pair(security, ask)))
}

/// The table of 2.11, row by row.
#[test]
fn ordinary_outcomes() {
    use {Ask as A, Security as S, Verdict as V};
    for policy in every_policy() {
        for facts in every_facts()
            .filter(|facts| !facts.inline_eval && !facts.unpinned && !facts.suppresses && !facts.unseen)
        {
            let covered = !facts.environment && (facts.durable || facts.analysed && facts.listed);
            let expected = match (policy.security, policy.ask, covered) {
                (S::Deny, _, _) | (S::Allowlist, A::Off, false) => V::Deny,
                (S::Full, A::Off | A::OnMiss, _) | (S::Allowlist, A::Off | A::OnMiss, true) => V::Allow,
                (_, A::Always, _) | (S::Allowlist, A::OnMiss, false) => V::Ask,
            };
            assert_eq!(judge(policy, &facts).verdict, expected, "{policy:?} {facts:?}");
        }
    }
}

/// What forces a person's answer, over every policy.
#[test]
fn overlays() {
    let covered = Facts { analysed: true, listed: true, ..Facts::default() };
    let verdict = |security, ask, facts| judge(ModePolicy::pair(security, ask), &facts).verdict;
    let inline = Facts { inline_eval: true, ..covered };
    let unpinned = Facts { unpinned: true, ..covered };
    let suppresses = Facts { suppresses: true, ..covered };
    assert_eq!(
        verdict(Security::Full, Ask::Off, inline),
        Verdict::Ask,
        "also where nobody is asked otherwise"
    );
    assert_eq!(verdict(Security::Allowlist, Ask::OnMiss, inline), Verdict::Ask);
    assert_eq!(verdict(Security::Full, Ask::Off, unpinned), Verdict::Allow, "nothing was matched there");
    assert_eq!(verdict(Security::Allowlist, Ask::OnMiss, unpinned), Verdict::Ask);
    assert_eq!(verdict(Security::Full, Ask::Off, suppresses), Verdict::Allow);
    assert_eq!(verdict(Security::Full, Ask::OnMiss, suppresses), Verdict::Ask);
    for facts in [inline, unpinned, suppresses] {
        assert_eq!(verdict(Security::Allowlist, Ask::Off, facts), Verdict::Deny, "that mode never asks");
        assert_eq!(verdict(Security::Deny, Ask::Always, facts), Verdict::Deny);
        assert!(judge(ModePolicy::of(ExecMode::Ask), &facts).needs_answer());
    }
    assert!(!judge(ModePolicy::pair(Security::Allowlist, Ask::Always), &covered).needs_answer());
    assert!(judge(ModePolicy::pair(Security::Full, Ask::Always), &inline).needs_answer());
}

/// Stricter policies and worse facts never make a better verdict.
#[test]
fn verdicts_only_grow() {
    for policy in every_policy() {
        for facts in every_facts() {
            let judged = judge(policy, &facts);
            assert_eq!(judged.verdict, judged.says.iter().map(|say| say.verdict).max().unwrap());
            assert_eq!(judged.decider().map(|say| say.verdict), Some(judged.verdict));
            for worse in [
                Facts { inline_eval: true, ..facts },
                Facts { unpinned: true, ..facts },
                Facts { environment: true, ..facts },
                Facts { suppresses: true, ..facts },
                Facts { unseen: true, ..facts },
                Facts { listed: false, ..facts },
                Facts { analysed: false, ..facts },
                Facts { durable: false, ..facts },
            ] {
                assert!(judge(policy, &worse).verdict >= judged.verdict, "{policy:?} {facts:?} {worse:?}");
            }
            let tighter = ModePolicy { security: Security::Deny, ..policy };
            assert_eq!(judge(tighter, &facts).verdict, Verdict::Deny);
            if policy.security == Security::Allowlist && policy.ask == Ask::Off {
                assert_ne!(judged.verdict, Verdict::Ask);
            }
            if policy.ask == Ask::Always {
                assert_ne!(judged.verdict, Verdict::Allow);
            }
        }
    }
}

#[test]
fn the_decider_is_the_first_of_the_strictest() {
    let facts = Facts { inline_eval: true, ..Facts::default() };
    let judged = judge(ModePolicy::pair(Security::Full, Ask::Always), &facts);
    let say = |verdict, reason| Say { verdict, reason };
    assert_eq!(
        judged.says,
        [
            say(Verdict::Allow, Reason::Full),
            say(Verdict::Ask, Reason::AskAlways),
            say(Verdict::Ask, Reason::InlineEval)
        ]
    );
    assert_eq!(judged.decider(), Some(say(Verdict::Ask, Reason::AskAlways)));
}

#[test]
fn the_prompt_rule() {
    for policy in every_policy() {
        for facts in every_facts() {
            let missed = facts.environment || !(facts.durable || facts.analysed && facts.listed);
            let expected = match policy.ask {
                Ask::Always => true,
                Ask::OnMiss => policy.security == Security::Allowlist && missed,
                Ask::Off => false,
            };
            assert_eq!(requires_approval(policy, &facts), expected);
        }
    }
}

#[test]
fn decisions_that_are_offered() {
    use Decision::{AllowAlways, AllowOnce, Deny};
    for ask in [None, Some(Ask::Off), Some(Ask::OnMiss), Some(Ask::Always)] {
        for persistence in [None, Some(Persistence::Patterns), Some(Persistence::OneShot)] {
            let offered = allowed(ask, persistence);
            let once = ask == Some(Ask::Always) || persistence == Some(Persistence::OneShot);
            assert_eq!(
                offered,
                if once { vec![AllowOnce, Deny] } else { vec![AllowOnce, AllowAlways, Deny] }
            );
        }
    }
    let once = allowed(Some(Ask::Always), None);
    assert_eq!(
        Answer::heard("allow-always", &once),
        Answer::Malformed,
        "what was not offered is no decision"
    );
    assert_eq!(Answer::heard("allow-once", &once), Answer::Decided(AllowOnce));
    assert_eq!(Answer::heard("deny", &[]), Answer::Decided(Deny), "no is always understood");
    for text in ["", "allow", "Allow-Once", "deny ", "yes"] {
        assert_eq!(Answer::heard(text, &allowed(None, None)), Answer::Malformed, "{text}");
    }
}

/// The fallback stands in for people who could not be reached, never for people who did not agree.
#[test]
fn answers_and_fallbacks() {
    let denied = |denial| State::Denied(denial);
    for fallback in SECURITIES {
        for needs_answer in [false, true] {
            let state = |answer| state(answer, fallback, needs_answer);
            assert_eq!(state(Answer::Decided(Decision::AllowOnce)), State::Approved);
            assert_eq!(state(Answer::Decided(Decision::AllowAlways)), State::Approved);
            assert_eq!(state(Answer::Decided(Decision::Deny)), denied(Denial::User));
            assert_eq!(state(Answer::TimedOut), denied(Denial::Timeout));
            assert_eq!(state(Answer::Malformed), denied(Denial::Malformed));
            let expected = match (fallback, needs_answer) {
                (Security::Deny, _) | (_, true) => denied(Denial::Timeout),
                (Security::Allowlist, false) => State::IfListed,
                (Security::Full, false) => State::Approved,
            };
            assert_eq!(state(Answer::Unreachable), expected, "{fallback:?} {needs_answer}");
        }
    }
    assert_eq!(State::IfListed.settle(true, true), Ok(()));
    assert_eq!(State::IfListed.settle(true, false), Err(Denial::TimeoutUnpinned));
    assert_eq!(State::IfListed.settle(false, true), Err(Denial::TimeoutMiss));
    assert_eq!(State::Approved.settle(false, false), Ok(()));
    assert_eq!(denied(Denial::User).settle(true, true), Err(Denial::User));
}

/// A call can only harden, and a chat cannot make a silent machine ask.
#[test]
fn what_a_call_may_change() {
    for policy in every_policy().chain([ModePolicy::of(ExecMode::Auto)]) {
        for origin in [Origin::Channel, Origin::Local, Origin::Trusted] {
            for ask in [None, Some(Ask::Off), Some(Ask::OnMiss), Some(Ask::Always)] {
                for security in [None, Some(Security::Full), Some(Security::Deny)] {
                    let found = Call { security, ask, origin }.tighten(policy);
                    let deaf = origin == Origin::Channel && policy.ask == Ask::Off;
                    let expected = ask.filter(|_| !deaf).map_or(policy.ask, |ask| ask.max(policy.ask));
                    assert_eq!((found.security, found.ask), (policy.security, expected));
                    assert_eq!(found.reviewer(), policy.reviewer() && found.ask == policy.ask);
                }
            }
        }
    }
}
