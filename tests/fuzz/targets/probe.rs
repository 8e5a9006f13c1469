//! What a probe prints, read by the host: lines in, attempts out.

#![no_main]

use creel::wire::probe;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(tried) = probe::parse(bytes) else { return };
    let lines: String = tried.iter().map(|one| one.line() + "\n").collect();
    let again = format!("{lines}{}\n", probe::end(tried.len()));
    assert_eq!(again.as_bytes(), bytes, "what is believed has one spelling");
});
