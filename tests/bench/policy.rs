//! `tool-policy`: which of a hundred tools a session has.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use creel::config::Config;
use creel::policy::{Caller, Tool};
use creel::session::AgentId;

use crate::Fallible;
use crate::ground::Scale;
use crate::row::Row;
use crate::stats::{Better, Series};

/// Most microseconds.
const MOST_US: f64 = 50.0;
/// How many tools.
const TOOLS: usize = 100;
/// A configuration in which every kind of step is there.
const CONFIG: &str = r"{
  agents: { entries: { main: { tools: { profile: 'coding', alsoAllow: ['group:web', 'github__*'], deny: ['cron'] } } } },
  tools: {
    profile: 'full',
    deny: ['gateway', 'nodes', 'tickets__delete_*'],
    byProvider: { openai: { deny: ['image*'] }, 'openai/small': { allow: ['group:fs', 'group:runtime', 'github__*'] } },
    sandbox: { tools: { allow: ['group:fs', 'group:runtime', 'github__*', 'tickets__*'], deny: ['browser', '*__admin_*'] } },
  },
}";

/// The row. Two halves: the pipeline from configuration and caller, then the verdict over every tool.
pub(crate) fn rows(scale: Scale) -> Fallible<Vec<Row>> {
    let config = Config::parse(CONFIG, Path::new("bench"), &|_| None)?;
    let tools = tools();
    let (agent, caller) = (
        AgentId::main(),
        Caller { provider: Some("openai"), model: Some("small"), sandboxed: true, ..Caller::default() },
    );
    let low = || Series::new(Better::Low);
    let (mut whole, mut compare) = (low(), low());
    let mut allowed = 0;
    for _ in 0..scale.of(20_000, 4_000) {
        let start = Instant::now();
        let policy = config.tool_policy(black_box(&agent), black_box(&caller));
        let sifted = policy.sift(black_box(&tools));
        allowed = black_box(sifted.allowed().count());
        whole.push(start.elapsed().as_secs_f64() * 1e6);
        // The least that anybody could do: to compare each name with one other.
        let start = Instant::now();
        black_box(tools.iter().filter(|tool| tool.name() == black_box("exec")).count());
        compare.push(start.elapsed().as_secs_f64() * 1e6);
    }
    eprintln!("tool policy: {allowed} of {TOOLS} tools allowed");
    Ok(vec![Row {
        id: "tool-policy",
        what: format!("{TOOLS} tools"),
        unit: "µs",
        control: "comparing each name once".to_owned(),
        control_p50: Some(compare.p50()),
        ratio: None,
        bound: format!("p50 <= {MOST_US}"),
        ok: whole.p50() <= MOST_US,
        beyond_reach: false,
        series: whole,
    }])
}

/// Built-in tools, and those of two MCP servers.
fn tools() -> Vec<Tool> {
    let built_in = creel::policy::tables::known().map(Tool::new);
    let server = |at: usize| {
        let name =
            if at.is_multiple_of(2) { format!("github__call_{at}") } else { format!("tickets__admin_{at}") };
        Tool::owned(&name, creel::policy::tables::MCP_OWNER)
    };
    built_in.chain((0..).map(server)).take(TOOLS).collect()
}
