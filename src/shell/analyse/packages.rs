//! Package managers (spec `approvals.md` 5.27). They manage packages and run what a project has written down, as an entry for them
//! says; where a word names a program of a package, that runs, fetched if need be, and no entry covers it.

use super::Argument;

/// What is known of a package manager. A first word that is not listed here may be the name of a program.
struct Manager {
    names: &'static [&'static str],
    /// Commands that start nothing that their operands name but scripts of the project.
    commands: &'static [&'static str],
}

static MANAGERS: &[Manager] = &[
    Manager {
        names: &["npm"],
        commands: &[
            "access",
            "add",
            "adduser",
            "audit",
            "bugs",
            "cache",
            "ci",
            "clean-install",
            "completion",
            "config",
            "dedupe",
            "deprecate",
            "diff",
            "dist-tag",
            "docs",
            "doctor",
            "find-dupes",
            "fund",
            "get",
            "help",
            "hook",
            "i",
            "info",
            "install",
            "install-test",
            "it",
            "link",
            "ll",
            "list",
            "login",
            "logout",
            "ls",
            "org",
            "outdated",
            "owner",
            "pack",
            "ping",
            "pkg",
            "prefix",
            "profile",
            "prune",
            "publish",
            "query",
            "rebuild",
            "remove",
            "repo",
            "restart",
            "rm",
            "root",
            "run",
            "run-script",
            "sbom",
            "search",
            "set",
            "show",
            "shrinkwrap",
            "star",
            "start",
            "stop",
            "t",
            "team",
            "test",
            "token",
            "un",
            "uninstall",
            "unpublish",
            "unstar",
            "up",
            "update",
            "version",
            "view",
            "whoami",
        ],
    },
    Manager {
        names: &["pnpm"],
        commands: &[
            "add", "audit", "config", "fetch", "i", "import", "install", "licenses", "link", "list",
            "outdated", "pack", "prune", "publish", "rebuild", "remove", "root", "run", "start", "store",
            "t", "test", "unlink", "up", "update", "why",
        ],
    },
    Manager {
        names: &["yarn", "yarnpkg"],
        commands: &[
            "add", "audit", "cache", "config", "dedupe", "import", "info", "install", "link", "list",
            "login", "logout", "npm", "outdated", "pack", "publish", "remove", "unlink", "up", "upgrade",
            "version", "versions", "why",
        ],
    },
    Manager {
        names: &["bun"],
        commands: &[
            "a", "add", "audit", "build", "help", "i", "info", "install", "link", "outdated", "patch", "pm",
            "publish", "remove", "rm", "run", "test", "unlink", "update", "upgrade", "why",
        ],
    },
];
/// Programs that do nothing but run programs of packages.
const RUNNERS: &[&str] = &["npx", "pnpx", "bunx", "yarn-dlx"];
/// Options that change where things are looked for, or what runs scripts.
const ELSEWHERE: &[&str] = &[
    "--script-shell",
    "--shell",
    "--userconfig",
    "--globalconfig",
    "--prefix",
    "--node-options",
    "--package",
    "--cache",
    "--workspace",
    "--cwd",
    "--dir",
    "--use-yarnrc",
    "--config",
    "--preload",
    "--require",
    "-C",
    "-p",
    "-w",
    "-c",
];
/// First words that ask for something about the program itself, or are code that is looked for elsewhere (§8).
const ALONE: &[&str] = &["--version", "-v", "--help", "-h", "-e", "--eval", "--print"];

/// Whether a package manager starts a program that its arguments name.
pub(super) fn starts(name: &str, words: &[Argument]) -> bool {
    if RUNNERS.contains(&name) {
        return true;
    }
    let Some(manager) = MANAGERS.iter().find(|manager| manager.names.contains(&name)) else { return false };
    let arguments = || words.iter().skip(1).map(|word| word.text.as_str());
    let Some(first) = arguments().next() else { return false };
    if ALONE.contains(&first) {
        return false;
    }
    let elsewhere = |word: &str| {
        let option = word.split_once('=').map_or(word, |(option, _)| option);
        ELSEWHERE.iter().any(|known| *known == option || known.len() == 2 && option.starts_with(known))
    };
    !manager.commands.contains(&first) || arguments().take_while(|word| *word != "--").any(elsewhere)
}
