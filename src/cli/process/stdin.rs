//! Standard input in pieces, read on a thread of its own: a blocking read cannot be cancelled, and the process does not
//! wait for it.

use std::io::Read as _;

use tokio::sync::mpsc;

/// Bytes read at once.
const CHUNK: usize = 4096;

/// The pieces; the end is the end of the channel.
pub(super) fn pieces() -> mpsc::Receiver<Vec<u8>> {
    let (sender, pieces) = mpsc::channel(4);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let mut piece = vec![0; CHUNK];
            match stdin.read(&mut piece) {
                Ok(0) => return,
                Ok(count) => {
                    piece.truncate(count);
                    if sender.blocking_send(piece).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    pieces
}
