//! Sizes as the engine's client writes them.

/// Bytes of `512m`, `1.5g`, `64KiB`, `1024`.
///
/// The engine's rule: a number, an optional space, an optional unit of `k m g t p` in either case, an optional
/// `b` or `ib`; every unit is a power of 1024. `None` where the text is something else, negative, or too large.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let shift = shift(unit.trim_start())?;
    let factor = 1_u64.checked_shl(shift)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    // Shifts stop at 50, where a float is still exact.
    let factor: f64 = 2_f64.powi(i32::try_from(shift).ok()?);
    super::limits::floor(number.parse::<f64>().ok()? * factor)
}

fn shift(unit: &str) -> Option<u32> {
    let unit = unit.to_ascii_lowercase();
    let mut chars = unit.chars();
    let shift = match chars.next() {
        None => return Some(0),
        Some('b') => return chars.as_str().is_empty().then_some(0),
        Some('k') => 10,
        Some('m') => 20,
        Some('g') => 30,
        Some('t') => 40,
        Some('p') => 50,
        Some(_) => return None,
    };
    matches!(chars.as_str(), "" | "b" | "ib").then_some(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engines_rules() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("32", Some(32)),
            ("32b", Some(32)),
            ("512m", Some(512 << 20)),
            ("1g", Some(1 << 30)),
            ("1G", Some(1 << 30)),
            ("1 GiB", Some(1 << 30)),
            ("64kb", Some(64 << 10)),
            ("1.5g", Some(3 << 29)),
            ("1t", Some(1 << 40)),
            ("", None),
            ("m", None),
            ("-1", None),
            ("1.2.3", None),
            ("1 mm", None),
            ("1ib", None),
            ("1e3", None),
            ("99999999p", None),
        ] {
            assert_eq!(parse(text), bytes, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,12}|[0-9.]{0,24} ?[kmgtpib]{0,3}") {
            let _ = parse(&text);
        }
    }
}
