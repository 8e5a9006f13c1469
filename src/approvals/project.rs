//! Programs that run what files of a project say (spec `approvals.md` 7.1, 11.10; A045): the same words run something else as
//! soon as somebody has written into those files. Pure.

/// A program, and the first words behind which it runs the project's own; empty: whatever the words are.
type Runner = (&'static [&'static str], &'static [&'static str]);

const RUNNERS: &[Runner] = &[
    (
        &["npm", "pnpm", "yarn", "yarnpkg", "bun"],
        &[
            "test",
            "t",
            "tst",
            "run",
            "run-script",
            "rum",
            "urn",
            "start",
            "stop",
            "restart",
            "exec",
            "build",
            "dev",
            "lint",
            "install",
            "i",
            "ci",
            "add",
            "install-test",
            "it",
            "install-ci-test",
            "cit",
            "rebuild",
            "pack",
            "publish",
            "prepare",
            "serve",
            "workspaces",
            "workspace",
            "recursive",
            "version",
        ],
    ),
    (&["deno"], &["task", "run", "test", "bench", "serve"]),
    (
        &[
            "make", "gmake", "bmake", "just", "tox", "nox", "rake", "task", "invoke", "inv", "fab", "grunt",
            "gulp", "ninja",
        ],
        &[],
    ),
    (
        &[
            "scons", "waf", "meson", "cmake", "ctest", "bazel", "bazelisk", "buck", "buck2", "pants",
            "earthly", "mage", "doit",
        ],
        &[],
    ),
    (
        &[
            "pytest",
            "py.test",
            "nose2",
            "jest",
            "vitest",
            "mocha",
            "ava",
            "karma",
            "cypress",
            "playwright",
            "rspec",
            "phpunit",
        ],
        &[],
    ),
    (
        &[
            "gradle", "gradlew", "mvn", "mvnw", "ant", "sbt", "mill", "lein", "stack", "cabal", "mix",
            "rebar3", "dub",
        ],
        &[],
    ),
    (
        &[
            "turbo",
            "nx",
            "lerna",
            "vite",
            "webpack",
            "rollup",
            "eslint",
            "tsx",
            "ts-node",
            "pre-commit",
            "husky",
            "lefthook",
        ],
        &[],
    ),
    (
        &["cargo"],
        &[
            "build", "b", "check", "c", "test", "t", "run", "r", "bench", "doc", "d", "install", "rustc",
            "rustdoc", "clippy", "fix", "nextest", "xtask", "package", "publish", "miri",
        ],
    ),
    (&["go"], &["run", "test", "generate", "build", "install", "vet"]),
    (&["dotnet"], &["run", "test", "build", "msbuild", "publish", "watch"]),
    (&["swift"], &["run", "test", "build"]),
    (&["zig"], &["build"]),
    (&["composer"], &["run", "run-script", "install", "update", "test", "exec"]),
    (&["bundle", "bundler"], &["exec", "install"]),
    (&["poetry", "pdm", "hatch", "pipenv", "rye", "uv"], &["run", "test", "build", "install", "sync", "env"]),
    (&["docker-compose"], &[]),
    (&["docker", "podman"], &["build", "compose", "buildx"]),
    (&["vagrant", "terraform", "tofu", "ansible-playbook"], &[]),
];

/// Whether a program with these arguments runs what files of a project say. Words in front of the first that says what is done
/// are options and their values: each of them may be it.
pub(super) fn runs(name: &str, arguments: &[String]) -> bool {
    let only_told =
        matches!(arguments, [word] if matches!(word.as_str(), "--version" | "--help" | "-V" | "-h"));
    let of = |(names, words): &&Runner| {
        names.contains(&name)
            && (words.is_empty() || arguments.iter().any(|word| words.contains(&word.as_str())))
    };
    !only_told && RUNNERS.iter().any(|runner| of(&runner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_do_what_the_project_says() {
        let is = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            runs(&words[0], &words[1..])
        };
        for text in [
            "npm test",
            "npm run build",
            "npm --prefix x start",
            "pnpm run x",
            "yarn test",
            "bun run x",
            "make",
            "make test",
            "cargo test",
            "cargo run --release",
            "go run .",
            "go test ./...",
            "pytest",
            "pytest -q",
            "gradle build",
            "mvn verify",
            "just x",
            "tox",
            "nox",
            "rake",
            "poetry run x",
            "cargo +nightly test",
        ] {
            assert!(is(text), "{text}");
        }
        for text in [
            "npm ls",
            "npm view x",
            "cargo --version",
            "make --version",
            "cargo tree",
            "go version",
            "git test",
            "ls",
        ] {
            assert!(!is(text), "{text}");
        }
    }
}
