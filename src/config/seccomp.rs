//! The file of a seccomp profile: the configuration names it, the engine wants its contents.

use std::path::Path;

/// The largest profile that is read, in bytes; the engines' own have about 15 KiB.
const MAX_BYTES: u64 = 1 << 20;

/// What helps against a profile that cannot be used.
pub const FIX: &str = "name a readable JSON file, or remove the key to get the engine's own profile";

/// The text of a profile, or why the engine would not take it.
pub fn read(path: &str) -> Result<String, String> {
    let refused = |why: &dyn std::fmt::Display| format!("seccomp profile {path} cannot be read: {why}");
    let meta = std::fs::metadata(Path::new(path)).map_err(|error| refused(&error))?;
    // A pipe would be waited for.
    if !meta.is_file() {
        return Err(refused(&"it is not a file"));
    }
    if meta.len() > MAX_BYTES {
        return Err(refused(&format_args!("it is larger than {MAX_BYTES} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| refused(&error))?;
    let profile = serde_json::from_str::<serde_json::Value>(&text)
        .map_err(|error| format!("seccomp profile {path} is not JSON: {error}"))?;
    // What is in it is the engine's business.
    if profile.is_object() { Ok(text) } else { Err(format!("seccomp profile {path} is no JSON object")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_engine_would_not_take() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let good = file("good", "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}");
        assert!(read(&good).unwrap().contains("ALLOW"));
        for (path, why) in [
            (dir.path().join("absent").display().to_string(), "No such file"),
            (dir.path().display().to_string(), "not a file"),
            (file("text", "deny all"), "not JSON"),
            (file("list", "[]"), "no JSON object"),
        ] {
            let error = read(&path).unwrap_err();
            assert!(error.contains(why) && error.contains(&path), "{error}");
        }
    }
}
