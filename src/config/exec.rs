//! The block `tools.exec`, global and of each agent (spec `exec.md` §14.1).

use super::reader::{Block, Set};
pub use super::reviewer::ReviewerSettings;
use super::safe_bins::{SafeBinLayer, SafeBinSettings};

pub(super) const KEYS: &[&str] = &[
    "host",
    "mode",
    "security",
    "ask",
    "node",
    "timeoutSec",
    "timeoutSeconds",
    "backgroundMs",
    "cleanupMs",
    "notifyOnExit",
    "notifyOnExitEmptySuccess",
    "approvalRunningNoticeMs",
    "pathPrepend",
    "safeBins",
    "safeBinTrustedDirs",
    "safeBinProfiles",
    "strictInlineEval",
    "commandHighlighting",
    "grantExpiryDays",
    "reviewer",
    "applyPatch",
];
const APPLY_PATCH_KEYS: &[&str] = &["enabled", "workspaceOnly", "allowModels"];

/// Seconds that a command may live where nothing else is configured.
pub const DEFAULT_TIMEOUT_S: u64 = 1800;

/// Where commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecHost {
    /// In the sandbox where one is active, else beside the gateway.
    #[default]
    Auto,
    /// In the sandbox or not at all.
    Sandbox,
    /// Beside the gateway.
    Gateway,
    /// On a paired machine.
    Node,
}

/// How much a host execution is trusted; ordered, the least trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// Nothing runs.
    Deny,
    /// What is listed runs.
    Allowlist,
    /// Everything runs.
    Full,
}

/// When a person is asked; ordered, the least often first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// Never.
    Off,
    /// Where the list has no entry.
    OnMiss,
    /// Always.
    Always,
}

/// The one-word policy that stands for a pair of security and ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecMode {
    /// Nothing runs.
    Deny,
    /// What is listed runs, nobody is asked.
    Allowlist,
    /// What is not listed is asked.
    Ask,
    /// What is not listed is reviewed, then asked.
    Auto,
    /// Everything runs.
    Full,
}

/// The words of security.
pub const SECURITY: &[(&str, Security)] =
    &[("deny", Security::Deny), ("allowlist", Security::Allowlist), ("full", Security::Full)];
/// The words of ask.
pub const ASK: &[(&str, Ask)] = &[("off", Ask::Off), ("on-miss", Ask::OnMiss), ("always", Ask::Always)];

/// The words of host.
pub const HOST: &[(&str, ExecHost)] = &[
    ("auto", ExecHost::Auto),
    ("sandbox", ExecHost::Sandbox),
    ("gateway", ExecHost::Gateway),
    ("node", ExecHost::Node),
];
/// The words of mode.
pub const MODE: &[(&str, ExecMode)] = &[
    ("deny", ExecMode::Deny),
    ("allowlist", ExecMode::Allowlist),
    ("ask", ExecMode::Ask),
    ("auto", ExecMode::Auto),
    ("full", ExecMode::Full),
];

impl ExecMode {
    /// The pair that the mode stands for (spec `approvals.md` §2.1). `auto` is `ask` with a reviewer before the person.
    pub const fn pair(self) -> (Security, Ask) {
        match self {
            Self::Deny => (Security::Deny, Ask::Off),
            Self::Allowlist => (Security::Allowlist, Ask::Off),
            Self::Ask | Self::Auto => (Security::Allowlist, Ask::OnMiss),
            Self::Full => (Security::Full, Ask::Off),
        }
    }
}

/// What one layer says; `None` where it says nothing.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are the keys of the block, documented in `ResolvedExec`")]
pub struct ExecLayer {
    pub host: Option<Set<ExecHost>>,
    pub mode: Option<Set<ExecMode>>,
    pub security: Option<Set<Security>>,
    pub ask: Option<Set<Ask>>,
    pub node: Option<Set<String>>,
    pub timeout_s: Option<Set<u64>>,
    pub background_ms: Option<Set<u64>>,
    pub cleanup_ms: Option<Set<u64>>,
    pub notify_on_exit: Option<Set<bool>>,
    pub notify_empty_success: Option<Set<bool>>,
    pub running_notice_ms: Option<Set<u64>>,
    pub path_prepend: Option<Set<Vec<String>>>,
    pub strict_inline_eval: Option<Set<bool>>,
    pub grant_expiry_days: Option<Set<u64>>,
    pub safe_bins: SafeBinLayer,
    pub command_highlighting: Option<Set<bool>>,
    pub reviewer: ReviewerSettings,
}

impl ExecLayer {
    /// Reads `exec` out of a block of tools.
    pub fn read(tools: &Block<'_>) -> Option<Self> {
        let block = &tools.closed("exec", KEYS)?;
        let _ = block.closed("applyPatch", APPLY_PATCH_KEYS);
        let layer = Self {
            host: block.choice("host", HOST),
            mode: block.choice("mode", MODE),
            security: block.choice("security", SECURITY),
            ask: block.choice("ask", ASK),
            node: block.word("node"),
            timeout_s: timeout(block),
            background_ms: block.whole("backgroundMs", 1),
            cleanup_ms: block.whole("cleanupMs", 1),
            notify_on_exit: block.flag("notifyOnExit"),
            notify_empty_success: block.flag("notifyOnExitEmptySuccess"),
            running_notice_ms: block.whole("approvalRunningNoticeMs", 0),
            path_prepend: path_prepend(block),
            strict_inline_eval: block.flag("strictInlineEval"),
            grant_expiry_days: grant_expiry(block),
            safe_bins: SafeBinLayer::read(block),
            command_highlighting: block.flag("commandHighlighting"),
            reviewer: ReviewerSettings::read(block),
        };
        one_policy(block, &layer);
        Some(layer)
    }
}

/// Both names are accepted; two different values are not.
fn timeout(block: &Block<'_>) -> Option<Set<u64>> {
    let (new, old) = (block.whole("timeoutSeconds", 1), block.whole("timeoutSec", 1));
    if let (Some(new), Some(old)) = (&new, &old)
        && new.value != old.value
    {
        let message = format!("{} and timeoutSec {} contradict each other", new.value, old.value);
        block.problem("timeoutSeconds", message, "keep one of timeoutSeconds and timeoutSec");
    }
    new.or(old)
}

/// A grant for scheduled runs ends after 1 to 3650 days (spec `approvals.md` §2.6).
fn grant_expiry(block: &Block<'_>) -> Option<Set<u64>> {
    let days = block.whole("grantExpiryDays", 1)?;
    let most = u64::from(crate::approvals::desk::MAX_DAYS);
    if days.value > most {
        let message = format!("{} is more than {most} days", days.value);
        block.problem(
            "grantExpiryDays",
            message,
            "give 1 to 3650, or leave the key out: grants then live until revoked",
        );
        return None;
    }
    Some(days)
}

/// A colon or a NUL would make two entries of one, or none.
fn path_prepend(block: &Block<'_>) -> Option<Set<Vec<String>>> {
    let set = block.list("pathPrepend")?;
    let entry = |item: Set<String>| {
        let text = item.value.trim().to_owned();
        if text.is_empty() || text.contains(':') || text.chars().any(char::is_control) {
            let message = format!("{:?} is no directory for PATH", item.value);
            block.problem_at(&item.key, message, "write one directory per entry");
            return None;
        }
        Some(text)
    };
    Some(set.map(|items| items.into_iter().filter_map(entry).collect()))
}

/// `mode` stands for the pair; beside it the pair would be a second opinion.
fn one_policy(block: &Block<'_>, layer: &ExecLayer) {
    if layer.mode.is_none() || (layer.security.is_none() && layer.ask.is_none()) {
        return;
    }
    let (security, ask) = (layer.security.as_ref().map(|s| s.value), layer.ask.as_ref().map(|a| a.value));
    let same = match (security, ask) {
        (Some(Security::Deny), None | Some(Ask::Off)) => Some("deny"),
        (Some(Security::Allowlist), Some(Ask::Off)) => Some("allowlist"),
        (Some(Security::Allowlist), Some(Ask::OnMiss)) => Some("ask"),
        (Some(Security::Full), None | Some(Ask::Off)) => Some("full"),
        _ => None,
    };
    let fix = match same {
        Some(mode) => format!("keep mode: \"{mode}\" alone, which is the same as the pair"),
        None => "keep either mode, or security and ask".to_owned(),
    };
    block.problem("mode", "stands beside security or ask, which it replaces", fix);
}

fn value<T: Clone>(set: Option<&Set<T>>) -> Option<T> {
    set.map(|set| set.value.clone())
}

/// The exec settings that hold for an agent.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ResolvedExec {
    /// Where commands run.
    pub host: ExecHost,
    /// The one-word policy, where the nearest layer has one.
    pub mode: Option<ExecMode>,
    /// Security, where the nearest layer has it; what is unset depends on the host.
    pub security: Option<Security>,
    /// Ask, likewise.
    pub ask: Option<Ask>,
    /// The paired machine that commands are bound to.
    pub node: Option<String>,
    /// Seconds that a command may live.
    pub timeout_s: u64,
    /// Milliseconds until a foreground command goes on in the background.
    pub background_ms: u64,
    /// Milliseconds that the record of a finished background command is kept.
    pub cleanup_ms: u64,
    /// A notice follows the end of a background command.
    pub notify_on_exit: bool,
    /// One follows even where it succeeded and printed nothing.
    pub notify_empty_success: bool,
    /// Milliseconds until an approved command that still runs is told of; 0 is never.
    pub running_notice_ms: u64,
    /// Directories before PATH, as written: `~` is the guest's or the host's home where the command runs.
    pub path_prepend: Vec<String>,
    /// Inline evaluation needs approval.
    pub strict_inline_eval: bool,
    /// Days after which a grant for scheduled runs ends; `None`: when it is revoked.
    pub grant_expiry_days: Option<u64>,
    /// Programs that only filter their input.
    #[serde(skip)]
    pub safe_bins: SafeBinSettings,
    /// Who decides may be shown where the programs of a command stand; decides nothing.
    pub command_highlighting: bool,
    /// Who looks at a command before a person does.
    pub reviewer: ReviewerSettings,
}

impl ResolvedExec {
    /// The agent's values over the global ones; the policy keys as one layer (spec `exec.md` §14.2).
    pub fn merge(global: &ExecLayer, agent: Option<&ExecLayer>) -> Self {
        Self::merge_in(global, agent, &ExecEnv::default())
    }

    /// As [`Self::merge`], with what the gateway's environment says where no key is written (spec `exec.md` §14.3).
    pub fn merge_in(global: &ExecLayer, agent: Option<&ExecLayer>, env: &ExecEnv) -> Self {
        let none = ExecLayer::default();
        let agent = agent.unwrap_or(&none);
        // A mode replaces the inherited pair, a pair an inherited mode.
        let pair = agent.security.is_some() || agent.ask.is_some();
        let mode = agent.mode.as_ref().or(global.mode.as_ref().filter(|_| !pair));
        let inherit = agent.mode.is_none();
        // Of a mode that a half pair replaces, the other half stays (spec `approvals.md` 2.06).
        let half = global.mode.as_ref().filter(|_| pair && inherit).map(|mode| mode.value.pair());
        let security = value(agent.security.as_ref().or(global.security.as_ref().filter(|_| inherit)));
        let ask = value(agent.ask.as_ref().or(global.ask.as_ref().filter(|_| inherit)));
        Self {
            host: value(agent.host.as_ref().or(global.host.as_ref())).unwrap_or_default(),
            mode: value(mode),
            security: security.or(half.map(|(security, _)| security)),
            ask: ask.or(half.map(|(_, ask)| ask)),
            node: value(agent.node.as_ref().or(global.node.as_ref())),
            timeout_s: value(agent.timeout_s.as_ref().or(global.timeout_s.as_ref()))
                .unwrap_or(DEFAULT_TIMEOUT_S),
            background_ms: value(agent.background_ms.as_ref().or(global.background_ms.as_ref()))
                .or(env.yield_ms)
                .map_or(10_000, clamp_yield),
            cleanup_ms: value(agent.cleanup_ms.as_ref().or(global.cleanup_ms.as_ref()))
                .or(env.ttl_ms)
                .map_or(1_800_000, |ms| ms.clamp(60_000, 10_800_000)),
            notify_on_exit: value(agent.notify_on_exit.as_ref().or(global.notify_on_exit.as_ref()))
                .unwrap_or(true),
            notify_empty_success: value(
                agent.notify_empty_success.as_ref().or(global.notify_empty_success.as_ref()),
            )
            .unwrap_or_default(),
            running_notice_ms: value(agent.running_notice_ms.as_ref().or(global.running_notice_ms.as_ref()))
                .unwrap_or(10_000),
            path_prepend: value(agent.path_prepend.as_ref().or(global.path_prepend.as_ref()))
                .unwrap_or_default(),
            grant_expiry_days: value(agent.grant_expiry_days.as_ref().or(global.grant_expiry_days.as_ref())),
            strict_inline_eval: value(
                agent.strict_inline_eval.as_ref().or(global.strict_inline_eval.as_ref()),
            )
            .unwrap_or_default(),
            safe_bins: SafeBinSettings::merge(&global.safe_bins, &agent.safe_bins),
            command_highlighting: value(
                agent.command_highlighting.as_ref().or(global.command_highlighting.as_ref()),
            )
            .unwrap_or_default(),
            reviewer: agent.reviewer.over(&global.reviewer),
        }
    }
}

/// Milliseconds until a command goes on in the background, within what is accepted anywhere: 10 ms to 2 min.
pub fn clamp_yield(ms: u64) -> u64 {
    ms.clamp(10, 120_000)
}

/// What the gateway's own environment says (spec `exec.md` §6.2, §14.3). Keys of the configuration are stronger; what is
/// no whole number counts as unset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecEnv {
    /// `OPENCLAW_BASH_YIELD_MS`.
    pub yield_ms: Option<u64>,
    /// `OPENCLAW_BASH_JOB_TTL_MS`.
    pub ttl_ms: Option<u64>,
    /// `OPENCLAW_BASH_MAX_OUTPUT_CHARS`.
    pub max_output: Option<u64>,
    /// `OPENCLAW_BASH_PENDING_MAX_OUTPUT_CHARS`.
    pub max_pending: Option<u64>,
}

impl ExecEnv {
    /// Reads the variables; each has an older name, which counts where the newer one is not set.
    pub fn read(var: &dyn Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| {
            let text = var(&format!("OPENCLAW_BASH_{name}")).or_else(|| var(&format!("PI_BASH_{name}")))?;
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten()
        };
        Self {
            yield_ms: number("YIELD_MS"),
            ttl_ms: number("JOB_TTL_MS"),
            max_output: number("MAX_OUTPUT_CHARS"),
            max_pending: number("PENDING_MAX_OUTPUT_CHARS"),
        }
    }

    /// Most characters of the aggregate.
    pub fn aggregate_cap(&self) -> usize {
        cap(self.max_output, 200_000)
    }

    /// Most characters that wait for a poll, of each stream; never more than the aggregate has.
    pub fn pending_cap(&self) -> usize {
        cap(self.max_pending, 30_000).min(self.aggregate_cap())
    }
}

fn cap(set: Option<u64>, default: usize) -> usize {
    set.map_or(default, |set| usize::try_from(set).unwrap_or(usize::MAX).clamp(1000, 200_000))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn env(pairs: &[(&str, &str)]) -> ExecEnv {
        let find =
            |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        ExecEnv::read(&find)
    }

    #[test]
    fn variables_are_strict_whole_numbers() {
        for (text, wanted) in [
            ("1500", Some(1500)),
            ("", None),
            (" 5", None),
            ("1e3", None),
            ("-1", None),
            ("+5", None),
            ("0x10", None),
        ] {
            assert_eq!(env(&[("OPENCLAW_BASH_YIELD_MS", text)]).yield_ms, wanted, "{text:?}");
        }
        assert_eq!(env(&[("PI_BASH_JOB_TTL_MS", "7")]).ttl_ms, Some(7));
        let both = env(&[("PI_BASH_YIELD_MS", "7"), ("OPENCLAW_BASH_YIELD_MS", "x")]);
        assert_eq!(both.yield_ms, None, "a newer name that is malformed is not passed over");
    }

    #[test]
    fn caps() {
        let of = |output: &str, pending: &str| {
            let env = env(&[
                ("OPENCLAW_BASH_MAX_OUTPUT_CHARS", output),
                ("OPENCLAW_BASH_PENDING_MAX_OUTPUT_CHARS", pending),
            ]);
            (env.aggregate_cap(), env.pending_cap())
        };
        assert_eq!(of("", ""), (200_000, 30_000));
        assert_eq!(of("5000", ""), (5000, 5000));
        assert_eq!(of("1", "1"), (1000, 1000));
        assert_eq!(of("999999999999", "99999999"), (200_000, 200_000));
    }

    #[test]
    fn keys_are_stronger_than_variables() {
        let set = |value: u64| Some(Set { value, key: String::new() });
        let env = env(&[("OPENCLAW_BASH_YIELD_MS", "3"), ("OPENCLAW_BASH_JOB_TTL_MS", "5")]);
        let none = ExecLayer::default();
        let merged = ResolvedExec::merge_in(&none, None, &env);
        assert_eq!((merged.background_ms, merged.cleanup_ms), (10, 60_000));
        let global = ExecLayer { background_ms: set(500), cleanup_ms: set(99_999_999), ..none.clone() };
        let merged = ResolvedExec::merge_in(&global, None, &env);
        assert_eq!((merged.background_ms, merged.cleanup_ms), (500, 10_800_000));
        assert!(merged.notify_on_exit && !merged.notify_empty_success && merged.running_notice_ms == 10_000);
    }
}
