//! Times as lists show them (spec `exec.md` §7.3). Pure.

/// A time in milliseconds, in at most two units: `446ms`, `45s`, `2m5s`, `1h30m`. A time is never rounded up.
pub fn compact(ms: u64) -> String {
    const UNITS: &[(u64, &str)] = &[(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    let seconds = ms / 1000;
    let Some(at) = UNITS.iter().position(|(size, _)| seconds >= *size) else {
        return format!("{ms}ms");
    };
    let (mut rest, mut text) = (seconds, String::new());
    for (size, unit) in UNITS.iter().skip(at).take(2) {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            text = format!("{text}{count}{unit}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_units_at_most() {
        let rows: &[(u64, &str)] = &[
            (0, "0ms"),
            (446, "446ms"),
            (999, "999ms"),
            (1000, "1s"),
            (45_999, "45s"),
            (60_000, "1m"),
            (125_000, "2m5s"),
            (3_600_000, "1h"),
            (3_605_000, "1h"),
            (5_400_000, "1h30m"),
            (86_400_000, "1d"),
            (90_000_000, "1d1h"),
            (u64::MAX, "213503982334d14h"),
        ];
        for (ms, text) in rows {
            assert_eq!(compact(*ms), *text);
        }
    }
}
