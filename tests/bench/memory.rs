//! `init-rss`: what creel-init keeps in memory, by the host kernel's account.

use std::time::Duration;

use creel::Sandbox;
use creel::approvals::Command;
use creel::image::Recipe;
use creel::runner::{Progress, Running};

use crate::Fallible;
use crate::control::Spawner;
use crate::ground::Ground;
use crate::row::Row;
use crate::stats::{Series, number};

/// Commands that are alive at a time.
const LIVE: u32 = 100;

/// Sums over processes, in KiB.
#[derive(Debug, Clone, Copy, Default)]
struct Memory {
    /// Anonymous memory, each shared page counted in every process that has it.
    anonymous: u64,
    /// Anonymous memory, each shared page counted once.
    anonymous_once: u64,
    /// All resident memory, each shared page counted once.
    resident_once: u64,
}

/// All parts of the row.
pub(crate) async fn rows(ground: &Ground) -> Fallible<Vec<Row>> {
    let image = ground.image(Recipe::Minimal).await?;
    let sandbox = ground.options(&image).open().await?;
    let pid1 = sandbox.ready().pid1;
    // Idle is after work, not before it.
    for _ in 0..20 {
        sandbox.exec("true").await?;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let idle = family(pid1)?;
    let each: Vec<String> = idle.iter().map(|(pid, memory)| describe(*pid == pid1, *memory)).collect();
    eprintln!("idle creel-init: {}", each.join("; "));
    let before = sum(&idle);
    let floor = floor(&sandbox, pid1).await?;
    let busy = live(&sandbox, pid1).await?;
    let supervisors = busy.iter().filter(|(pid, _)| *pid != pid1);
    let (least, most) = supervisors.fold((u64::MAX, 0), |(least, most), (_, memory)| {
        (least.min(memory.anonymous_once), most.max(memory.anonymous_once))
    });
    let first = busy.first().map_or(0, |(_, memory)| memory.anonymous_once);
    eprintln!(
        "with {LIVE} commands: PID 1 has {first} KiB of anonymous memory, supervisors {least} to {most} KiB"
    );
    let busy = sum(&busy);
    let size = std::fs::metadata(format!("/proc/{pid1}/exe"))?.len();
    sandbox.stop().await?;
    let per_command = number(busy.anonymous_once.saturating_sub(before.anonymous_once)) / f64::from(LIVE);
    let row = |what: &str, value: f64, bound: f64| Row {
        id: "init-rss",
        what: what.to_owned(),
        unit: "KiB",
        series: Series::one(value),
        control: "the same binary doing nothing".to_owned(),
        control_p50: None,
        ratio: None,
        bound: format!("<= {bound}"),
        ok: value <= bound,
        beyond_reach: false,
    };
    let anonymous = number(before.anonymous);
    Ok(vec![
        Row {
            control_p50: Some(number(floor.anonymous)),
            ratio: Some(anonymous / number(floor.anonymous).max(1.0)),
            ..row("anonymous, idle, both processes", anonymous, 256.0)
        },
        Row {
            control: "idle".to_owned(),
            control_p50: Some(number(before.anonymous_once)),
            ..row("anonymous, per live command", per_command, 64.0)
        },
        Row {
            control_p50: Some(number(floor.resident_once)),
            ratio: Some(number(before.resident_once) / number(floor.resident_once).max(1.0)),
            ..row("resident, idle, both processes", number(before.resident_once), 1638.0)
        },
        Row { control: "–".to_owned(), ..row("binary", number(size) / 1024.0, 2048.0) },
    ])
}

fn describe(first: bool, memory: Memory) -> String {
    let name = if first { "PID 1" } else { "waiting supervisor" };
    let Memory { anonymous, anonymous_once, resident_once } = memory;
    format!(
        "{name} anonymous {anonymous} KiB (own share {anonymous_once}), resident share {resident_once} KiB"
    )
}

/// A copy of the binary that waits for its first line: what any static program of this size costs.
async fn floor(sandbox: &Sandbox, pid1: i32) -> Fallible<Memory> {
    let before: Vec<i32> = family(pid1)?.into_iter().map(|(pid, _)| pid).collect();
    let mut spawner = Spawner::start(sandbox, &["/bin/true"]).await?;
    spawner.once().await?;
    let now = family(pid1)?;
    // The last one of the new processes: the control itself, below its supervisor.
    let control = now.iter().rfind(|(pid, _)| !before.contains(pid) && is_leaf(*pid));
    let memory = control.map(|(_, memory)| *memory).ok_or("the control is not there")?;
    spawner.end().await?;
    Ok(memory)
}

/// The processes of a sandbox with [`LIVE`] commands in it.
async fn live(sandbox: &Sandbox, pid1: i32) -> Fallible<Vec<(i32, Memory)>> {
    let argv = ["/bin/sleep", "600"].map(str::to_owned).to_vec();
    let call = sandbox.call_of(Command::Argv(argv));
    let mut all: Vec<Running> = Vec::new();
    for _ in 0..LIVE {
        let mut running = sandbox.start(&call).await?;
        match running.next().await? {
            Progress::Started(_) => all.push(running),
            other => return Err(format!("sleep did not start: {other:?}").into()),
        }
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let family = family(pid1)?;
    for running in &mut all {
        running.kill()?;
    }
    for mut running in all {
        while !matches!(running.next().await?, Progress::Done(_)) {}
    }
    Ok(family)
}

/// Every process below `pid1`, itself included, that runs the same program.
fn family(pid1: i32) -> Fallible<Vec<(i32, Memory)>> {
    let name = std::fs::read_to_string(format!("/proc/{pid1}/comm"))?;
    let (mut found, mut next) = (Vec::new(), vec![pid1]);
    while let Some(pid) = next.pop() {
        next.extend(children(pid));
        if std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == name) {
            found.push((pid, memory(pid)?));
        }
    }
    Ok(found)
}

fn children(pid: i32) -> Vec<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn is_leaf(pid: i32) -> bool {
    let argv = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    argv.split(|byte| *byte == 0).nth(1) == Some(b"control")
}

fn memory(pid: i32) -> Fallible<Memory> {
    let path = format!("/proc/{pid}/smaps_rollup");
    // creel-init cannot be traced, so only root of the host may look.
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}; run as root"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let word = line.and_then(|line| line.split_whitespace().next());
        word.and_then(|word| word.parse::<u64>().ok()).ok_or(format!("{path} has no {name}"))
    };
    Ok(Memory {
        anonymous: field("Anonymous")?,
        anonymous_once: field("Pss_Anon")?,
        resident_once: field("Pss")?,
    })
}

fn sum(family: &[(i32, Memory)]) -> Memory {
    family.iter().fold(Memory::default(), |sum, (_, one)| Memory {
        anonymous: sum.anonymous + one.anonymous,
        anonymous_once: sum.anonymous_once + one.anonymous_once,
        resident_once: sum.resident_once + one.resident_once,
    })
}
