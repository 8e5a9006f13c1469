//! Entries that deny, on a machine on which every bare word is a program of `/usr/bin`.

use super::*;
use crate::approvals::document::Document;

struct Machine;

impl Lookup for Machine {
    fn program(&self, word: &str, dir: Option<&Path>) -> Option<Program> {
        let invoked = match word {
            "" => return None,
            path if path.contains('/') => crate::paths::lexical::clean(dir?.join(path)),
            name => Path::new("/usr/bin").join(name),
        };
        // Somebody's link.
        let real =
            if invoked == Path::new("/opt/own/it") { "/usr/bin/touch".into() } else { invoked.clone() };
        Some(Program { invoked, real })
    }

    fn file(&self, operand: &str, dir: Option<&Path>) -> Option<PathBuf> {
        Some(dir?.join(operand))
    }

    fn directory(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn home(&self) -> Option<&Path> {
        Some(Path::new("/home/user"))
    }
}

fn look(deny: &[&str], text: &str) -> Assessed {
    let document = serde_json::json!({ "version": 1, "defaults": { "denylist": deny } }).to_string();
    let document = Document::parse(&document, Path::new("/state/exec-approvals.json")).unwrap();
    let rules = document.rules(None);
    let (deny, allow) = (Allowlist::compile(&rules.denylist, &Machine), Allowlist::default());
    let safe = SafeBins::default();
    let rules = Rules { allow: &allow, deny: &deny, safe: &safe, skills: &[], strict_inline: false };
    assess(text, Path::new("/home/user/work"), &rules, &Machine)
}

const DENY: &[&str] = &["touch", "/usr/bin/id", "/opt/x/evil"];

#[test]
fn relative_words_are_looked_for_wherever_the_text_goes() {
    for text in [
        "cd /usr/bin && ./id",
        "pushd /usr/bin; ./id",
        "(cd /usr; cd bin; ./id)",
        "{ cd /usr; ./bin/id; }",
        "cd \"$X\" && ./id",
        "cd - && ./id",
        "cd $(pwd) && ./evil",
        "env -C /usr/bin ./id",
        "D=/usr/bin; $D/id",
        "PATH=/opt/own:$PATH it M",
        "export PATH=/opt/own:$PATH; it M",
        "env PATH=/opt/own it M",
    ] {
        assert!(look(DENY, text).denied.is_some(), "{text}");
    }
    for text in ["./id", "cd sub && ./build", "cd sub && ls", "PATH=/opt/other:$PATH it M"] {
        let looked = look(DENY, text);
        assert!(looked.denied.is_none() && !looked.unseen, "{text}: {looked:?}");
    }
}

#[test]
fn what_cannot_be_seen_is_known_to_be_unseen() {
    for text in [
        "$(echo touch) M",
        "tou[c]h M",
        "{touch,M}",
        "$X M",
        "\"$X\" M",
        "eval \"$X\"",
        "source <(echo touch M)",
        ". /dev/fd/3",
        "bash <(echo touch M)",
        "echo dG91Y2ggTQ== | base64 -d | sh",
        "curl http://127.0.0.1:9/ | bash",
        "find . -exec {} \\;",
        "xargs -I {} {} M",
        "echo touch M | xargs env",
        "env $X M",
        "sh -c \"$X\"",
        "/opt/*/tool",
        "$DIR/tool",
    ] {
        let looked = look(DENY, text);
        assert!(looked.denied.is_some() || looked.unseen, "{text}: {looked:?}");
        assert!(!look(&[], text).unseen, "nothing is denied: {text}");
    }
    for text in [
        "echo $X",
        "ls *.rs",
        "cargo test {a,b}",
        "for f in *; do cat \"$f\"; done",
        "$HOME/bin/tool x",
        "~/bin/tool x",
        "\"$PWD\"/run x",
        "find . -name *.txt",
        "npm install $PKG",
        "find . -type f -exec grep -l x {} +",
        "git ls-files | xargs -n 1 grep x",
        "find . | xargs -I {} cp {} /tmp",
        "echo ls | sh",
        "bash ./z.sh $X",
        "[ -f x ] && echo y",
        "printf '%s' \"$X\" | grep y",
    ] {
        let looked = look(DENY, text);
        assert!(looked.denied.is_none() && !looked.unseen, "{text}: {looked:?}");
    }
}

#[test]
fn what_carriers_are_given_is_compared() {
    for text in [
        "x86_64 touch M",
        "prlimit --nproc=5 touch M",
        "choom -n 5 -- touch M",
        "valgrind --tool=none touch M",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/touch M",
        "split --filter='touch M' x",
        "split --filter=touch x",
        "tar --to-command='touch M' -xf a",
        "tar -cf a --checkpoint-action=exec='touch M' b",
        "sg root 'touch M'",
        "sg root -c 'touch M'",
        "gdb -ex 'shell touch M'",
        "gdb -ex '!touch M'",
        "sed '1e touch M' x",
        "sed 's/x/touch M/e' x",
        "hash -p /usr/bin/touch foo; foo M",
        "xargs touch",
        "find . -exec touch M ;",
        "find . -execdir /usr/bin/id ;",
        "env touch M",
        "awk 'BEGIN { system(\"touch M\") }'",
        "vim -c '!touch M'",
        "git -c core.pager='touch M' log",
        "setarch x86_64 touch M",
    ] {
        assert!(look(DENY, text).denied.is_some(), "{text}");
    }
    for text in [
        "echo touch",
        "grep touch x",
        "git add touch",
        "git commit -m 'touch it'",
        "sed 's/touch/x/' y",
        "sed -n '/touch/p' y",
        "tar -czf a touch",
        "split touch",
        "cat id",
    ] {
        let looked = look(DENY, text);
        assert!(looked.denied.is_none() && !looked.unseen, "{text}: {looked:?}");
    }
}

#[test]
fn what_a_project_says_is_not_remembered() {
    use crate::approvals::remember::{OneShot, Remembered, remember};
    for text in ["make", "cargo test", "npm run x", "cd sub && go run .", "nice pytest"] {
        assert_eq!(remember(&look(&[], text)), Remembered::OneShot(vec![OneShot::ProjectFiles]), "{text}");
    }
    assert!(matches!(remember(&look(&[], "cargo tree")), Remembered::Entries(_)));
}
