//! Configurations of absurd size are read in time that grows with their size. With anything that grows with its square,
//! each of these takes many minutes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::home::Home;

/// Lax: a loaded machine takes a few seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// `count` members or elements, in brackets of the caller's.
fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        let _ = write!(text, "{},", one(at));
        text
    })
}

fn in_time(home: &Home, args: &[&str]) -> (String, String, i32) {
    let start = Instant::now();
    let done = home.run(args);
    assert!(start.elapsed() < PATIENCE, "creel {args:?} took {:?}", start.elapsed());
    done
}

#[test]
fn agents_by_the_ten_thousand() {
    for text in [
        format!("{{agents: {{entries: {{{}}}}}}}", many(60_000, |at| format!("a{at}: {{}}"))),
        format!("{{agents: {{list: [{}]}}}}", many(60_000, |at| format!("{{id: 'a{at}'}}"))),
    ] {
        let home = Home::new(&text);
        let (out, err, status) = in_time(&home, &["config", "validate"]);
        assert_eq!(status, 0, "{out}{err}");
        let (out, err, status) = in_time(
            &home,
            &["sandbox", "explain", "--agent", "a59999", "--json", "--engine", "unix:///nowhere"],
        );
        assert_eq!(status, 0, "{out}{err}");
    }
}

#[test]
fn problems_by_the_hundred_thousand() {
    let sandbox = |inner: &str| format!("{{agents: {{defaults: {{sandbox: {{{inner}}}}}}}}}");
    let unknown = sandbox(&many(150_000, |at| format!("nod{at}: 1")));
    let wrong = format!("{{tools: {{allow: [{}]}}}}", many(150_000, |_| "1".to_owned()));
    for text in [unknown, wrong] {
        let home = Home::new(&text);
        let (out, _, status) = in_time(&home, &["config", "validate", "--json"]);
        assert_eq!(status, 125);
        let told: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(told["problems"].as_array().unwrap().len() >= 150_000, "all are told");
    }
}

#[test]
fn mounts_have_a_bound_that_is_told() {
    let docker = |inner: &str| format!("{{agents: {{defaults: {{sandbox: {{docker: {{{inner}}}}}}}}}}}");
    let binds = |count| docker(&format!("binds: [{}]", many(count, |at| format!("'/srv/d{at}:/d{at}'"))));
    let tmpfs = docker(&format!("tmpfs: [{}]", many(100_000, |at| format!("'/t{at}'"))));
    for (text, key) in
        [(binds(100_000), "docker.binds"), (binds(257), "docker.binds"), (tmpfs, "docker.tmpfs")]
    {
        let home = Home::new(&text);
        let (_, err, status) = in_time(&home, &["config", "validate"]);
        assert!(status == 125 && err.contains(key) && err.contains("at most 256"), "{err}");
    }
    let home = Home::new(&binds(256).replace("{docker", "{mode: 'all', docker"));
    let (out, err, _) = in_time(&home, &["sandbox", "explain", "--json", "--engine", "unix:///nowhere"]);
    let told: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    assert_eq!(told["sandbox"]["workspaceMounts"].as_array().unwrap().len(), 257);
}
