//! What is bound, and what never is.

use std::os::unix::fs::symlink;

use pretty_assertions::assert_eq;

use super::*;
use crate::error::Diagnose as _;

fn refused(lab: &Lab, text: &str) -> String {
    match lab.bind(text, &[]) {
        Ok(binding) => format!("bound {:?}", binding.covers()),
        Err(error) => error.to_string(),
    }
}

/// Spec 11.4, 11.05, 11.07, A162, A163: an approval would claim what nobody knows.
#[test]
fn forms_that_no_approval_binds() {
    let lab = Lab::new();
    for name in ["python3", "node", "ruby", "perl", "php", "bun", "deno", "tsx", "bash", "sh"] {
        lab.write(&format!("bin/{name}"), "");
    }
    for name in ["work/a.sh", "work/a.py", "work/a.js", "work/a.ts"] {
        lab.write(name, "");
    }
    let prefix = "SYSTEM_RUN_DENIED: approval ";
    for (text, ending) in [
        ("python3 -m pkg", "cannot safely bind this interpreter/runtime command"),
        ("node -r ./x a.js", "cannot safely bind this interpreter/runtime command"),
        ("ruby -I lib a.rb", "cannot safely bind this interpreter/runtime command"),
        ("perl -Mx a.pl", "cannot safely bind this interpreter/runtime command"),
        ("php -d x=y a.php", "cannot safely bind runtime code-loading or cwd options"),
        ("deno run --config x a.ts", "cannot safely bind runtime code-loading or cwd options"),
        ("bash --rcfile x a.sh", "cannot safely bind shell startup files"),
        ("bash -i", "cannot safely bind shell startup files"),
        ("env -C /tmp ls", "cannot safely bind dispatch cwd options"),
        ("env --chdir=/tmp ls", "cannot safely bind dispatch cwd options"),
        (". a.sh", "cannot safely bind shell source operands"),
        ("source ./none", "cannot safely bind shell source operands"),
        ("python3 *.py", "cannot safely bind this interpreter/runtime command"),
        ("python3", "cannot safely bind this interpreter/runtime command"),
        ("echo ls | sh", "cannot safely bind this interpreter/runtime command"),
        ("python3 none.py", "requires an existing script operand, and \"none.py\" is none"),
        ("sh none.sh", "requires an existing script operand, and \"none.sh\" is none"),
        ("nosuchprogram x", "requires a resolved executable, and \"nosuchprogram\" is not found"),
    ] {
        assert_eq!(refused(&lab, text), format!("{prefix}{ending}"), "{text}");
    }
    for text in ["sh a.sh", "python3 a.py", "node a.js", "tsx a.ts", "sh -c ls", "python3 -c 1", "ls -la"] {
        assert!(refused(&lab, text).starts_with("bound "), "{text}: {}", refused(&lab, text));
    }
    let error = lab.bind("python3 -m pkg", &[]).unwrap_err().report();
    assert_eq!(error.code, "CRL-PIN-006");
    assert!(error.message.ends_with(": python3 -m pkg") && error.fix.contains("exactly one"), "{error:?}");
}

/// Spec 7.08, 15.24; 11.4 "`BASH_ENV`, `ENV` in effect"; A078.
#[test]
fn assignments_and_startup_variables() {
    let lab = Lab::new();
    let blocked = refused(&lab, "env LD_PRELOAD=x.so A=1 PATH=/x ls");
    assert_eq!(
        blocked,
        "SYSTEM_RUN_DENIED: command env assignment rejected (blocked env assignment keys: LD_PRELOAD, PATH)"
    );
    assert!(refused(&lab, "env -u B NODE_OPTIONS=x ls").contains("NODE_OPTIONS"));
    assert!(refused(&lab, "env A=1 ls").starts_with("bound "));
    assert!(refused(&lab, "ls LD_PRELOAD=x").starts_with("bound "), "an argument of the program's own");
    for name in ["BASH_ENV", "ENV"] {
        let error = lab.bind("ls", &[(name, "./x")]).unwrap_err();
        assert!(error.to_string().ends_with("shell startup environment"), "{error}");
    }
}

/// Seed-000: a text that cannot be read is no dead end; what is bound of it is said.
#[test]
fn a_text_that_cannot_be_read_is_bound_as_it_stands() {
    let lab = Lab::new();
    for text in ["ls > out.txt", "for x in a b; do ls; done", "echo \"$HOME\"", "export A=1; ls"] {
        let binding = lab.bind(text, &[]).unwrap();
        assert_eq!(binding.covers(), Covers::TextOnly, "{text}");
        assert_eq!(binding.command(), &Command::Shell(text.to_owned()));
        assert_eq!(binding.seal(&[Entry::of("/bin/ls")]), None, "for one run");
        assert_eq!(binding.verify(&lab.disk), Ok(()));
        assert_ne!(binding.digest(), lab.bind(&format!("{text} "), &[]).unwrap().digest());
    }
    assert_eq!(lab.bind("ls; ls -la", &[]).unwrap().covers(), Covers::Programs);
    assert_eq!(lab.bind("ls -la", &[]).unwrap().covers(), Covers::Command);
    // `表` ends in a backslash in Shift-JIS.
    for (name, value) in [("LC_ALL", "ja_JP.SJIS"), ("LANG", "zh_CN.GBK"), ("LC_CTYPE", "zh_TW")] {
        let error = lab.bind("echo '表\\' x", &[(name, value)]).unwrap_err();
        assert!(error.to_string().contains("another character set"), "{error}");
    }
    assert!(lab.bind("ls -la", &[("LC_ALL", "C.UTF-8")]).is_ok());
}

/// One question for one thing: every element has a say in the digest (11.16, 11.18).
#[test]
fn the_digest_binds_every_element() {
    let lab = Lab::new();
    lab.write("work/a.sh", "echo one");
    let sum = |text: &str, env: &[(&str, &str)]| lab.bind(text, env).unwrap().digest().to_owned();
    let base = sum("sh a.sh", &[("A", "1"), ("B", "2")]);
    assert_eq!(base, sum("sh a.sh", &[("B", "2"), ("A", "1")]), "order does not count");
    assert_ne!(base, sum("sh a.sh", &[("A", "1"), ("B", "3")]));
    assert_ne!(base, sum("sh a.sh", &[("A", "1")]));
    assert_ne!(base, sum("sh a.sh x", &[("A", "1"), ("B", "2")]));
    let binding = lab.bind("sh a.sh", &[]).unwrap();
    let mine = binding.question(Target::Gateway, "main", "agent:main:main");
    assert_eq!(mine, binding.question(Target::Gateway, "main", "agent:main:main"));
    assert_ne!(mine, binding.question(Target::Gateway, "other", "agent:main:main"));
    assert_ne!(mine, binding.question(Target::Gateway, "main", "agent:main:x"));
    assert_ne!(mine, binding.question(Target::Node, "main", "agent:main:main"));
    lab.write("work/a.sh", "echo two");
    assert_ne!(base, sum("sh a.sh", &[("A", "1"), ("B", "2")]));
}

/// Spec 9.03, 11.10 and the extension: what can be changed here is approved for good with its content.
#[test]
fn for_good_only_with_the_content() {
    let lab = Lab::new();
    let tool = lab.copy("/bin/true", "bin/tool");
    lab.write("work/a.py", "pass");
    let python = lab.write("bin/python3", "");
    let binding = lab.bind("tool x", &[]).unwrap();
    assert!(binding.mutable());
    let entry = Entry::of(tool.to_str().unwrap());
    let sealed = binding.seal(std::slice::from_ref(&entry)).unwrap();
    assert_eq!(sealed[0].content_sha256, content_digest(&tool));
    assert!(sealed[0].content_sha256.is_some());
    assert_eq!(binding.seal(&[Entry::of("/usr/bin/other")]), None);
    assert_eq!(binding.seal(&[]), None);
    // A script that an entry does not name may be another one tomorrow (11.10, A163).
    let script = lab.bind("python3 a.py", &[]).unwrap();
    assert_eq!(script.seal(&[Entry::of(python.to_str().unwrap())]), None);
    let described = binding.describe();
    assert_eq!(described.files.len(), 1);
    assert!(described.mutable && described.files[0].mutable, "{described:?}");
    assert_eq!(described.files[0].sha256, sealed[0].content_sha256);
    let json = serde_json::to_value(&described).unwrap();
    assert_eq!(json["covers"], "command");
    assert_eq!(json["files"][0]["role"], "program");
}

/// A162, A163: an unknown program with a script in front, and more than one script, are for one run.
#[test]
fn what_may_run_more_is_for_one_run() {
    let lab = Lab::new();
    let runner = lab.copy("/bin/true", "bin/newrunner");
    let node = lab.copy("/bin/true", "bin/node");
    let a = lab.write("work/a.ts", "1");
    lab.write("work/b.js", "1");
    let every = |paths: &[&PathBuf]| -> Vec<Entry> {
        paths.iter().map(|path| Entry::of(path.to_str().unwrap())).collect()
    };
    let binding = lab.bind("newrunner a.ts", &[]).unwrap();
    assert_eq!(binding.seal(&every(&[&runner, &a])), None);
    assert_eq!(binding.describe().files.len(), 2, "bound all the same");
    let two = lab.bind("node a.ts b.js", &[]).unwrap();
    assert_eq!(two.seal(&every(&[&node, &a])), None);
    assert_eq!(two.describe().files.len(), 3);
    lab.copy("/bin/true", "bin/cat");
    assert_eq!(lab.bind("cat a.ts", &[]).unwrap().describe().files.len(), 1, "a reader reads");
}

/// A158: a name is its bytes; A165: a local file of a shell's name is that file.
#[test]
fn names_are_taken_as_they_are() {
    let lab = Lab::new();
    let spaced = lab.copy("/bin/true", "work/ls ");
    let binding = lab.bind("'./ls '", &[]).unwrap();
    assert_eq!(binding.command(), &Command::Argv(vec![spaced.to_str().unwrap().to_owned()]));
    lab.write("work/a.sh", "");
    let local = lab.copy("/bin/true", "work/sh");
    let binding = lab.bind("./sh a.sh", &[]).unwrap();
    let files = binding.describe().files;
    assert!(files.iter().any(|file| file.path == local.to_str().unwrap()), "{files:?}");
    // A link may call an interpreter anything.
    symlink("/bin/true", lab.at("bin/x")).unwrap();
    lab.write("bin/python3.11", "");
    symlink("python3.11", lab.at("bin/py")).unwrap();
    assert!(refused(&lab, "py -m pkg").ends_with("this interpreter/runtime command"));
}

/// The entry that was sealed covers that content, and nothing without a look at it.
#[test]
fn an_entry_that_pins_content_covers_that_content() {
    use crate::approvals::allowlist::{Allowlist, Subject};
    let lab = Lab::new();
    let tool = lab.copy("/bin/true", "bin/tool");
    let digest = content_digest(&tool).unwrap();
    let entry = |content: &str| Entry {
        content_sha256: Some(content.to_owned()),
        ..Entry::of(tool.to_str().unwrap())
    };
    let program = lab.disk.program("tool", None).unwrap();
    let subject = Subject { word: "tool", program: Some(&program), arguments: &[], dir: None, shell: false };
    let find = |entries: &[&Entry]| {
        Allowlist::compile(entries, &lab.disk).find_by(&subject, &|file| content_digest(file))
    };
    let (good, loud) = (entry(&digest), entry(&format!(" {} ", digest.to_uppercase())));
    let (other, blank, any) = (entry(&"0".repeat(64)), entry(""), Entry::of("tool"));
    assert_eq!(find(&[&good]), Some(0));
    assert_eq!(find(&[&loud]), Some(0));
    assert_eq!((find(&[&other]), find(&[&blank])), (None, None));
    assert_eq!(find(&[&other, &good, &any]), Some(1), "another entry may cover it");
    assert_eq!(find(&[&other, &any]), Some(1));
    assert_eq!(Allowlist::compile(&[&good], &lab.disk).find(&subject), None, "nobody looked");
    std::fs::write(&tool, "another").unwrap();
    assert_eq!(find(&[&good]), None);
}
