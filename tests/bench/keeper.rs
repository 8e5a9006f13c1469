//! `gateway-rss` and `restart-100`: the process that keeps sessions, its memory and its death.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use creel::image::Recipe;
use creel::keeper::{Keepers, Repeat};
use creel::state::StateDir;
use creel::tools::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::Fallible;
use crate::ground::Ground;
use crate::row::Row;
use crate::stats::{Better, Series, ms, number};

/// Agents, each with a sandbox of its own.
const SANDBOXES: usize = 4;
/// Commands that live through a restart.
const COMMANDS: usize = 100;
/// Most KiB of an idle keeper, and of each session beyond that.
const MOST_IDLE_KIB: f64 = 24.0 * 1024.0;
const MOST_SESSION_KIB: f64 = 64.0;
/// Most milliseconds until all are followed again.
const MOST_RESTART_MS: f64 = 2000.0;
/// A line with its number four times a second, and a last one when it is told to end.
const COUNTER: &str = "n=0; trap 'echo end; exit 7' TERM; while :; do n=$((n+1)); echo $n; sleep 0.25; done";

/// All rows of the keeper. The configuration of the run's installation is theirs meanwhile.
pub(crate) async fn rows(ground: &Ground, wanted: impl Fn(&str) -> bool) -> Fallible<Vec<Row>> {
    let image = ground.image(Recipe::Minimal).await?;
    let entries: Vec<String> = (0..SANDBOXES).map(|n| format!("a{n}: {{}}")).collect();
    let sandbox = format!("mode: 'all', scope: 'agent', docker: {{image: '{image}'}}");
    let text =
        format!("{{agents: {{defaults: {{sandbox: {{{sandbox}}}}}, entries: {{{}}}}}}}", entries.join(", "));
    let file = ground.state_dir().join("openclaw.json");
    std::fs::create_dir_all(ground.state_dir())?;
    std::fs::write(&file, text)?;
    let state = StateDir::at(ground.state_dir());
    let desk = Desk { keepers: Keepers::new(&state, std::path::Path::new(env!("CARGO_BIN_EXE_creel"))) };
    let mut rows = Vec::new();
    if wanted("gateway-rss") {
        rows.extend(memory(&desk, ground.scale.of(400, 100)).await?);
    }
    if wanted("restart-100") {
        rows.extend(restarts(&desk, ground.scale.of(5, 2)).await?);
    }
    let _ = desk.keepers.request("keeper.stop", Value::Null, Repeat::Never).await;
    std::fs::remove_file(&file)?;
    Ok(rows)
}

/// Calls of tools, as an agent host makes them.
struct Desk {
    keepers: Keepers,
}

impl Desk {
    async fn exec(&self, agent: usize, command: &str) -> Fallible<Value> {
        let context = Context { agent: Some(format!("a{}", agent % SANDBOXES)), ..Context::default() };
        let args = json!({ "command": command, "background": true, "timeoutSeconds": 0 });
        let result = self.keepers.call("exec", args, context, |_| {}).await?;
        match result.pointer("/details/sessionId").and_then(Value::as_str) {
            Some(_) => Ok(result),
            None => Err(format!("it did not start: {result}").into()),
        }
    }

    async fn status(&self) -> Fallible<Value> {
        Ok(self.keepers.request("keeper.status", Value::Null, Repeat::Safe).await?)
    }

    async fn pid(&self) -> Fallible<i32> {
        let pid = self.status().await?.get("process").and_then(Value::as_i64);
        Ok(i32::try_from(pid.ok_or("no process in the status")?)?)
    }

    /// Bytes that each session has printed, by what is known here.
    async fn written(&self) -> Fallible<BTreeMap<String, u64>> {
        let listed = self.keepers.request("process.list", json!({}), Repeat::Safe).await?;
        let rows = listed.get("sessions").and_then(Value::as_array).ok_or(format!("no list: {listed}"))?;
        let row = |row: &Value| {
            let id = row.get("sessionId")?.as_str()?.to_owned();
            Some((id, row.get("written")?.as_u64()?))
        };
        Ok(rows.iter().filter_map(row).collect())
    }

    async fn act(&self, agent: usize, args: Value) -> Fallible<Value> {
        let context = Context { agent: Some(format!("a{agent}")), ..Context::default() };
        Ok(self.keepers.call("process", args, context, |_| {}).await?)
    }

    /// Ends every session and forgets it.
    async fn clear(&self) -> Fallible<()> {
        for agent in 0..SANDBOXES {
            let listed = self.act(agent, json!({ "action": "list" })).await?;
            let all = listed.pointer("/details/sessions").and_then(Value::as_array).cloned();
            for session in all.unwrap_or_default() {
                let id = session.get("sessionId").cloned().unwrap_or_default();
                self.act(agent, json!({ "action": "remove", "sessionId": id })).await?;
            }
        }
        Ok(())
    }
}

/// Resident and anonymous memory of a process, in KiB.
fn resident(pid: i32) -> Fallible<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let word = line.and_then(|line| line.split_whitespace().next());
        word.and_then(|word| word.parse::<u64>().ok()).ok_or(format!("no {name}"))
    };
    Ok((field("Rss")?, field("Anonymous")?))
}

async fn memory(desk: &Desk, sessions: usize) -> Fallible<Vec<Row>> {
    // Idle is after work: every sandbox is open, every part of the program has been used.
    for agent in 0..SANDBOXES {
        desk.exec(agent, "sleep 1").await?;
    }
    desk.clear().await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let pid = desk.pid().await?;
    let (idle, before) = resident(pid)?;
    for number in 0..sessions {
        desk.exec(number, "echo begun; exec sleep 600").await?;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (_, after) = resident(pid)?;
    desk.clear().await?;
    let each = number(after.saturating_sub(before)) / number(u64::try_from(sessions)?);
    let row = |what: String, value: f64, bound: f64| Row {
        id: "gateway-rss",
        what,
        unit: "KiB",
        series: Series::one(value),
        control: "–".to_owned(),
        control_p50: None,
        ratio: None,
        bound: format!("<= {bound}"),
        ok: value <= bound,
        beyond_reach: false,
    };
    Ok(vec![
        row("resident, idle, 4 sandboxes open".to_owned(), number(idle), MOST_IDLE_KIB),
        Row {
            control: "idle".to_owned(),
            control_p50: Some(number(before)),
            ..row(format!("anonymous, each of {sessions} live sessions"), each, MOST_SESSION_KIB)
        },
    ])
}

async fn restarts(desk: &Desk, rounds: usize) -> Fallible<Vec<Row>> {
    for number in 0..COMMANDS {
        desk.exec(number, COUNTER).await?;
    }
    let (mut took, mut bare) = (Series::new(Better::Low), Series::new(Better::Low));
    for _ in 0..rounds {
        kill(Pid::from_raw(desk.pid().await?), Signal::SIGKILL)?;
        // A second of output waits in the inits.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let start = Instant::now();
        let first = desk.written().await?;
        bare.push(ms(start.elapsed()));
        // Followed is who has got more than the dead one had stored.
        while !desk.written().await?.iter().all(|(id, now)| first.get(id).is_some_and(|then| now > then)) {
            if start.elapsed() > Duration::from_secs(30) {
                return Err("not all sessions are followed again".into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        took.push(ms(start.elapsed()));
    }
    let lost = lost(desk).await?;
    desk.clear().await?;
    Ok(vec![
        Row {
            id: "restart-100",
            what: "until every session has new output".to_owned(),
            unit: "ms",
            control: "until the new keeper answers".to_owned(),
            control_p50: Some(bare.p50()),
            ratio: Some(took.p50() / bare.p50()),
            bound: format!("p50 <= {MOST_RESTART_MS}"),
            ok: took.p50() <= MOST_RESTART_MS,
            beyond_reach: false,
            series: took,
        },
        Row {
            id: "restart-100",
            what: "lines lost or doubled".to_owned(),
            unit: "lines",
            control: "numbered lines".to_owned(),
            control_p50: None,
            ratio: None,
            bound: "= 0".to_owned(),
            ok: lost == 0,
            beyond_reach: false,
            series: Series::one(number(lost)),
        },
    ])
}

/// Ends every session and counts the lines that are not the next number, and the ends that are missing.
async fn lost(desk: &Desk) -> Fallible<u64> {
    let mut lost = 0;
    for agent in 0..SANDBOXES {
        let listed = desk.act(agent, json!({ "action": "list" })).await?;
        let all = listed.pointer("/details/sessions").and_then(Value::as_array).cloned().unwrap_or_default();
        if all.len() != COMMANDS / SANDBOXES {
            return Err(format!("{} sessions of agent {agent}", all.len()).into());
        }
        for session in all {
            let id = session.get("sessionId").cloned().unwrap_or_default();
            desk.act(agent, json!({ "action": "kill", "sessionId": id })).await?;
            let wait = json!({ "action": "wait", "sessionId": id, "exit": true, "timeout": 20_000 });
            desk.act(agent, wait).await?;
            let log = desk.act(agent, json!({ "action": "log", "sessionId": id, "offset": 0 })).await?;
            let text = log.pointer("/details/output").and_then(Value::as_str).unwrap_or_default();
            // The shell says of its sleep that it was terminated.
            let lines: Vec<&str> =
                text.lines().take_while(|line| !matches!(*line, "Terminated" | "end")).collect();
            let wrong = lines.iter().zip(1_u64..).filter(|(line, n)| line.parse() != Ok(*n)).count();
            let ended = text.lines().any(|line| line == "end");
            lost += u64::try_from(wrong)? + u64::from(!ended || lines.is_empty());
        }
    }
    Ok(lost)
}
