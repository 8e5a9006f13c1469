//! An extra CA bundle: parsed before anything is built, so that no image ever carries a broken or secret file.

use std::path::Path;

use base64::Engine as _;
use sha2::{Digest as _, Sha256};

use super::ImageError;

/// Upper bound of a bundle file; the whole Mozilla set is about 220 KB.
const MAX_BYTES: u64 = 4 << 20;

const BEGIN: &str = "-----BEGIN ";
const CERTIFICATE: &str = "CERTIFICATE";

/// One or more certificates, normalised to PEM without comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraCa {
    certificates: Vec<String>,
}

impl ExtraCa {
    /// Reads and parses a PEM file.
    pub fn read(path: &Path) -> Result<Self, ImageError> {
        let size = std::fs::metadata(path).map_err(ImageError::io(path, "read"))?.len();
        if size > MAX_BYTES {
            return Err(bad(path, format!("{size} bytes are more than a CA bundle may have ({MAX_BYTES})")));
        }
        let text = std::fs::read(path).map_err(ImageError::io(path, "read"))?;
        let text = String::from_utf8(text).map_err(|_| bad(path, "not a text file".to_owned()))?;
        Self::parse(&text).map_err(|reason| bad(path, reason))
    }

    /// Parses PEM text. Anything but certificates is refused: a private key must not end up in an image.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut certificates = Vec::new();
        let mut lines = text.lines().map(str::trim);
        while let Some(line) = lines.next() {
            let Some(kind) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix("-----")) else {
                continue;
            };
            if kind != CERTIFICATE {
                return Err(format!("contains a {kind}; only certificates belong into an image"));
            }
            let number = certificates.len() + 1;
            certificates.push(certificate(&mut lines).map_err(|why| format!("certificate {number}: {why}"))?);
        }
        if certificates.is_empty() {
            return Err("contains no PEM certificate".to_owned());
        }
        Ok(Self { certificates })
    }

    /// The certificates, each as PEM with a final newline.
    pub fn certificates(&self) -> &[String] {
        &self.certificates
    }

    /// All certificates, ready to be appended to a bundle.
    pub fn pem(&self) -> String {
        self.certificates.concat()
    }

    /// Hex SHA-256 of the normalised bundle; comments and line endings do not change it.
    pub fn digest(&self) -> String {
        crate::state::hex(&Sha256::digest(self.pem().as_bytes()))
    }

    /// File name and content of each certificate for `/usr/local/share/ca-certificates`, one certificate per
    /// file as `update-ca-certificates` wants it.
    pub fn files(&self) -> impl Iterator<Item = (String, &str)> {
        self.certificates
            .iter()
            .enumerate()
            .map(|(index, pem)| (format!("creel-extra-{index:03}.crt"), pem.as_str()))
    }
}

fn bad(path: &Path, reason: String) -> ImageError {
    ImageError::BadCa { path: path.to_owned(), reason }
}

/// Consumes the lines up to and including END, checks them, and writes them anew.
fn certificate<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Result<String, String> {
    let mut body = String::new();
    loop {
        match lines.next() {
            None => return Err("the END line is missing".to_owned()),
            Some("-----END CERTIFICATE-----") => break,
            Some(line) if line.starts_with("-----") => return Err(format!("unexpected line `{line}`")),
            Some(line) => body.push_str(line),
        }
    }
    let coder = base64::engine::general_purpose::STANDARD;
    let der = coder.decode(&body).map_err(|error| format!("not base64: {error}"))?;
    if !is_der_sequence(&der) {
        return Err("not a DER structure".to_owned());
    }
    let mut pem = format!("{BEGIN}{CERTIFICATE}-----\n");
    for (index, letter) in coder.encode(&der).chars().enumerate() {
        if index > 0 && index % 64 == 0 {
            pem.push('\n');
        }
        pem.push(letter);
    }
    pem.push_str("\n-----END CERTIFICATE-----\n");
    Ok(pem)
}

/// One SEQUENCE whose stated length is exactly the rest: catches truncated and concatenated data.
fn is_der_sequence(der: &[u8]) -> bool {
    let (length, header) = match der {
        [0x30, short, ..] if *short < 0x80 => (usize::from(*short), 2),
        [0x30, 0x81, a, ..] => (usize::from(*a), 3),
        [0x30, 0x82, a, b, ..] => (usize::from(u16::from_be_bytes([*a, *b])), 4),
        _ => return false,
    };
    length > 0 && header + length == der.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(der: &[u8]) -> String {
        let body = base64::engine::general_purpose::STANDARD.encode(der);
        format!("-----BEGIN CERTIFICATE-----\r\n{body}\r\n-----END CERTIFICATE-----\r\n")
    }

    #[test]
    fn comments_and_line_endings_do_not_matter() {
        let text = format!("# first\n{}Subject: x\n{}", pem(&[0x30, 1, 7]), pem(&[0x30, 2, 5, 0]));
        let ca = ExtraCa::parse(&text).unwrap();
        assert_eq!(ca.certificates().len(), 2);
        assert_eq!(ExtraCa::parse(&ca.pem()).unwrap().digest(), ca.digest());
        let names: Vec<_> = ca.files().map(|(name, _)| name).collect();
        assert_eq!(names, ["creel-extra-000.crt", "creel-extra-001.crt"]);
    }

    #[test]
    fn long_certificates_are_wrapped() {
        let mut der = vec![0x30, 0x82, 0x01, 0x00];
        der.extend([9_u8; 256]);
        let ca = ExtraCa::parse(&pem(&der)).unwrap();
        assert!(ca.pem().lines().all(|line| line.len() <= 64));
    }

    #[test]
    fn refusals_name_the_reason() {
        let cases = [
            ("", "no PEM certificate"),
            ("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n", "contains a PRIVATE KEY"),
            ("-----BEGIN CERTIFICATE-----\nMAEH\n", "END line is missing"),
            ("-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n", "certificate 1: not base64"),
            ("-----BEGIN CERTIFICATE-----\nMAIH\n-----END CERTIFICATE-----\n", "not a DER structure"),
        ];
        for (text, reason) in cases {
            let error = ExtraCa::parse(text).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
