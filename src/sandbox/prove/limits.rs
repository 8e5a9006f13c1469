//! Checks over the control-group files, version 1 and 2.

use super::{Check, Rule, Verdict};
use crate::engine::Limits;

/// The largest page of the architectures creel runs on: version 1 counters are rounded down to whole pages.
const PAGE: u64 = 65_536;

/// One check for each limit asked for.
pub(super) fn checks(asked: &Limits, files: &[(String, String)]) -> Vec<Check> {
    let file = |name: &str| files.iter().find(|(key, _)| key == name).map(|(_, text)| text.trim());
    let mut checks = Vec::new();
    if let Some(pids) = asked.pids {
        checks.push(number(Rule::Pids, pids, file("pids.max"), 0));
    }
    if let Some(memory) = asked.memory {
        let seen = file("memory.max").or_else(|| file("memory.limit_in_bytes"));
        checks.push(number(Rule::Memory, memory, seen, PAGE));
    }
    if let Some(total) =
        asked.memory_swap.and_then(|total| u64::try_from(total).ok()).filter(|total| *total > 0)
    {
        checks.push(swap(total, asked.memory.unwrap_or(0), &file));
    }
    if let Some(nano) = asked.nano_cpus {
        checks.push(cpu(nano, &file));
    }
    checks
}

/// Equal, or smaller by less than `slack`.
fn number(rule: Rule, asked: u64, seen: Option<&str>, slack: u64) -> Check {
    let Some(seen) = seen else {
        return Check::new(rule, asked.to_string(), "no such control group file", Verdict::Unknown);
    };
    let ok = seen.parse::<u64>().is_ok_and(|seen| seen <= asked && asked - seen <= slack);
    Check::new(rule, asked.to_string(), seen, Verdict::of(ok))
}

/// Version 1 counts memory and swap together, version 2 swap alone.
fn swap<'a>(total: u64, memory: u64, file: &impl Fn(&str) -> Option<&'a str>) -> Check {
    match file("memory.swap.max") {
        Some(seen) => number(Rule::Swap, total.saturating_sub(memory), Some(seen), PAGE),
        None => number(Rule::Swap, total, file("memory.memsw.limit_in_bytes"), PAGE),
    }
}

fn cpu<'a>(nano: u64, file: &impl Fn(&str) -> Option<&'a str>) -> Check {
    let asked = format!("{nano} billionths of a processor");
    let pair = match file("cpu.max") {
        Some(text) => text.split_once(' '),
        None => file("cpu.cfs_quota_us").zip(file("cpu.cfs_period_us")),
    };
    let Some((quota, period)) = pair else {
        return Check::new(Rule::Cpu, asked, "no such control group file", Verdict::Unknown);
    };
    let observed = format!("{quota} of {period} µs");
    let (Ok(quota), Ok(period)) = (quota.parse::<u64>(), period.parse::<u64>()) else {
        // `max` and -1 mean: no limit.
        return Check::new(Rule::Cpu, asked, observed, Verdict::NotEnforced);
    };
    // The engine rounds the quota to a whole microsecond.
    let exact = u128::from(nano) * u128::from(period) / 1_000_000_000;
    Check::new(Rule::Cpu, asked, observed, Verdict::of(u128::from(quota).abs_diff(exact) <= 1))
}
