//! What init is told over its standard input, so that it can be told from its workload (design §3, "Meeting").

use std::fmt;

/// 256 random bits that one creel and one init know. The bits are shown to nobody: not in a log, not in an error.
#[derive(Clone, Copy)]
pub struct Nonce(pub [u8; Nonce::SIZE]);

impl Nonce {
    /// Bytes.
    pub const SIZE: usize = 32;
    /// Bytes of the line on init's standard input: hex digits and a line feed.
    pub const LINE: usize = 2 * Self::SIZE + 1;

    /// Reads hex digits, without anything around them.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut nonce = [0; Self::SIZE];
        if text.len() != 2 * Self::SIZE {
            return None;
        }
        for (byte, digits) in nonce.iter_mut().zip(text.chunks_exact(2)) {
            let [high, low] = digits else { return None };
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(nonce))
    }

    /// As hex digits, for init's standard input and for the private record.
    pub fn reveal(&self) -> String {
        use fmt::Write as _;
        self.0.iter().fold(String::with_capacity(2 * Self::SIZE), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// The value of a lower-case hex digit.
pub(super) fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Takes the same time wherever the first difference is.
impl PartialEq for Nonce {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

impl Eq for Nonce {}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonce(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Nonce;

    #[test]
    fn digits_there_and_back() {
        let nonce = Nonce(std::array::from_fn(|at| u8::try_from(at * 7).unwrap()));
        let text = nonce.reveal();
        assert_eq!(text.len() + 1, Nonce::LINE);
        assert_eq!(Nonce::parse(text.as_bytes()), Some(nonce));
        for wrong in ["", &text[2..], &text.replace('0', "G"), &text.to_uppercase()] {
            assert_eq!(Nonce::parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert!(!format!("{nonce:?}").contains("07"));
        assert_ne!(nonce, Nonce([0; 32]));
    }
}
