//! The keys that leave a session: Ctrl-P Ctrl-Q. Pure.

const CTRL_P: u8 = 0x10;
const CTRL_Q: u8 = 0x11;

/// Watches what is typed.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Ctrl-P was typed and is held back until the next key.
    held: bool,
}

impl Keys {
    /// What is to be sent of these bytes, and whether the keys were typed; nothing after them is sent.
    pub(super) fn feed(&mut self, typed: &[u8]) -> (Vec<u8>, bool) {
        let mut sent = Vec::with_capacity(typed.len() + 1);
        for &byte in typed {
            if self.held && byte == CTRL_Q {
                self.held = false;
                return (sent, true);
            }
            if self.held {
                sent.push(CTRL_P);
            }
            self.held = byte == CTRL_P;
            if !self.held {
                sent.push(byte);
            }
        }
        (sent, false)
    }
}

/// Follows whether the program draws on the alternate screen, so that a terminal is left as it was found.
#[derive(Debug, Default)]
pub(super) struct Alternate {
    pub(super) on: bool,
    tail: Vec<u8>,
}

impl Alternate {
    /// Output as it goes to the terminal, cut anywhere.
    pub(super) fn follow(&mut self, output: &[u8]) {
        const ON: &[u8] = b"\x1b[?1049h";
        const OFF: &[u8] = b"\x1b[?1049l";
        self.tail.extend_from_slice(output);
        let last = self.tail.windows(ON.len()).rev().find(|part| *part == ON || *part == OFF);
        if let Some(last) = last {
            self.on = last == ON;
        }
        let keep = self.tail.len().saturating_sub(ON.len() - 1);
        self.tail.drain(..keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_leave_wherever_they_are_cut() {
        for cut in 0..=4 {
            let (mut keys, typed) = (Keys::default(), b"a\x10\x11b");
            let (first, second) = typed.split_at(cut);
            let (mut sent, mut left) = keys.feed(first);
            if !left {
                let (more, now) = keys.feed(second);
                sent.extend(more);
                left = now;
            }
            assert_eq!((sent.as_slice(), left), (&b"a"[..], true), "{cut}");
        }
    }

    #[test]
    fn other_keys_arrive() {
        let mut keys = Keys::default();
        assert_eq!(keys.feed(b"\x10"), (vec![], false));
        assert_eq!(keys.feed(b"\x10"), (vec![CTRL_P], false));
        assert_eq!(keys.feed(b"x\x11"), (vec![CTRL_P, b'x', CTRL_Q], false));
    }

    #[test]
    fn the_alternate_screen_is_followed_across_cuts() {
        let text = b"a\x1b[?1049hvi\x1b[?1049l$ ";
        for cut in 0..text.len() {
            let mut screen = Alternate::default();
            screen.follow(&text[..cut]);
            let on = screen.on;
            screen.follow(&text[cut..]);
            assert!(!screen.on, "{cut}");
            assert_eq!(on, (9..19).contains(&cut), "{cut}");
        }
    }
}
