//! creel is killed two hundred times under fifty commands, in two sandboxes and beside the gateway. Every line is there once, every exit status
//! is exact, and every end is told once.

use std::path::Path;
use std::time::Duration;

use creel::Sandbox;
use creel::process::record::{Place, SessionId, View};
use creel::process::sessions::Sessions;
use creel::runner::Death;
use creel::state::random_hex;
use creel::wire::Stream;
use pretty_assertions::assert_eq;

use super::lab::{Creel, Home, LONG, Lab, begin, begin_beside, orders, spawn, spawn_beside};

/// How often it is killed.
const KILLS: u32 = 200;
/// Commands that live through all of it, or through a part.
const COMMANDS: u32 = 50;
/// Every so many of them runs beside the gateway.
const BESIDE: u32 = 6;

/// Prints numbers in batches, with a word on the other stream after each, until told to stop or enough was printed.
fn script(number: u32) -> String {
    let (batch, most) =
        (5 + number % 40, if number.is_multiple_of(5) { 200 + number * 30 } else { 1_000_000_000 });
    format!(
        "n=0; while :; do i=0; while [ $i -lt {batch} ]; do echo $n; n=$((n+1)); i=$((i+1)); done; echo e$n >&2; \
         [ -e stop ] && break; [ $n -ge {most} ] && break; sleep 1; done; echo last $n; exit {}",
        status(number)
    )
}

fn status(number: u32) -> i32 {
    i32::try_from(number * 7 % 120).unwrap() + 1
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_nothing_doubled() {
    let home = Home::new();
    let mut dice = Dice(u64::from(std::process::id()) | 1);
    for _ in 0..KILLS {
        let creel = Creel::start("chaos::worker", home.path(), "work");
        tokio::time::sleep(Duration::from_millis(dice.below(700))).await;
        creel.kill().await;
    }
    let bad = std::fs::read_to_string(home.path().join("bad")).unwrap_or_default();
    assert_eq!(bad, "", "dice {dice:?}");
    std::fs::write(home.path().join("stop"), "").unwrap();
    verify(&home.lab().await).await;
}

/// Splits mix of a counter: repeatable numbers without a crate.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) % most
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another creel, started by the test"]
async fn worker() {
    let (home, _) = orders();
    let lab = Lab::open(&home).await;
    check_short_ones(&lab.sessions, &home).await;
    let sandboxes = [lab.sandbox("a").await, lab.sandbox("b").await];
    assert_ne!(sandboxes[0].container(), sandboxes[1].container());
    let of = |number: u32| &sandboxes[usize::try_from(number % 2).unwrap()];
    for number in 0..COMMANDS {
        let call = format!("c{number}");
        let (key, text) = (format!("k{number}"), script(number));
        let sandbox = (number % BESIDE != 0).then(|| of(number));
        ensure(&lab, &home, sandbox, &call, &key, &text).await;
    }
    // Many short ones, so that kills hit beginnings and ends.
    for number in 0.. {
        let call = format!("t{}-{number}", std::process::id());
        let text = format!("echo short; exit {}", number % 100);
        ensure(&lab, &home, Some(of(number)), &call, "short", &text).await;
        if number % 4 == 3 {
            check_short_ones(&lab.sessions, &home).await;
        }
    }
}

/// The session of a call: found again, or begun.
async fn ensure(lab: &Lab, home: &Path, sandbox: Option<&Sandbox>, call: &str, key: &str, text: &str) {
    if let Some(id) = lab.sessions.by_call(call) {
        // Begun by a creel that died: whether it runs is being found out.
        while lab.sessions.view(&id).is_some_and(|view| view.end.is_none() && view.pid.is_none()) {
            lab.sessions.changed(&id, LONG).await;
        }
        // Its creel may have died before the request to start it got out: it says so, and is begun again.
        // Where its supervisor was not started either, nobody can say that it did not run.
        let unheard = |view: &View| view.written == 0 && matches!(view.begin.place, Place::Host { .. });
        let never = |view: View| match view.end.as_ref().map(|end| end.outcome.death) {
            Some(Death::NotStarted) => true,
            Some(Death::SupervisorLost) => unheard(&view),
            _ => false,
        };
        if lab.sessions.view(&id).is_some_and(never) {
            lab.sessions.clear(&id).unwrap();
            lab.sessions.events().withdraw(&format!("exec:{id}")).unwrap();
        } else if lab.sessions.background(&id).is_ok() {
            return;
        }
    }
    let mut begin = match sandbox {
        Some(sandbox) => begin(sandbox, text),
        None => begin_beside(home.join("beside").join(random_hex::<8>().unwrap()), text),
    };
    begin.call = Some(call.to_owned());
    begin.session_key = Some(key.to_owned());
    let (id, command) = lab.sessions.begin(begin.clone()).unwrap();
    let running = match sandbox {
        Some(sandbox) => spawn(sandbox, &begin, command).await,
        None => spawn_beside(home, &begin, command).await,
    };
    lab.sessions.follow(&id, running).unwrap();
    lab.sessions.background(&id).unwrap();
}

/// Looks at the short ones that have ended and lets go of them.
async fn check_short_ones(sessions: &Sessions, home: &Path) {
    for view in sessions.views().into_iter().filter(|view| view.begin.command.starts_with("echo short")) {
        // Begun by a creel that died before it started it: gone by now.
        let Ok(view) = sessions.ended(&view.id, Some(Duration::from_millis(50))).await else { continue };
        let Some(end) = &view.end else { continue };
        if end.outcome.death == Death::NotStarted {
            sessions.clear(&view.id).unwrap();
            continue;
        }
        let wanted: i32 = view.begin.command.rsplit(' ').next().unwrap().parse().unwrap();
        let text = sessions.aggregate(&view.id).unwrap().text;
        if end.outcome.code != Some(wanted) || text != "short\n" {
            let complaint = format!("{view:?} {text:?}\n");
            std::fs::write(home.join("bad"), complaint).unwrap();
        }
        sessions.clear(&view.id).unwrap();
    }
}

async fn verify(lab: &Lab) {
    for sandbox in ["a", "b"] {
        lab.sandbox(sandbox).await.exec("touch stop").await.unwrap();
    }
    for number in 0..COMMANDS {
        let id = lab.sessions.by_call(&format!("c{number}")).unwrap_or_else(|| panic!("c{number} is lost"));
        let view = lab.ended(&id).await;
        let end = view.end.clone().unwrap();
        assert_eq!((end.outcome.code, &end.lost), (Some(status(number)), &None), "{id} {view:?}");
        check_lines(&lab.sessions, &id, &view, number);
        let events = lab.sessions.events().since(0, Some(&format!("k{number}")), 10).unwrap();
        let told = usize::from(view.backgrounded);
        assert_eq!(events.len(), told, "{id}: {events:?}");
    }
}

/// Every number once, in order, on its stream; the last line tells how many.
fn check_lines(sessions: &Sessions, id: &SessionId, view: &View, number: u32) {
    let (mut out, mut err, mut next) = (Vec::new(), Vec::new(), 0);
    for piece in sessions.raw(id, 0, usize::MAX).unwrap() {
        assert_eq!(piece.seq, next, "{id}: a hole or a repetition");
        next += piece.data.len() as u64;
        if piece.stream == Stream::Stderr { &mut err } else { &mut out }.extend_from_slice(&piece.data);
    }
    assert_eq!(next, view.written);
    let out = String::from_utf8(out).unwrap();
    let mut lines: Vec<&str> = out.lines().collect();
    let last: usize = lines.pop().unwrap().strip_prefix("last ").unwrap().parse().unwrap();
    assert_eq!(lines.len(), last, "{id}");
    assert!(lines.iter().enumerate().all(|(index, line)| *line == index.to_string()), "{id}: {lines:?}");
    let batch = usize::try_from(5 + number % 40).unwrap();
    let marks: String = (1..=last / batch)
        .flat_map(|count| ["e".to_owned(), (count * batch).to_string(), "\n".to_owned()])
        .collect();
    assert_eq!(String::from_utf8(err).unwrap(), marks, "{id}");
}
