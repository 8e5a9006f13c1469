//! The build context of a recipe's Dockerfile. Pure.

use std::io;

use super::ExtraCa;

/// Name of the Dockerfile in the context.
pub(super) const NAME: &str = "Dockerfile";

/// A tar with the Dockerfile and, beside it, each extra certificate as its own `.crt`.
pub(super) fn context(text: &str, ca: Option<&ExtraCa>) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    add(&mut tar, NAME, text)?;
    for (name, pem) in ca.into_iter().flat_map(ExtraCa::files) {
        add(&mut tar, &name, pem)?;
    }
    tar.into_inner()
}

fn add(tar: &mut tar::Builder<Vec<u8>>, name: &str, text: &str) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(text.len() as u64);
    tar.append_data(&mut header, name, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_lie_beside_the_dockerfile() {
        let ca = ExtraCa::parse("-----BEGIN CERTIFICATE-----\nMAEH\n-----END CERTIFICATE-----\n").unwrap();
        let names = |ca| {
            let bytes = context("FROM scratch", ca).unwrap();
            let mut archive = tar::Archive::new(bytes.as_slice());
            let entries = archive.entries().unwrap();
            entries.map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["Dockerfile"]);
        assert_eq!(names(Some(&ca)), ["Dockerfile", "creel-extra-000.crt"]);
    }
}
