//! Which environment variables a command on a host gets (spec `exec.md` §3.2, §3.3). Pure.
//!
//! One filter for every spawn outside a sandbox, and for what an approval shows: two that differ would let a name pass
//! that nobody saw. Names are compared without their outer blanks and in upper case.

mod harmless;
mod names;

pub use harmless::{harmless, names_charset, read_as_judged};
use names::{
    ENDINGS, FAMILIES, LOADERS, MORE, MORE_INHERITED, PLACES, PREFIXES, PREFIXES_INHERITED, PRESENTATION,
    TOOLS,
};

/// Says to every program that it runs under the gateway; no call sets it.
pub const MARKER: (&str, &str) = ("OPENCLAW_CLI", "1");

/// Why a call may not set a variable. Any of these fails the whole call before anything runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The name is not one of the portable ones.
    #[error("the name must consist of letters, digits and underscores, and not begin with a digit")]
    Name,
    /// Neither the name nor the value can hold NUL.
    #[error("the value contains a NUL byte")]
    Nul,
    /// `PATH` decides which program an approved name means.
    #[error("PATH decides which program a name means; set tools.exec.pathPrepend instead")]
    Path,
    /// A pager is a program that starts.
    #[error("a pager is a program; only an empty value or `cat` is accepted")]
    Pager,
    /// A setting of the gateway's own program.
    #[error("it belongs to the gateway itself")]
    Own,
    /// On a list of names that make a program run other code or use other credentials.
    #[error("it makes programs run other code or use other credentials")]
    Listed,
    /// Begins like such names.
    #[error("variables that begin with {0} make programs run other code or use other credentials")]
    Prefix(&'static str),
    /// As those on the list, by creel's own account (stricter than upstream).
    #[error("it makes programs load other code or read options that name programs")]
    More,
    /// Of a family of which only a few are harmless (stricter than upstream).
    #[error("of the variables that begin with {0} only those without influence on what runs are accepted")]
    Family(&'static str),
    /// Ends like such names (stricter than upstream).
    #[error("variables that end in {0} name programs or options of programs")]
    Ending(&'static str),
}

impl Refusal {
    /// Upstream lets it through.
    pub const fn stricter(self) -> bool {
        matches!(self, Self::Own | Self::More | Self::Family(_) | Self::Ending(_))
    }
}

/// Whether calls may set `PATH` where the command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathRule {
    /// The gateway and nodes.
    Refused,
    /// Where the path has no say in what is approved.
    Allowed,
}

/// The value that a variable of the call gets on a host.
pub fn set_by_call(name: &str, value: &str, path: PathRule) -> Result<String, Refusal> {
    if !portable(name) {
        return Err(Refusal::Name);
    }
    if value.contains('\0') {
        return Err(Refusal::Nul);
    }
    let upper = name.to_ascii_uppercase();
    match upper.as_str() {
        "PATH" if path == PathRule::Refused => return Err(Refusal::Path),
        "PATH" => return Ok(value.to_owned()),
        // Switching paging off needs no program.
        "PAGER" | "GIT_PAGER" if matches!(value, "" | "cat") => return Ok(String::new()),
        "PAGER" | "GIT_PAGER" | "MANPAGER" => return Err(Refusal::Pager),
        _ => {}
    }
    refusal(&upper).map_or_else(|| Ok(value.to_owned()), Err)
}

/// The value that a variable of the gateway's own environment has for a command on it; absent where it has none.
pub fn inherited(name: &str, value: &str) -> Option<String> {
    let upper = name.trim().to_ascii_uppercase();
    match upper.as_str() {
        "" => None,
        "GIT_ALLOW_PROTOCOL" => Some(safe_protocols(value)),
        "GIT_PROTOCOL_FROM_USER" => Some(if permissive(value) { "0".to_owned() } else { value.to_owned() }),
        _ => {
            let dropped = listed(LOADERS, &upper)
                || listed(TOOLS, &upper)
                || listed(MORE_INHERITED, &upper)
                || PREFIXES_INHERITED.iter().any(|prefix| upper.starts_with(prefix));
            (!dropped).then(|| value.to_owned())
        }
    }
}

/// The value that a variable of the call has for a shell wrapper on a node: a wrapper hides the program, so only what
/// concerns the look of the output passes.
pub fn set_for_wrapper(name: &str, value: &str) -> Option<String> {
    let value = set_by_call(name, value, PathRule::Refused).ok()?;
    let upper = name.to_ascii_uppercase();
    let pager = matches!(upper.as_str(), "PAGER" | "GIT_PAGER");
    (pager || listed(PRESENTATION, &upper) || upper.starts_with("LC_")).then_some(value)
}

/// Names that no call may set on a host, for tests of whoever asks [`set_by_call`].
#[cfg(test)]
pub(crate) fn refused_names() -> impl Iterator<Item = &'static str> {
    let pagers = ["PAGER", "GIT_PAGER"];
    [LOADERS, PLACES, TOOLS].into_iter().flatten().copied().filter(move |name| !pagers.contains(name))
}

fn refusal(upper: &str) -> Option<Refusal> {
    if [LOADERS, PLACES, TOOLS].iter().any(|list| listed(list, upper)) {
        return Some(Refusal::Listed);
    }
    if let Some(prefix) = PREFIXES.iter().find(|prefix| upper.starts_with(*prefix)) {
        return Some(Refusal::Prefix(prefix));
    }
    // CARGO_TARGET_<triple>_LINKER and its like name programs; CARGO_TARGET_DIR does not.
    if upper.starts_with("CARGO_TARGET_") && (upper.ends_with("_LINKER") || upper.ends_with("_RUNNER")) {
        return Some(Refusal::Prefix("CARGO_TARGET_"));
    }
    if upper.starts_with("CREEL_") || (upper.starts_with("OPENCLAW_") && upper != "OPENCLAW_SUBAGENT_EXEC") {
        return Some(Refusal::Own);
    }
    if listed(MORE, upper) {
        return Some(Refusal::More);
    }
    let family = FAMILIES.iter().find(|(family, _)| upper.starts_with(*family));
    if let Some((family, harmless)) = family
        && !listed(harmless, upper)
    {
        return Some(Refusal::Family(family));
    }
    ENDINGS.iter().find(|ending| upper.ends_with(*ending)).map(|ending| Refusal::Ending(ending))
}

/// Letters, digits and underscores; upstream takes brackets after the first letter for Windows' sake, and creel runs
/// on no Windows.
fn portable(name: &str) -> bool {
    crate::config::env::bad_name(name).is_none()
}

fn listed(list: &[&str], upper: &str) -> bool {
    list.binary_search(&upper).is_ok()
}

/// The members that fetch over protocols which start no program of the repository's choice.
fn safe_protocols(value: &str) -> String {
    let safe = |one: &&str| matches!(*one, "git" | "http" | "https" | "ssh");
    value.split(':').filter(safe).collect::<Vec<_>>().join(":")
}

fn permissive(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    matches!(value.as_str(), "true" | "yes" | "on") || value.parse::<i64>().is_ok_and(|number| number != 0)
}

#[cfg(test)]
mod tests {
    use super::names::{ENDINGS, FAMILIES, LOADERS, MORE, MORE_INHERITED, PLACES, PRESENTATION, TOOLS};
    use super::*;

    #[test]
    fn lists_are_sorted_and_as_long_as_the_specification_says() {
        assert_eq!([LOADERS.len(), PLACES.len(), TOOLS.len()], [110, 42, 99]);
        let harmless = FAMILIES.iter().map(|(_, list)| *list);
        for list in
            [LOADERS, PLACES, TOOLS, PRESENTATION, ENDINGS, MORE, MORE_INHERITED].into_iter().chain(harmless)
        {
            assert!(list.is_sorted(), "{list:?}");
        }
    }

    #[test]
    fn calls() {
        let set = |name, value| set_by_call(name, value, PathRule::Refused);
        for name in ["A094 ", "LD_PRELOAD ", "A=B", "a-b", "", "1A", "A(x86)", "\u{e9}"] {
            assert_eq!(set(name, "v"), Err(Refusal::Name), "{name}");
        }
        for name in
            ["ld_preload", "DYLD_X", "BASH_FUNC_git", "GIT_CONFIG_COUNT", "npm_config_registry", "TF_VAR_x"]
        {
            assert!(matches!(set(name, "v"), Err(Refusal::Prefix(_))), "{name}");
        }
        for name in ["BASH_ENV", "Ps4", "SHELLOPTS", "KUBECONFIG", "HOME", "GH_TOKEN"] {
            assert_eq!(set(name, "v"), Err(Refusal::Listed), "{name}");
        }
        for name in ["GIT_TRACE", "PYTHONWARNINGS", "NODE_DEBUG", "RUSTC_BOOTSTRAP", "PERL_UNICODE"] {
            assert!(matches!(set(name, "v"), Err(Refusal::Family(_))), "{name}");
        }
        for name in [
            "MAKEFILES",
            "gtk_modules",
            "TAR_OPTIONS",
            "GNUMAKEFLAGS",
            "LESS",
            "GOTOOLCHAIN",
            "PYTEST_ADDOPTS",
        ] {
            assert_eq!(set(name, "v"), Err(Refusal::More), "{name}");
        }
        for name in ["MOCHA_OPTS", "CMAKE_C_COMPILER_LAUNCHER", "my_editor", "FTP_PROXY"] {
            assert!(matches!(set(name, "v"), Err(Refusal::Ending(_))), "{name}");
        }
        for name in ["OPENCLAW_STATE_DIR", "CREEL_CONFIG", "OPENCLAW_CLI"] {
            assert_eq!(set(name, "v"), Err(Refusal::Own), "{name}");
        }
        for name in
            ["FOO", "TMPDIR", "CI", "RUST_LOG", "NODE_ENV", "GIT_AUTHOR_NAME", "PYTHONUNBUFFERED", "LC_ALL"]
        {
            assert_eq!(set(name, "$HOME"), Ok("$HOME".to_owned()), "{name}");
        }
        assert_eq!(set("CARGO_TARGET_X86_64_RUNNER", "v"), Err(Refusal::Prefix("CARGO_TARGET_")));
        assert_eq!(set("CARGO_TARGET_DIR", "v"), Ok("v".to_owned()));
        assert_eq!((set("PATH", "/x"), set("Path", "/x")), (Err(Refusal::Path), Err(Refusal::Path)));
        assert_eq!((set("pager", "cat"), set("PAGER", "less")), (Ok(String::new()), Err(Refusal::Pager)));
        assert_eq!(set("A", "a\0b"), Err(Refusal::Nul));
    }

    #[test]
    fn the_gateways_own() {
        assert_eq!(inherited("OPENAI_API_KEY", "v").as_deref(), Some("v"));
        assert_eq!(inherited("HOME", "/root").as_deref(), Some("/root"));
        for name in ["BASH_FUNC_x%%", "GNUMAKEFLAGS", "COMPILER_PATH", "PYENV_HOOK_PATH", "RSYNC_RSH"] {
            assert_eq!(inherited(name, "v"), None, "{name}");
        }
        assert!(MORE_INHERITED.iter().all(|name| listed(MORE, name)));
        assert_eq!(inherited("GOROOT", "/usr/lib/go").as_deref(), Some("/usr/lib/go"));
        assert_eq!(inherited("GIT_ALLOW_PROTOCOL", "ext:https:file:ssh").as_deref(), Some("https:ssh"));
        for (value, wanted) in [("1", "0"), ("On", "0"), ("-2", "0"), ("0", "0"), ("no", "no"), ("", "")] {
            assert_eq!(inherited("GIT_PROTOCOL_FROM_USER", value).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn wrappers_get_the_look_only() {
        assert_eq!(set_for_wrapper("lc_all", "C").as_deref(), Some("C"));
        assert_eq!(set_for_wrapper("GIT_PAGER", "cat").as_deref(), Some(""));
        assert!(set_for_wrapper("FOO", "v").is_none() && set_for_wrapper("PATH", "/x").is_none());
    }
}
