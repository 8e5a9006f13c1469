//! Memory, processors and ulimits out of the several forms that the configuration allows.

use serde_json::Value;

use super::size;
use crate::engine::Ulimit;

/// The engine's names for rlimits.
const ULIMITS: &[&str] = &[
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nice",
    "nofile",
    "nproc",
    "rss",
    "rtprio",
    "rttime",
    "sigpending",
    "stack",
];

/// Floats up to here are whole numbers without gaps.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A float rounded down, where it is a number that fits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked and rounding down is what is asked for"
)]
pub(super) fn floor(number: f64) -> Option<u64> {
    (0.0..=EXACT).contains(&number).then_some(number as u64)
}

/// A float that is a whole number: JSON5 has `1e3` and `2.0`.
pub(super) fn whole(number: f64) -> Option<u64> {
    if number.fract() == 0.0 { floor(number) } else { None }
}

/// The least memory that an engine gives a container.
const LEAST_MEMORY: u64 = 6 << 20;

/// Bytes from a number or a size; as much as an engine takes.
pub(super) fn memory(value: &Value) -> Result<u64, String> {
    match bytes(value)? {
        few if few < LEAST_MEMORY => {
            Err(format!("{value} is less than 6 MiB ({LEAST_MEMORY} bytes), the least that an engine takes"))
        }
        enough => Ok(enough),
    }
}

/// Bytes from a number or a size; more than none.
fn bytes(value: &Value) -> Result<u64, String> {
    let bytes = match value {
        Value::String(text) => size::parse(text),
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        _ => None,
    };
    match bytes {
        Some(0) => Err("is zero".to_owned()),
        Some(bytes) => Ok(bytes),
        None => Err(format!("must be a size such as \"512m\", got: {value}")),
    }
}

/// The same, and `-1` for no limit on swap.
pub(super) fn memory_swap(value: &Value) -> Result<i64, String> {
    if value.as_i64() == Some(-1) || value.as_str().map(str::trim) == Some("-1") {
        return Ok(-1);
    }
    let bytes = bytes(value)?;
    i64::try_from(bytes).map_err(|_| "is too large".to_owned())
}

/// Billionths of a processor from a number.
pub(super) fn nano_cpus(value: &Value) -> Result<u64, String> {
    let cpus = value.as_f64().filter(|cpus| *cpus > 0.0);
    let nano = cpus.and_then(|cpus| floor((cpus * 1e9).round())).filter(|nano| *nano > 0);
    nano.ok_or_else(|| format!("must be a number greater than 0, got: {value}"))
}

/// One rlimit: a number, `"soft[:hard]"`, or `{soft, hard}`; one half stands for both.
pub(super) fn ulimit(name: &str, value: &Value) -> Result<Ulimit, String> {
    if !ULIMITS.contains(&name) {
        let near = super::reader::nearest(name, ULIMITS);
        return Err(near.map_or_else(
            || format!("is not the name of a limit; known are {}", ULIMITS.join(", ")),
            |near| format!("is not the name of a limit; did you mean {near}?"),
        ));
    }
    let (soft, hard) = halves(value).ok_or_else(|| {
        format!("must be a number, \"soft:hard\" or {{soft, hard}} of whole numbers, got: {value}")
    })?;
    if soft > hard {
        return Err(format!("the soft limit {soft} is above the hard limit {hard}"));
    }
    Ok(Ulimit { name: name.to_owned(), soft, hard })
}

fn halves(value: &Value) -> Option<(i64, i64)> {
    let count = |value: &Value| value.as_i64().filter(|count| *count >= 0);
    let parse = |text: &str| text.trim().parse::<i64>().ok().filter(|count| *count >= 0);
    match value {
        Value::Number(_) => count(value).map(|both| (both, both)),
        Value::String(text) => {
            let (soft, hard) = text.split_once(':').unwrap_or((text, text));
            Some((parse(soft)?, parse(hard)?))
        }
        Value::Object(map) => {
            if !map.keys().all(|name| name == "soft" || name == "hard") {
                return None;
            }
            let half = |name: &str| map.get(name).map(|value| count(value).ok_or(())).transpose();
            match (half("soft").ok()?, half("hard").ok()?) {
                (Some(soft), Some(hard)) => Some((soft, hard)),
                (Some(both), None) | (None, Some(both)) => Some((both, both)),
                (None, None) => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn memory_and_processors() {
        assert_eq!(memory(&json!("1g")), Ok(1 << 30));
        assert_eq!(memory(&json!(6 << 20)), Ok(6 << 20));
        for little in [json!("5m"), json!(1024), json!("6143k")] {
            assert!(memory(&little).unwrap_err().contains("6 MiB"), "{little}");
        }
        assert!(memory(&json!("lots")).is_err() && memory(&json!(0)).is_err() && memory(&json!(-5)).is_err());
        assert_eq!(memory_swap(&json!(-1)), Ok(-1));
        assert_eq!(memory_swap(&json!("2k")), Ok(2048));
        assert_eq!(nano_cpus(&json!(1.5)), Ok(1_500_000_000));
        assert!(nano_cpus(&json!(0)).is_err() && nano_cpus(&json!("1")).is_err());
    }

    #[test]
    fn ulimits_in_every_form() {
        let limit = |value| ulimit("nofile", &value).map(|limit| (limit.soft, limit.hard));
        assert_eq!(limit(json!(10)), Ok((10, 10)));
        assert_eq!(limit(json!("1:2")), Ok((1, 2)));
        assert_eq!(limit(json!("7")), Ok((7, 7)));
        assert_eq!(limit(json!({"soft": 1, "hard": 2})), Ok((1, 2)));
        assert_eq!(limit(json!({"hard": 2})), Ok((2, 2)));
        for bad in [json!(-1), json!("x"), json!("2:1"), json!({}), json!({"soft": 1, "max": 2}), json!([1])]
        {
            assert!(limit(bad.clone()).is_err(), "{bad}");
        }
        assert!(ulimit("nofiles", &json!(1)).unwrap_err().contains("did you mean nofile"));
    }
}
