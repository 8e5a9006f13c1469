//! What is to become of a sandbox: removed or kept, and why. Pure; removing looks again under the lock.

use std::time::Duration;

use serde::Serialize;

use super::list::Listed;
use super::stop::InUse;

/// How long a sandbox may be idle and how old it may become; zero is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Without use.
    pub idle: Duration,
    /// Since its container was made.
    pub age: Duration,
}

/// What is to become of a sandbox, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action", content = "reason", rename_all = "camelCase")]
pub enum Fate {
    /// It goes.
    Remove(String),
    /// It stays.
    Keep(String),
}

impl Fate {
    /// It goes.
    pub fn removes(&self) -> bool {
        matches!(self, Self::Remove(_))
    }

    /// Why.
    pub fn reason(&self) -> &str {
        match self {
            Self::Remove(reason) | Self::Keep(reason) => reason,
        }
    }
}

impl Listed {
    /// What keeps it from being removed by anything but force.
    pub fn use_now(&self) -> Option<String> {
        let commands = self.commands.unwrap_or(0);
        match (self.leases, commands) {
            _ if self.status == "paused" => Some("it is paused".to_owned()),
            (0, 0) => None,
            (0, _) => Some(format!("it runs {} whose creel is gone", count(commands, "command"))),
            (leases, 0) => Some(format!("it is in use by {}", count(leases, "process"))),
            (leases, _) => Some(format!(
                "it is in use by {} and runs {}",
                count(leases, "process"),
                count(commands, "command")
            )),
        }
    }

    /// Somebody asked for its removal.
    pub fn when_asked(&self, in_use: InUse) -> Fate {
        if let Some(why) = &self.not_made {
            return Fate::Keep(why.clone());
        }
        match (self.use_now(), in_use) {
            (Some(used), InUse::Refuse) => Fate::Keep(used),
            (Some(used), InUse::Remove) => Fate::Remove(format!("asked for, although {used}")),
            (None, _) => Fate::Remove("asked for".to_owned()),
        }
    }

    /// Prune came by. Limits are exceeded strictly (spec `sandbox.md` §12.2).
    pub fn when_pruned(&self, limits: Limits, now_ms: u64) -> Fate {
        if let Some(kept) = self.not_made.clone().or_else(|| self.use_now()) {
            return Fate::Keep(kept);
        }
        if !self.running {
            return Fate::Remove(format!("it is {}", self.status));
        }
        if !self.proven {
            // Whoever makes one holds the lock until it is proven, and prune decides under that lock.
            return Fate::Remove("it never became ready".to_owned());
        }
        let since = |then_ms: u64| Duration::from_millis(now_ms.saturating_sub(then_ms));
        let over = |spent: Duration, limit: Duration| !limit.is_zero() && spent > limit;
        // A time that is not known ends nothing.
        let idle = since(self.last_used_at_ms.unwrap_or(self.created_at_ms));
        let age = since(self.created_at_ms);
        if self.created_at_ms > 0 && over(idle, limits.idle) {
            return Fate::Remove(format!("it was idle for more than {}", told(limits.idle)));
        }
        if self.created_at_ms > 0 && over(age, limits.age) {
            return Fate::Remove(format!("it is older than {}", told(limits.age)));
        }
        Fate::Keep(format!("{}, {}", within("idle for", idle, limits.idle), within("aged", age, limits.age)))
    }

    /// Prune came by, and it waits in a pool, ready; `None` for any other. `kept`: some process keeps the pools, which then
    /// decides over what waits in them.
    pub fn when_waiting(&self, kept: bool) -> Option<Fate> {
        if self.not_made.is_some()
            || self.pool.is_none()
            || !self.running
            || !self.proven
            || self.use_now().is_some()
        {
            return None;
        }
        Some(if kept {
            Fate::Keep("it waits in a pool".to_owned())
        } else {
            Fate::Remove("nobody keeps its pool".to_owned())
        })
    }

    /// The limits that it was made with: for where its owner's are not known.
    pub fn own_limits(&self) -> Limits {
        Limits { idle: Duration::from_secs(self.idle_limit_s), age: Duration::from_secs(self.max_age_s) }
    }
}

fn within(word: &str, spent: Duration, limit: Duration) -> String {
    let limit = if limit.is_zero() { " without limit".to_owned() } else { format!(" of {}", told(limit)) };
    format!("{word} {}{limit}", told(spent))
}

fn count(number: usize, what: &str) -> String {
    let plural = if what.ends_with('s') { "es" } else { "s" };
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}{plural}") }
}

/// A duration as people say it: whole units, rounded down, the largest that fits.
pub fn told(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn listed() -> Listed {
        Listed {
            id: "0".repeat(64),
            name: "ab".to_owned(),
            session_key: "agent:main".to_owned(),
            image: "i".to_owned(),
            image_id: "sha256:0".to_owned(),
            image_match: None,
            running: true,
            status: "running".to_owned(),
            proven: true,
            created_at_ms: 1_000,
            last_used_at_ms: Some(1_000),
            config_hash: String::new(),
            idle_limit_s: 10,
            max_age_s: 100,
            leases: 0,
            commands: None,
            image_now: None,
            pool: None,
            not_made: None,
        }
    }

    fn pruned(listed: &Listed, now_ms: u64) -> Option<String> {
        match listed.when_pruned(listed.own_limits(), now_ms) {
            Fate::Remove(reason) => Some(reason),
            Fate::Keep(_) => None,
        }
    }

    #[test]
    fn limits_are_exceeded_strictly() {
        assert_eq!(pruned(&listed(), 11_000), None);
        assert!(pruned(&listed(), 11_001).unwrap().contains("idle"));
        let used = Listed { last_used_at_ms: Some(100_000), ..listed() };
        assert_eq!(pruned(&used, 101_000), None);
        assert!(pruned(&used, 101_001).unwrap().contains("older"));
        let unlimited = Listed { idle_limit_s: 0, max_age_s: 0, ..listed() };
        assert_eq!(pruned(&unlimited, u64::MAX), None);
        let unknown = Listed { created_at_ms: 0, last_used_at_ms: None, ..listed() };
        assert_eq!(pruned(&unknown, u64::MAX), None);
    }

    #[test]
    fn never_one_in_use() {
        let dead = Listed { running: false, status: "exited".to_owned(), ..listed() };
        assert_eq!(pruned(&dead, 0).unwrap(), "it is exited");
        assert_eq!(pruned(&Listed { leases: 1, ..dead }, 0), None);
        let abandoned = Listed { proven: false, ..listed() };
        assert_eq!(pruned(&abandoned, 0).unwrap(), "it never became ready");
        assert_eq!(pruned(&Listed { leases: 1, ..listed() }, u64::MAX), None);
        assert_eq!(pruned(&Listed { commands: Some(1), ..listed() }, u64::MAX), None);
        let paused = Listed { running: false, status: "paused".to_owned(), ..listed() };
        assert_eq!(pruned(&paused, u64::MAX), None);
        assert!(!paused.when_asked(InUse::Refuse).removes() && paused.when_asked(InUse::Remove).removes());
    }

    #[test]
    fn what_creel_did_not_make_stays() {
        let other = Listed { not_made: Some("not made".to_owned()), pool: Some("k".to_owned()), ..listed() };
        for in_use in [InUse::Refuse, InUse::Remove] {
            assert_eq!(other.when_asked(in_use), Fate::Keep("not made".to_owned()));
        }
        assert_eq!(other.when_waiting(false), None);
        let dead = Listed { running: false, proven: false, ..other };
        assert_eq!(pruned(&dead, u64::MAX), None);
    }

    #[test]
    fn what_waits_is_its_keepers() {
        let waits = Listed { pool: Some("k".to_owned()), ..listed() };
        assert_eq!(waits.when_waiting(true), Some(Fate::Keep("it waits in a pool".to_owned())));
        assert_eq!(waits.when_waiting(false).unwrap().reason(), "nobody keeps its pool");
        assert_eq!(Listed { proven: false, ..waits }.when_waiting(true), None);
        assert_eq!(listed().when_waiting(false), None);
    }

    #[test]
    fn reasons_name_numbers() {
        let used = Listed { leases: 2, commands: Some(1), ..listed() };
        assert_eq!(used.when_asked(InUse::Refuse).reason(), "it is in use by 2 processes and runs 1 command");
        let kept = listed().when_pruned(listed().own_limits(), 6_000);
        assert_eq!(kept, Fate::Keep("idle for 5 s of 10 s, aged 5 s of 100 s".to_owned()));
        assert_eq!(told(Duration::from_hours(25)), "25 h");
        assert_eq!(told(Duration::from_hours(24 * 7)), "7 d");
    }
}
