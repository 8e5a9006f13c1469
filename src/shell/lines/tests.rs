use super::*;

fn lines(text: &str) -> Vec<String> {
    let mut told = Vec::new();
    let variables = HashMap::from([("HOME".to_owned(), "/home/u".to_owned())]);
    each(text, variables, &mut |line| told.push(line.argv.join(" ").replace(UNKNOWN, "?"))).unwrap();
    told
}

#[test]
fn lines_are_found_behind_others() {
    for (text, wanted) in [
        ("sudo -u x env A=1 nice -n 5 tool y", "tool y"),
        ("sh -c 'a; tool y'", "tool y"),
        ("bash -lc \"sh -c 'tool y'\"", "tool y"),
        ("sh -c '\"$0\" \"$@\"' tool y", "tool y"),
        ("bash -c '$1 y' _ tool", "tool y"),
        ("busybox sh -c 'tool y'", "tool y"),
        ("env -S 'tool y'", "tool y"),
        ("eval 'tool' y", "tool y"),
        ("npx --yes tool y", "tool y"),
        ("npm --prefix x exec -- tool y", "tool y"),
        ("xargs -0 tool y", "tool y ?"),
        ("find . -exec tool y \\;", "tool y ;"),
        ("echo 'tool y' | sh", "tool y"),
        ("bash <<'E'\ntool y\nE", "tool y"),
        ("sh <<< 'tool y'", "tool y"),
        ("X=tool; $X y", "tool y"),
        ("X='tool y'; $X", "tool y"),
        ("alias z='tool y'", "tool y"),
        ("trap 'tool y' EXIT", "tool y"),
        ("f() { tool y; }; f", "tool y"),
        ("x=$(a \"$(tool y)\")", "tool y"),
        ("su -c 'tool y' u", "tool y"),
        ("script -qc 'tool y' /dev/null", "tool y"),
        ("tool $HOME ~/x \"$Z\"", "tool /home/u /home/u/x ?"),
        ("sh -c 'tool y; ((i++))'", "tool y"),
        ("for i in tool; do $i y; done", "tool y"),
    ] {
        assert!(lines(text).iter().any(|line| line == wanted), "{text}: {:?}", lines(text));
    }
    assert_eq!(lines("((a)) ; 'tool' y |"), ["a", "tool y"]);
    assert_eq!(lines("echo tool y"), ["echo tool y"]);
    assert_eq!(lines("echo tool y | bash run.sh"), ["echo tool y", "bash run.sh"]);
}

#[test]
fn work_is_bounded() {
    let doubled = format!("X=xx; {} echo $X", "X=$X$X; ".repeat(60));
    assert_eq!(each(&doubled, HashMap::new(), &mut |_| {}), Err(TooMuch));
    let deep = format!("{}ls", "nice ".repeat(40));
    assert_eq!(each(&deep, HashMap::new(), &mut |_| {}), Err(TooMuch));
}
