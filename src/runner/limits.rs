//! Limits of one call beside those of its sandbox. An extension: the specification knows none.

use crate::wire;

/// What one command may use at most; `None` is no limit. A limit that is passed ends the command with a cause of its own,
/// and the outcome tells how each was held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// Private memory of its processes together, in bytes. What is mapped from files or shared does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processes alive at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Bytes that it prints, both streams together. What is beyond is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// CPU time of its processes together, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<u64>,
}

impl Limits {
    /// Nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// As the wire says it, where zero is no limit: a limit of nothing becomes one of the least.
    pub(super) fn on_wire(self) -> wire::Limits {
        let least = |limit: Option<u64>| limit.map_or(0, |limit| limit.max(1));
        wire::Limits {
            memory_bytes: least(self.memory_bytes),
            output_bytes: least(self.output_bytes),
            cpu_ms: least(self.cpu_seconds.map(|seconds| seconds.saturating_mul(1000))),
            processes: self.processes.map_or(0, |limit| limit.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_not_a_limit_of_nothing() {
        assert_eq!(Limits::default().on_wire(), wire::Limits::default());
        let zero = Limits { memory_bytes: Some(0), cpu_seconds: Some(0), ..Limits::default() };
        assert_eq!((zero.on_wire().memory_bytes, zero.on_wire().cpu_ms), (1, 1));
        assert!(!zero.is_none() && Limits::default().is_none());
    }
}
