//! Who knows the secret of the approval socket (spec `approvals.md` 1.26, 21.01). Pure.

use std::collections::HashMap;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use crate::approvals::document::Token;

/// How far the time of a line may be from ours, in milliseconds.
const WINDOW_MS: u64 = 60_000;
/// Lines of the window that are remembered; more than that are refused.
const REMEMBERED: usize = 10_000;
/// Hexadecimal digits of a nonce.
const NONCE: usize = 32;

/// Whether a line names the secret. Takes the same time wherever they differ.
pub(super) fn knows(token: &Token, said: &str) -> bool {
    !token.0.is_empty() && token.0.as_bytes().ct_eq(said.as_bytes()).into()
}

/// Nonces that were used.
#[derive(Debug, Default)]
pub(super) struct Nonces(HashMap<String, u64>);

/// Why a run is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Whoever made the line does not know the secret, or it was changed on the way.
    Proof,
    /// It is not of this minute.
    Time,
    /// It was said before.
    Replay,
    /// Too many were said.
    Full,
}

impl Nonces {
    /// Whether a line was made by somebody who knows the secret, just now, and for the first time.
    pub(super) fn believe(
        &mut self,
        token: &Token,
        (nonce, ts, request): (&str, u64, &str),
        hmac: &str,
        now: u64,
    ) -> Result<(), Doubt> {
        let digits = nonce.len() == NONCE && nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
        if token.0.is_empty() || !digits || !proven(token, &format!("{nonce}:{ts}:{request}"), hmac) {
            return Err(Doubt::Proof);
        }
        if now.abs_diff(ts) > WINDOW_MS {
            return Err(Doubt::Time);
        }
        // A line of the future is believed until its own time is over.
        self.0.retain(|_, ends| *ends >= now);
        let key = nonce.to_ascii_lowercase();
        if self.0.contains_key(&key) {
            return Err(Doubt::Replay);
        }
        if self.0.len() >= REMEMBERED {
            return Err(Doubt::Full);
        }
        self.0.insert(key, ts.saturating_add(WINDOW_MS));
        Ok(())
    }
}

fn proven(token: &Token, text: &str, hmac: &str) -> bool {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(token.0.as_bytes()) else { return false };
    mac.update(text.as_bytes());
    let wanted = crate::state::hex(&mac.finalize().into_bytes());
    wanted.as_bytes().ct_eq(hmac.to_ascii_lowercase().as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "00112233445566778899aabbccddeeff";

    fn token() -> Token {
        Token("secret".to_owned())
    }

    fn sign(nonce: &str, ts: u64, request: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"secret").unwrap();
        mac.update(format!("{nonce}:{ts}:{request}").as_bytes());
        crate::state::hex(&mac.finalize().into_bytes())
    }

    #[test]
    fn a_line_is_believed_once_in_its_minute_and_as_it_was_made() {
        let mut nonces = Nonces::default();
        let now = 1_000_000;
        let hmac = sign(NONCE, now, "{}");
        let mut believe =
            |line: (&str, u64, &str), hmac: &str, at: u64| nonces.believe(&token(), line, hmac, at);
        assert_eq!(believe((NONCE, now, "{ }"), &hmac, now), Err(Doubt::Proof));
        assert_eq!(believe((NONCE, now + 1, "{}"), &hmac, now), Err(Doubt::Proof));
        assert_eq!(believe((NONCE, now, "{}"), "", now), Err(Doubt::Proof));
        assert_eq!(believe((NONCE, now, "{}"), &hmac[..63], now), Err(Doubt::Proof));
        assert_eq!(believe((NONCE, now, "{}"), &hmac, now + 60_001), Err(Doubt::Time));
        assert_eq!(believe((NONCE, now, "{}"), &hmac, now - 60_001), Err(Doubt::Time));
        assert_eq!(believe((NONCE, now, "{}"), &hmac.to_uppercase(), now + 60_000), Ok(()));
        assert_eq!(believe((NONCE, now, "{}"), &hmac, now + 60_000), Err(Doubt::Replay));
        let upper = NONCE.to_uppercase();
        assert_eq!(believe((&upper, now, "{}"), &sign(&upper, now, "{}"), now), Err(Doubt::Replay));
        assert_eq!(believe(("abc", now, "{}"), &sign("abc", now, "{}"), now), Err(Doubt::Proof));
        let none = Token(String::new());
        assert_eq!(Nonces::default().believe(&none, (NONCE, now, "{}"), &hmac, now), Err(Doubt::Proof));
        assert!(knows(&token(), "secret") && !knows(&token(), "secre") && !knows(&none, ""));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut nonces = Nonces::default();
        for number in 0..REMEMBERED {
            nonces.0.insert(number.to_string(), 500);
        }
        let hmac = sign(NONCE, 400, "{}");
        assert_eq!(nonces.believe(&token(), (NONCE, 400, "{}"), &hmac, 400), Err(Doubt::Full));
        assert_eq!(nonces.believe(&token(), (NONCE, 400, "{}"), &hmac, 501), Ok(()));
    }
}
