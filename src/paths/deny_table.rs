//! The denied host paths, as data. Order matters: the first entry that hits is the one that is named.

use super::deny::{DenyGroup, DenyGroup as G};

/// How far an entry reaches. Every entry also refuses its own ancestors, which would bring it along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reach {
    /// The path and everything below it.
    Tree,
    /// The path alone; what lies below is judged by the other rules.
    Itself,
}

/// Spec `sandbox.md` §6.4, upstream's list.
pub(super) const UPSTREAM_SYSTEM: &[&str] = &[
    "/etc",
    "/private/etc",
    "/proc",
    "/sys",
    "/dev",
    "/root",
    "/boot",
    "/run",
    "/var/run",
    "/private/var/run",
    "/var/run/docker.sock",
    "/private/var/run/docker.sock",
    "/run/docker.sock",
];

/// The same section, below every home.
pub(super) const UPSTREAM_HOME: &[&str] =
    &[".aws", ".cargo", ".config", ".docker", ".gnupg", ".netrc", ".npm", ".ssh"];

/// creel's own additions outside homes.
pub(super) const SYSTEM: &[(&str, Reach, DenyGroup)] = &[
    ("/var/lib/docker", Reach::Tree, G::EngineStorage),
    ("/var/lib/containerd", Reach::Tree, G::EngineStorage),
    ("/var/lib/containers", Reach::Tree, G::EngineStorage),
    ("/var/lib/cri-dockerd", Reach::Tree, G::EngineStorage),
    ("/var/lib/crio", Reach::Tree, G::EngineStorage),
    ("/var/lib/kubelet", Reach::Tree, G::EngineStorage),
    ("/var/lib/rancher", Reach::Tree, G::EngineStorage),
    ("/var/lib/lxc", Reach::Tree, G::EngineStorage),
    ("/var/lib/lxd", Reach::Tree, G::EngineStorage),
    ("/var/lib/incus", Reach::Tree, G::EngineStorage),
    ("/var/lib/machines", Reach::Tree, G::EngineStorage),
    ("/var/lib/libvirt", Reach::Tree, G::EngineStorage),
    ("/var/snap/docker", Reach::Tree, G::EngineStorage),
    ("/usr", Reach::Itself, G::HostPrograms),
    ("/usr/bin", Reach::Tree, G::HostPrograms),
    ("/usr/sbin", Reach::Tree, G::HostPrograms),
    ("/usr/lib", Reach::Tree, G::HostPrograms),
    ("/usr/lib32", Reach::Tree, G::HostPrograms),
    ("/usr/lib64", Reach::Tree, G::HostPrograms),
    ("/usr/libexec", Reach::Tree, G::HostPrograms),
    ("/usr/local/bin", Reach::Tree, G::HostPrograms),
    ("/usr/local/sbin", Reach::Tree, G::HostPrograms),
    ("/bin", Reach::Tree, G::HostPrograms),
    ("/sbin", Reach::Tree, G::HostPrograms),
    ("/lib", Reach::Tree, G::HostPrograms),
    ("/lib32", Reach::Tree, G::HostPrograms),
    ("/lib64", Reach::Tree, G::HostPrograms),
    ("/opt/containerd", Reach::Tree, G::HostPrograms),
    ("/opt/cni", Reach::Tree, G::HostPrograms),
    ("/var/spool/cron", Reach::Tree, G::HostPrograms),
    ("/var/lib/systemd", Reach::Tree, G::HostPrograms),
    ("/home", Reach::Itself, G::Homes),
    ("/Users", Reach::Itself, G::Homes),
    ("/export/home", Reach::Itself, G::Homes),
];

/// creel's own additions below every home.
pub(super) const HOME: &[(&str, DenyGroup)] = &[
    // Cloud, cluster and deployment tools.
    (".azure", G::HomeCredentials),
    (".kube", G::HomeCredentials),
    (".minikube", G::HomeCredentials),
    (".oci", G::HomeCredentials),
    (".aliyun", G::HomeCredentials),
    (".bluemix", G::HomeCredentials),
    (".boto", G::HomeCredentials),
    (".s3cfg", G::HomeCredentials),
    (".databrickscfg", G::HomeCredentials),
    (".snowflake", G::HomeCredentials),
    (".snowsql", G::HomeCredentials),
    (".fly", G::HomeCredentials),
    (".pulumi", G::HomeCredentials),
    (".terraform.d", G::HomeCredentials),
    (".terraformrc", G::HomeCredentials),
    (".vault-token", G::HomeCredentials),
    (".ansible", G::HomeCredentials),
    // Package registries and version control.
    (".npmrc", G::HomeCredentials),
    (".yarnrc", G::HomeCredentials),
    (".yarnrc.yml", G::HomeCredentials),
    (".bunfig.toml", G::HomeCredentials),
    (".pypirc", G::HomeCredentials),
    (".pip", G::HomeCredentials),
    (".gem", G::HomeCredentials),
    (".m2", G::HomeCredentials),
    (".gradle", G::HomeCredentials),
    (".nuget", G::HomeCredentials),
    (".composer", G::HomeCredentials),
    (".git-credentials", G::HomeCredentials),
    (".gitconfig", G::HomeCredentials),
    (".hgrc", G::HomeCredentials),
    (".subversion", G::HomeCredentials),
    // Data bases and mail.
    (".pgpass", G::HomeCredentials),
    (".my.cnf", G::HomeCredentials),
    (".mylogin.cnf", G::HomeCredentials),
    (".msmtprc", G::HomeCredentials),
    (".thunderbird", G::HomeCredentials),
    // Models and agents.
    (".cache/huggingface", G::HomeCredentials),
    (".huggingface", G::HomeCredentials),
    (".kaggle", G::HomeCredentials),
    (".claude", G::HomeCredentials),
    (".claude.json", G::HomeCredentials),
    (".codex", G::HomeCredentials),
    (".gemini", G::HomeCredentials),
    (".cursor", G::HomeCredentials),
    (".ollama", G::HomeCredentials),
    // Browsers, key rings and wallets.
    (".mozilla", G::HomeCredentials),
    (".password-store", G::HomeCredentials),
    (".local/share/keyrings", G::HomeCredentials),
    (".local/share/kwalletd", G::HomeCredentials),
    (".local/share/gnupg", G::HomeCredentials),
    (".gnome2/keyrings", G::HomeCredentials),
    (".kde/share/apps/kwallet", G::HomeCredentials),
    (".pki", G::HomeCredentials),
    (".electrum", G::HomeCredentials),
    (".bitcoin", G::HomeCredentials),
    (".ethereum", G::HomeCredentials),
    ("Library/Keychains", G::HomeCredentials),
    ("Library/Application Support", G::HomeCredentials),
    // Engines that live in a home.
    (".local/share/docker", G::EngineStorage),
    (".local/share/containers", G::EngineStorage),
    (".colima", G::EngineStorage),
    (".lima", G::EngineStorage),
    (".rd", G::EngineStorage),
    (".orbstack", G::EngineStorage),
    // What a shell runs at its start, and what was typed into it.
    (".bashrc", G::HomeStartup),
    (".bash_profile", G::HomeStartup),
    (".bash_login", G::HomeStartup),
    (".bash_logout", G::HomeStartup),
    (".bash_aliases", G::HomeStartup),
    (".profile", G::HomeStartup),
    (".zshrc", G::HomeStartup),
    (".zshenv", G::HomeStartup),
    (".zprofile", G::HomeStartup),
    (".zlogin", G::HomeStartup),
    (".xprofile", G::HomeStartup),
    (".xinitrc", G::HomeStartup),
    (".pam_environment", G::HomeStartup),
    (".bash_history", G::HomeStartup),
    (".zsh_history", G::HomeStartup),
    (".local/bin", G::HomeStartup),
    (".local/share/applications", G::HomeStartup),
    (".local/share/systemd", G::HomeStartup),
    // The agent host's own state, under its present and former names.
    (".openclaw", G::State),
    (".clawdbot", G::State),
    (".moltbot", G::State),
];

/// Parts of the state directory that no allowed root opens.
pub(super) const STATE_ALWAYS: &[&str] =
    &["creel", "credentials", "agents", "identity", "state", "openclaw.json", "exec-approvals.json", ".env"];

/// Variables that name a home.
pub(super) const HOME_VARS: &[&str] = &["OPENCLAW_HOME", "HOME", "USERPROFILE"];

/// Variables that name a file or directory with credentials, or a socket.
pub(super) const SECRET_VARS: &[&str] = &[
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AZURE_CONFIG_DIR",
    "CARGO_HOME",
    "CLOUDSDK_CONFIG",
    "DOCKER_CONFIG",
    "DOCKER_CERT_PATH",
    "GH_CONFIG_DIR",
    "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "PASSWORD_STORE_DIR",
    "PGPASSFILE",
    "SSH_AUTH_SOCK",
];

/// Variables that name an engine's socket.
pub(super) const ENGINE_VARS: &[&str] = &["DOCKER_HOST", "CONTAINER_HOST"];
