//! Texts of files that people name.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The text of a regular file of at most `most` bytes; else why not. A pipe or a device could be waited for without end,
/// and is refused at once.
///
/// # Errors
///
/// What is wrong with the file, without its name.
pub fn text(path: &Path, most: u64) -> Result<String, String> {
    let file =
        OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY).open(path);
    let file = file.map_err(|error| error.to_string())?;
    if !file.metadata().map_err(|error| error.to_string())?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    bounded(file, most)
}

/// The text of a source of at most `most` bytes; else why not.
///
/// # Errors
///
/// What is wrong with it.
pub fn bounded(source: impl std::io::Read, most: u64) -> Result<String, String> {
    let mut text = String::new();
    source.take(most.saturating_add(1)).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > most {
        return Err(format!("it is larger than {most} bytes"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_some_size() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(text(&file, 5).unwrap(), "12345");
        assert!(text(&file, 4).unwrap_err().contains("larger"));
        let pipe = dir.path().join("p");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for other in [pipe.as_path(), dir.path(), Path::new("/dev/zero"), Path::new("/dev/null")] {
            assert!(text(other, 5).unwrap_err().contains("regular"), "{}", other.display());
        }
    }
}
