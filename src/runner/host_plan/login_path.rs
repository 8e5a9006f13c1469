//! PATH as the user's login shell has it (spec `exec.md` §3.5): a daemon starts with less than its user works with.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;

use super::env::{self, Vars};
use super::probe::{Question, ask};

/// How long profiles may take, unless `OPENCLAW_SHELL_ENV_TIMEOUT_MS` says otherwise.
const LIMIT_MS: u64 = 15_000;
/// More waits for nobody.
const MOST_MS: u64 = 600_000;
/// Bytes of the longest PATH that is taken.
const MOST_BYTES: usize = 128 * 1024;
/// One builtin of every shell that can be a login shell, fish and csh included.
const SCRIPT: &str = r#"printf '\000%s\000%s\000%s\000' "$CREEL_PROBE_MARK" "$PATH" "$CREEL_PROBE_MARK""#;

/// The answer, asked for once in a process: also that there is none.
#[derive(Debug, Clone, Default)]
pub(super) struct LoginPath(Arc<OnceCell<Option<String>>>);

impl LoginPath {
    /// One that is never asked for.
    pub(super) fn unasked() -> Self {
        Self(Arc::new(OnceCell::new_with(Some(None))))
    }

    /// PATH of the login shell; concurrent callers wait for one probe. When the one who asks goes away, the next asks
    /// anew.
    pub(super) async fn get(&self, gateway: &Vars) -> Option<&str> {
        self.0.get_or_init(|| probe(gateway)).await.as_deref()
    }
}

async fn probe(gateway: &Vars) -> Option<String> {
    let shells = tokio::fs::read_to_string("/etc/shells").await.unwrap_or_default();
    let shell = login_shell(gateway.get("SHELL").map(String::as_str), &shells);
    let argv = [shell, "-l", "-c", SCRIPT].map(str::to_owned);
    let env = env::for_startup_files(gateway);
    let limit = limit(gateway.get("OPENCLAW_SHELL_ENV_TIMEOUT_MS").map(String::as_str));
    let answer = ask(Question { argv: &argv, env: &env, dir: None, limit, most: MOST_BYTES }).await?;
    let path = String::from_utf8(answer).ok().filter(|path| !path.is_empty());
    tracing::debug!(shell, found = path.is_some(), "login PATH");
    path
}

/// The shell to ask: `SHELL` only where the system's list knows it, so that a stray variable starts nothing.
fn login_shell<'a>(shell: Option<&'a str>, listed: &str) -> &'a str {
    let known = |shell: &&str| {
        shell.starts_with('/')
            && listed.lines().map(str::trim).any(|line| !line.starts_with('#') && line == *shell)
    };
    shell.map(str::trim).filter(known).unwrap_or("/bin/sh")
}

fn limit(configured: Option<&str>) -> Duration {
    let millis = configured.and_then(|text| text.trim().parse().ok()).filter(|millis| *millis > 0);
    Duration::from_millis(millis.unwrap_or(LIMIT_MS).min(MOST_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_shells_are_asked() {
        let listed = "# /bin/evil\n/bin/sh\n /bin/bash \n";
        for (shell, wanted) in [
            (Some("/bin/bash"), "/bin/bash"),
            (Some("/bin/evil"), "/bin/sh"),
            (Some("# /bin/evil"), "/bin/sh"),
            (Some("bash"), "/bin/sh"),
            (Some(""), "/bin/sh"),
            (None, "/bin/sh"),
        ] {
            assert_eq!(login_shell(shell, listed), wanted, "{shell:?}");
        }
    }

    #[test]
    fn limits() {
        for (text, wanted) in [
            (None, LIMIT_MS),
            (Some("250"), 250),
            (Some("0"), LIMIT_MS),
            (Some("-1"), LIMIT_MS),
            (Some("1s"), LIMIT_MS),
            (Some("99999999999"), MOST_MS),
        ] {
            assert_eq!(limit(text), Duration::from_millis(wanted), "{text:?}");
        }
    }

    fn home(profile: &str) -> (tempfile::TempDir, Vars) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".profile"), profile).unwrap();
        let vars = [
            ("HOME", dir.path().to_str().unwrap()),
            ("SHELL", "/bin/bash"),
            ("PATH", "/usr/bin:/bin"),
            ("BASH_ENV", "/nonexistent"),
        ];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        (dir, vars)
    }

    #[tokio::test]
    async fn a_profile_is_read_once_for_all() {
        let (dir, vars) =
            home("echo noise; echo x >>\"$HOME/count\"; PATH=/from/profile:$PATH; sleep 100 & exec 2>&1");
        let known = LoginPath::default();
        let again = known.clone();
        let (one, two) = tokio::join!(known.get(&vars), again.get(&vars));
        assert!(one.unwrap().starts_with("/from/profile:"), "{one:?}");
        assert_eq!((one, known.get(&vars).await), (two, one));
        assert_eq!(std::fs::read_to_string(dir.path().join("count")).unwrap(), "x\n");
    }

    #[tokio::test]
    async fn profiles_that_do_not_answer() {
        for (profile, limit) in [
            ("exit 3", "15000"),
            ("exec >/dev/null", "15000"),
            ("PATH=$(printf '\\377')", "15000"),
            ("sleep 1000", "300"),
        ] {
            let (_dir, mut vars) = home(profile);
            vars.insert("OPENCLAW_SHELL_ENV_TIMEOUT_MS".to_owned(), limit.to_owned());
            assert_eq!(LoginPath::default().get(&vars).await, None, "{profile}");
        }
    }
}
