//! What has to be done on this machine to have an engine. Pure, apart from looking.

use super::{DaemonError, program};

/// What matters of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// This process may install and start things.
    pub root: bool,
    /// `dockerd` is installed.
    pub dockerd: bool,
    /// `iptables`, which dockerd needs for its networks, is installed.
    pub iptables: bool,
    /// systemd manages services here.
    pub systemd: bool,
    /// Packages are installed with apt-get.
    pub apt: bool,
    /// The distribution's own name.
    pub distribution: String,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Install these packages with apt-get.
    Install(Vec<&'static str>),
    /// Start the system's docker service.
    Service,
    /// Start dockerd as a process of our own.
    Process,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Install(packages) => {
                write!(f, "apt-get install --no-install-recommends {}", packages.join(" "))
            }
            Self::Service => f.write_str("systemctl start docker"),
            Self::Process => f.write_str("dockerd, detached, until `creel engine down`"),
        }
    }
}

impl Machine {
    /// Looks at this machine.
    pub fn look() -> Self {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        Self {
            root: rustix::process::geteuid().is_root(),
            dockerd: program("dockerd").is_some(),
            iptables: program("iptables").is_some(),
            systemd: std::path::Path::new("/run/systemd/system").is_dir(),
            apt: program("apt-get").is_some(),
            distribution: distribution(&release),
        }
    }
}

/// `PRETTY_NAME` of an os-release file.
fn distribution(release: &str) -> String {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or_else(|| "this system".to_owned(), |name| name.trim_matches('"').to_owned())
}

/// The steps, in order.
///
/// # Errors
///
/// [`DaemonError::NotRoot`] and [`DaemonError::Unsupported`].
pub fn plan(machine: &Machine) -> Result<Vec<Step>, DaemonError> {
    if !machine.root {
        return Err(DaemonError::NotRoot);
    }
    let mut missing = Vec::new();
    if !machine.dockerd {
        missing.push("docker.io");
    }
    if !machine.iptables {
        missing.push("iptables");
    }
    let mut steps = Vec::new();
    if !missing.is_empty() {
        if !machine.apt {
            return Err(DaemonError::Unsupported { distribution: machine.distribution.clone() });
        }
        steps.push(Step::Install(missing));
    }
    steps.push(if machine.systemd { Step::Service } else { Step::Process });
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare() -> Machine {
        Machine {
            root: true,
            dockerd: false,
            iptables: false,
            systemd: false,
            apt: true,
            distribution: "Some Linux 1".into(),
        }
    }

    #[test]
    fn only_what_is_missing_is_installed() {
        let all = Step::Install(vec!["docker.io", "iptables"]);
        assert_eq!(plan(&bare()).unwrap(), [all, Step::Process]);
        let installed = Machine { dockerd: true, iptables: true, ..bare() };
        assert_eq!(plan(&installed).unwrap(), [Step::Process]);
        let managed = Machine { systemd: true, ..installed };
        assert_eq!(plan(&managed).unwrap(), [Step::Service]);
    }

    #[test]
    fn refusals_say_what_to_do() {
        assert!(matches!(plan(&Machine { root: false, ..bare() }), Err(DaemonError::NotRoot)));
        match plan(&Machine { apt: false, ..bare() }) {
            Err(error @ DaemonError::Unsupported { .. }) => {
                assert!(error.to_string().contains("Some Linux 1"));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn name_of_the_distribution() {
        assert_eq!(distribution("ID=x\nPRETTY_NAME=\"A B\"\n"), "A B");
        assert_eq!(distribution(""), "this system");
    }
}
