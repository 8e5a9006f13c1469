//! Samples and their percentiles.

/// Which end of a series is the bad one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    /// Times and sizes.
    Low,
    /// Rates.
    High,
}

/// Samples of one quantity.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    better: Better,
    samples: Vec<f64>,
}

impl Series {
    /// No samples yet.
    pub(crate) fn new(better: Better) -> Self {
        Self { better, samples: Vec::new() }
    }

    /// One number that was measured once.
    pub(crate) fn one(value: f64) -> Self {
        Self { better: Better::Low, samples: vec![value] }
    }

    /// Adds a sample.
    pub(crate) fn push(&mut self, sample: f64) {
        self.samples.push(sample);
    }

    /// The value that `percent` of all samples are at least as good as (nearest rank): p99 is always the bad end.
    pub(crate) fn p(&self, percent: usize) -> f64 {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        if self.better == Better::High {
            sorted.reverse();
        }
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
    }

    /// The median.
    pub(crate) fn p50(&self) -> f64 {
        self.p(50)
    }
}

/// A duration in milliseconds.
pub(crate) fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A count as a number to calculate with; exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "counts and sizes here are far below 2^53")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}
