//! Installs packages with apt-get.

use super::{DaemonError, last_lines};
use crate::host_tool::host_tool;

/// Installs these packages. The package lists are fetched only where the installation needs it: that takes long, and
/// fails on machines whose lists are provisioned.
pub(super) async fn install(packages: &[&str], say: &mut impl FnMut(&str)) -> Result<(), DaemonError> {
    let mut arguments =
        vec!["install", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"];
    arguments.extend(packages);
    say(&format!("installing {}", packages.join(" ")));
    match run("apt-get", &arguments).await {
        Err(DaemonError::Tool { output, .. }) if needs_update(&output) => {
            say("fetching package lists");
            run("apt-get", &["update", "-q"]).await?;
            run("apt-get", &arguments).await
        }
        other => other,
    }
}

/// The lists are absent or name files that the mirror no longer has.
fn needs_update(output: &str) -> bool {
    [
        "Unable to locate package",
        "has no installation candidate",
        "404  Not Found",
        "Unable to fetch some archives",
    ]
    .iter()
    .any(|text| output.contains(text))
}

/// Runs a program of the host to its end.
pub(super) async fn run(program: &str, arguments: &[&str]) -> Result<(), DaemonError> {
    let command = format!("{program} {}", arguments.join(" "));
    let result = host_tool(program).args(arguments).output().await;
    let output = result.map_err(DaemonError::io(command.clone()))?;
    if output.status.success() {
        return Ok(());
    }
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(DaemonError::Tool { command, output: last_lines(&text, 15) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_lists_are_fetched() {
        assert!(needs_update("E: Unable to locate package docker.io"));
        assert!(!needs_update("E: Could not get lock /var/lib/dpkg/lock"));
    }

    #[tokio::test]
    async fn a_failing_tool_is_quoted() {
        let error = run("sh", &["-c", "echo why >&2; exit 3"]).await.unwrap_err();
        assert!(error.to_string().contains("why"), "{error}");
    }
}
