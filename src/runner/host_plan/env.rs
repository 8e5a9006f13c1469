//! Layers of a command's environment (spec `exec.md` §3.1): on the gateway's host, and what of it a sandbox gets too.
//! Pure. Which names pass is for [`crate::policy::host_env`] alone to say.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::config::env::{bad_name, bad_value};
use crate::error::{Diagnose, Report};
use crate::policy::host_env::{self, PathRule, Refusal};
use crate::shown::one_line;

/// Variables by name.
pub type Vars = BTreeMap<String, String>;

/// Tells programs that the `exec` tool runs them.
const SHELL_MARKER: (&str, &str) = ("OPENCLAW_SHELL", "exec");
/// Tells programs that a subagent's call runs them. A hint, not a credential.
const SUBAGENT_MARKER: (&str, &str) = ("OPENCLAW_SUBAGENT_EXEC", "1");
/// Who asked, and in which chat.
const CHANNEL_CONTEXT: &str = "OPENCLAW_CHANNEL_CONTEXT";
/// Credentials that the filter drops and that are put back: creel manages no identity of its own for GitHub.
const PUT_BACK: &[&str] = &["GH_TOKEN", "GITHUB_TOKEN"];
/// The terminal type where none is named.
const DEFAULT_TERM: &str = "xterm-256color";
/// The locale of a text that was judged, where the inherited one has another character set.
const JUDGED_LOCALE: &str = "C.UTF-8";
/// Names echoed in a refusal.
const MOST_NAMED: usize = 64;

/// Why a call's environment cannot be used. Nothing ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// Names that no call may set on a host, all of them (`E-ENV-BLOCKED`).
    #[error("{}", blocked(.0))]
    Blocked(Vec<(String, Refusal)>),
    /// A variable that cannot be passed into a sandbox (`E-ENV-FILE`).
    #[error("the variable {} cannot be passed: {reason}", shown(.name))]
    Unfit {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl Diagnose for EnvError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::Blocked(names) if only_path(names) => (
                "CRL-ENV-001",
                "built-in: PATH of host commands (tools.exec.pathPrepend)",
                "leave PATH out, name programs by their paths, or have the operator add the directory to \
                 tools.exec.pathPrepend",
            ),
            Self::Blocked(_) => (
                "CRL-ENV-002",
                "built-in: variables that no call sets on a host",
                "leave the named variables out; where a program needs one, set it in the command's own configuration \
                 file, or run in the sandbox",
            ),
            Self::Unfit { .. } => (
                "CRL-ENV-003",
                "built-in: variables of sandbox commands",
                "name it with letters, digits and underscores, and write longer values to a file",
            ),
        };
        Report { code, message: self.to_string(), rule: Some(rule.to_owned()), fix: fix.to_owned() }
    }
}

fn only_path(names: &[(String, Refusal)]) -> bool {
    matches!(names, [(_, Refusal::Path)])
}

/// Starts as upstream's does: callers look for the first words.
fn blocked(names: &[(String, Refusal)]) -> String {
    if only_path(names) {
        return "Security Violation: the call sets PATH, which decides what program a name means. Commands on a host run \
                with the host's own PATH; nothing was run."
            .to_owned();
    }
    let mut text =
        String::from("Security Violation: the call sets variables that no call may set on a host:");
    for (name, why) in names.iter().take(MOST_NAMED) {
        let kind = if matches!(why, Refusal::Name) { " (not a portable name)" } else { "" };
        let _ = write!(text, "\n- {}{kind}: {why}", shown(name));
    }
    if names.len() > MOST_NAMED {
        let _ = write!(text, "\n- and {} more", names.len() - MOST_NAMED);
    }
    text.push_str("\nNothing was run.");
    text
}

/// A name of the call's choice, fit to be shown: never empty, never long.
fn shown(name: &str) -> String {
    let short: String = name.chars().take(80).collect();
    let plain = bad_name(&short).is_none() && short == name;
    if plain { short } else { format!("{:?}", one_line(&short)) }
}

/// What the call's surroundings add above its own variables, on a host and in a sandbox alike.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Variables that plugins resolved.
    pub plugin: Vars,
    /// Who asked, where known.
    pub sender: Option<String>,
    /// The chat, where known.
    pub chat: Option<String>,
    /// The run belongs to a subagent.
    pub subagent: bool,
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings")
            .field("plugin", &self.plugin.keys())
            .field("subagent", &self.subagent)
            .finish_non_exhaustive()
    }
}

#[derive(serde::Serialize)]
struct ChannelContext<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<Id<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat: Option<Id<'a>>,
}

#[derive(serde::Serialize)]
struct Id<'a> {
    id: &'a str,
}

impl Surroundings {
    /// The variables. A plugin's blocked names are left out without a word: it cannot do otherwise, the call can.
    pub fn vars(&self) -> Vars {
        let mut vars = Vars::new();
        for (name, value) in &self.plugin {
            if let Ok(value) = host_env::set_by_call(name, value, PathRule::Refused) {
                vars.insert(name.clone(), value);
            }
        }
        if self.subagent {
            set(&mut vars, SUBAGENT_MARKER);
        }
        if let Some(context) = self.channel_context() {
            vars.insert(CHANNEL_CONTEXT.to_owned(), context);
        }
        vars
    }

    /// Compact JSON; `None` where neither id is known.
    fn channel_context(&self) -> Option<String> {
        let known = [&self.sender, &self.chat].map(|id| id.as_deref().filter(|id| !id.is_empty()));
        let [sender, chat] = known.map(|id| id.map(|id| Id { id }));
        let context = (sender.is_some() || chat.is_some()).then_some(ChannelContext { sender, chat })?;
        serde_json::to_string(&context).ok()
    }
}

/// A call's variables as a host takes them. One that is refused fails the call, and all that are refused are named.
pub fn host_call(call: &[(String, String)]) -> Result<Vec<(String, String)>, EnvError> {
    let mut kept = Vec::new();
    let mut refused = Vec::new();
    for (name, value) in call {
        match host_env::set_by_call(name, value, PathRule::Refused) {
            Ok(value) => kept.push((name.clone(), value)),
            Err(why) => refused.push((name.clone(), why)),
        }
    }
    if refused.is_empty() { Ok(kept) } else { Err(EnvError::Blocked(refused)) }
}

/// A call's variables as a sandbox takes them, with what its surroundings add: the environment of its permit.
///
/// Names are not judged, they cannot harm the host; only the form is (spec `exec.md` §3.4).
pub fn sandbox_call(
    call: &[(String, String)],
    surroundings: &Surroundings,
) -> Result<Vec<(String, String)>, EnvError> {
    let mut vars = Vars::new();
    for (name, value) in call {
        if let Some(reason) = bad_name(name).map(|_| "its name is not portable").or_else(|| bad_value(value))
        {
            return Err(EnvError::Unfit { name: name.clone(), reason });
        }
        vars.insert(name.clone(), value.clone());
    }
    // Who asked is not for the call to say.
    vars.remove(CHANNEL_CONTEXT);
    vars.extend(surroundings.vars());
    Ok(vars.into_iter().collect())
}

/// The lowest layers on a host: the gateway's own environment, filtered, and the shared store's. Names of the store that
/// are refused are returned with the reason.
pub(super) fn lowest(gateway: &Vars, store: &[(String, String)]) -> (Vars, Vec<(String, Refusal)>) {
    let inherited = |(name, value): (&String, &String)| {
        let value = host_env::inherited(name, value)?;
        (!of_another_call(name)).then(|| (name.clone(), value))
    };
    let mut vars: Vars = gateway.iter().filter_map(inherited).collect();
    for name in PUT_BACK {
        if let Some(value) = gateway.get(*name).filter(|value| !value.is_empty()) {
            vars.insert((*name).to_owned(), value.clone());
        }
    }
    let mut refused = Vec::new();
    for (name, value) in store {
        match host_env::set_by_call(name, value, PathRule::Refused) {
            Ok(value) => {
                vars.insert(name.clone(), value);
            }
            Err(why) => refused.push((name.clone(), why)),
        }
    }
    (vars, refused)
}

/// Locales of another character set than the one in which a text was judged become one of that.
pub(super) fn read_as_judged(vars: &mut Vars) {
    for (name, value) in vars.iter_mut() {
        if host_env::names_charset(name) && !host_env::read_as_judged(value) {
            JUDGED_LOCALE.clone_into(value);
        }
    }
}

/// What a shell is asked with that reads the user's startup files: the gateway's own environment, filtered like a
/// command's, and no call's.
pub(super) fn for_startup_files(gateway: &Vars) -> Vars {
    let (mut vars, _) = lowest(gateway, &[]);
    if let Some(shell) = gateway.get("SHELL") {
        vars.insert("SHELL".to_owned(), shell.clone());
    }
    set(&mut vars, SHELL_MARKER);
    vars
}

/// Where the gateway itself was started by a command of a gateway, that command's own variables end here.
fn of_another_call(name: &str) -> bool {
    [CHANNEL_CONTEXT, SUBAGENT_MARKER.0, super::wrap::PATH_CARRIER, super::wrap::SNAPSHOT].contains(&name)
        || matches!(name, "OLDPWD" | "PWD" | "SHLVL" | "_")
}

/// All layers of a host command but PATH. The call's variables are judged again: nothing depends on who built the
/// permit.
pub(super) fn layered(
    lowest: &Vars,
    call: &[(String, String)],
    above: &Vars,
    workdir: &str,
    tty: bool,
) -> Vars {
    let mut vars = lowest.clone();
    for (name, value) in call {
        if let Ok(value) = host_env::set_by_call(name, value, PathRule::Refused) {
            vars.insert(name.clone(), value);
        }
    }
    vars.extend(above.iter().map(|(name, value)| (name.clone(), value.clone())));
    vars.insert("PWD".to_owned(), workdir.to_owned());
    if tty {
        let term = term(vars.get("TERM").map(String::as_str)).to_owned();
        vars.insert("TERM".to_owned(), term);
    }
    set(&mut vars, SHELL_MARKER);
    set(&mut vars, host_env::MARKER);
    vars
}

/// The terminal type of a command in a terminal (spec `exec.md` §8.2).
pub fn term(named: Option<&str>) -> &str {
    named.filter(|term| !matches!(*term, "" | "dumb")).unwrap_or(DEFAULT_TERM)
}

fn set(vars: &mut Vars, (name, value): (&str, &str)) {
    vars.insert(name.to_owned(), value.to_owned());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_judged_text_is_read_in_its_own_character_set() {
        let mut vars: Vars =
            pairs(&[("LC_ALL", "ja_JP.SJIS"), ("LANG", "de_DE.UTF-8"), ("LC_TIME", "ja_JP.SJIS")])
                .into_iter()
                .collect();
        read_as_judged(&mut vars);
        assert_eq!((vars["LC_ALL"].as_str(), vars["LANG"].as_str()), ("C.UTF-8", "de_DE.UTF-8"));
        assert_eq!(vars["LC_TIME"], "ja_JP.SJIS");
    }

    #[test]
    fn refusals_name_everything() {
        let call =
            pairs(&[("FOO", "1"), ("ld_preload", "x"), ("A-B", "x"), ("PATH", "/x"), ("a\u{1b}[2J", "x")]);
        let error = host_call(&call).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("Security Violation:"), "{text}");
        for part in ["\n- ld_preload: ", "\n- \"A-B\" (not a portable name): ", "\n- PATH: "] {
            assert!(text.contains(part), "{text}");
        }
        assert!(
            !text.contains("FOO") && !text.contains('\u{1b}') && text.ends_with("Nothing was run."),
            "{text}"
        );
        assert_eq!(error.report().code, "CRL-ENV-002");
        let many: Vec<_> = (0..1000).map(|n| (format!("LD_{n}"), String::new())).collect();
        assert!(host_call(&many).unwrap_err().to_string().contains("and 936 more"));
        let long = host_call(&[("-".repeat(100_000), String::new())]).unwrap_err().to_string();
        assert!(long.len() < 1000, "{}", long.len());
    }

    #[test]
    fn path_alone_has_its_own_words() {
        let error = host_call(&pairs(&[("A", "1"), ("Path", "/x")])).unwrap_err();
        assert!(error.to_string().starts_with("Security Violation: the call sets PATH"), "{error}");
        assert_eq!(error.report().code, "CRL-ENV-001");
        assert!(error.report().fix.contains("tools.exec.pathPrepend"));
    }

    #[test]
    fn what_passes_is_literal() {
        let call = pairs(&[("FOO", "$HOME"), ("PAGER", "cat"), ("TERM", "dumb")]);
        assert_eq!(host_call(&call).unwrap(), pairs(&[("FOO", "$HOME"), ("PAGER", ""), ("TERM", "dumb")]));
    }

    #[test]
    fn sandboxes_take_every_name_of_good_form() {
        let plugin =
            [("A".to_owned(), "plugin".to_owned()), ("NODE_OPTIONS".to_owned(), "x".to_owned())].into();
        let surroundings =
            Surroundings { plugin, sender: Some("u".to_owned()), chat: Some("c".to_owned()), subagent: true };
        let call = pairs(&[("A", "call"), ("LD_PRELOAD", "/x.so"), ("OPENCLAW_CHANNEL_CONTEXT", "forged")]);
        let context = r#"{"sender":{"id":"u"},"chat":{"id":"c"}}"#;
        assert_eq!(
            sandbox_call(&call, &surroundings).unwrap(),
            pairs(&[
                ("A", "plugin"),
                ("LD_PRELOAD", "/x.so"),
                ("OPENCLAW_CHANNEL_CONTEXT", context),
                ("OPENCLAW_SUBAGENT_EXEC", "1"),
            ])
        );
        // Without a known sender nobody is one.
        assert_eq!(sandbox_call(&call, &Surroundings::default()).unwrap().len(), 2);
        for (name, value) in
            [("A-B", "x"), ("", "x"), ("1", "x"), ("A", "a\nb"), ("A", "a\0b"), ("A", "a\rb")]
        {
            let error = sandbox_call(&pairs(&[(name, value)]), &Surroundings::default()).unwrap_err();
            assert_eq!(error.report().code, "CRL-ENV-003", "{name:?}");
        }
    }

    #[test]
    fn terminals() {
        for (named, wanted) in [
            (None, "xterm-256color"),
            (Some(""), "xterm-256color"),
            (Some("dumb"), "xterm-256color"),
            (Some("vt100"), "vt100"),
        ] {
            assert_eq!(term(named), wanted);
        }
    }

    fn refused() -> Vec<String> {
        let prefixed = [
            "LD_X",
            "DYLD_X",
            "BASH_FUNC_X",
            "GIT_CONFIG_X",
            "NPM_CONFIG_X",
            "CARGO_REGISTRIES_X",
            "TF_VAR_X",
        ];
        let others = [
            "PATH",
            "CARGO_TARGET_X86_64_LINKER",
            "CARGO_TARGET_X86_64_RUNNER",
            "OPENCLAW_CLI",
            "CREEL_SHELL_SNAPSHOT",
        ];
        host_env::refused_names().chain(prefixed).chain(others).map(str::to_owned).collect()
    }

    proptest! {
        /// In any case of letters, among harmless names: all that are refused are named, and none reaches the plan.
        #[test]
        fn no_refused_name_passes(
            index in 0..refused().len(),
            lower in proptest::collection::vec(any::<bool>(), 40),
            value in "[ -~]{1,20}",
            harmless in "XQ[A-Z]_ZZ",
        ) {
            let name = refused()[index].clone();
            let name: String = name
                .chars()
                .zip(lower.iter().cycle())
                .map(|(c, lower)| if *lower { c.to_ascii_lowercase() } else { c })
                .collect();
            let call = vec![(harmless, "v".to_owned()), (name.clone(), value)];
            let Err(EnvError::Blocked(blocked)) = host_call(&call) else {
                return Err(TestCaseError::fail(name));
            };
            prop_assert_eq!(blocked.len(), 1);
            prop_assert_eq!(&blocked[0].0, &name);
            let vars = layered(&Vars::new(), &call[1..], &Vars::new(), "/", false);
            prop_assert!(vars.get(&name).is_none_or(|value| name == "OPENCLAW_CLI" && value == "1"));
        }
    }
}
