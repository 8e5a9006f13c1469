//! Meets the init of a sandbox: offers a socket in its rendezvous directory and proves who dials.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use super::{Awaited, LinkError};
use crate::wire::{Assembler, FromInit, Hello, Nonce, ToInit, VERSION};

/// Strangers that may dial before the meeting is given up; each is a process of the sandbox that is not its PID 1.
/// Init dials a full queue again only every few milliseconds, in which strangers dial a hundred times: with fewer,
/// they would decide whether it is met.
const MAX_STRANGERS: u32 = 50_000;
/// Bytes that a proof may take: two short messages.
const MAX_PROOF: usize = 1024;

/// Peers that may be asked for the nonce at a time, and how long one may take to answer.
const MAX_ASKED: usize = 64;
const ANSWER: Duration = Duration::from_secs(2);

/// Waits until the container's PID 1 dials a socket in `dir`.
///
/// Any process in the container can see the socket, so who dials is proven: by the kernel's word on the peer, or by the
/// nonce (design §3). The socket is gone when this returns, so nobody can dial it later.
pub(super) async fn meet(dir: &Path, peer: Awaited, within: Duration) -> Result<UnixStream, LinkError> {
    let offer = Offer::new(dir)?;
    let accept = async {
        match peer {
            Awaited::Kernel(pid1) => by_kernel(&offer, dir, pid1).await,
            Awaited::Nonce(nonce) => by_nonce(&offer, nonce).await,
        }
    };
    match tokio::time::timeout(within, accept).await {
        Ok(result) => result,
        Err(_) => Err(LinkError::NoAnswer { dir: dir.to_owned(), after: within }),
    }
}

async fn by_kernel(offer: &Offer, dir: &Path, pid1: i32) -> Result<UnixStream, LinkError> {
    let mut strangers = Strangers::default();
    loop {
        let stream = offer.accept().await?;
        let peer = stream.peer_cred().map_err(offer.failed("read the peer of"))?;
        match peer.pid() {
            Some(pid) if pid == pid1 => return Ok(stream),
            Some(0) | None => return Err(LinkError::Unproven { dir: dir.to_owned() }),
            Some(_) => strangers.another()?,
        }
    }
}

/// Asks everybody who dials, several at a time: one that keeps silent must not keep init out.
async fn by_nonce(offer: &Offer, nonce: Nonce) -> Result<UnixStream, LinkError> {
    let (mut strangers, mut asked) = (Strangers::default(), tokio::task::JoinSet::new());
    loop {
        tokio::select! {
            stream = offer.accept(), if asked.len() < MAX_ASKED => {
                let stream = stream?;
                asked.spawn(tokio::time::timeout(ANSWER, ask(stream, nonce)));
            }
            Some(answer) = asked.join_next() => match answer {
                Ok(Ok(Some(stream))) => return Ok(stream),
                _ => strangers.another()?,
            },
        }
    }
}

/// Returns the connection of a peer that knows the nonce. A second greeting, later, is answered like the first.
async fn ask(mut stream: UnixStream, nonce: Nonce) -> Option<UnixStream> {
    let mut question = Vec::new();
    ToInit::Hello(Hello::ours([0; 16])).encode(&mut question);
    ToInit::Prove.encode(&mut question);
    stream.write_all(&question).await.ok()?;
    let (mut assembler, mut bytes) = (Assembler::new(MAX_PROOF), Vec::new());
    while bytes.len() < MAX_PROOF {
        let (used, message) = assembler.next(&bytes).ok()?;
        let message =
            message.map(|message| FromInit::decode(message.kind, &message.payload)).transpose().ok()?;
        bytes.drain(..used);
        match message {
            Some(FromInit::Hello(hello)) if hello.version == VERSION => {}
            // Init says nothing that it was not asked.
            Some(FromInit::Nonce(told)) => return (told == nonce && bytes.is_empty()).then_some(stream),
            Some(_) => return None,
            None if stream.read_buf(&mut bytes).await.ok()? == 0 => return None,
            None => {}
        }
    }
    None
}

/// Counts those who are not awaited.
#[derive(Debug, Default)]
struct Strangers(u32);

impl Strangers {
    fn another(&mut self) -> Result<(), LinkError> {
        self.0 += 1;
        if self.0 == 1 {
            // Said once: the sandbox must not be able to fill the log.
            tracing::warn!("a process that is not PID 1 of the sandbox dialled; refused");
        }
        if self.0 > MAX_STRANGERS { Err(LinkError::Flooded { strangers: self.0 }) } else { Ok(()) }
    }
}

/// A listening socket in the rendezvous directory; removed on drop.
struct Offer {
    listener: UnixListener,
    path: PathBuf,
}

impl Offer {
    /// Binds under another name and renames when it listens, so that init never dials too early. The address goes
    /// through a descriptor of the directory: socket addresses are at most 108 bytes, state directories are not.
    fn new(dir: &Path) -> Result<Self, LinkError> {
        let fail = |action, path: &Path| {
            let path = path.to_owned();
            move |source| LinkError::Rendezvous { path, action, source }
        };
        let nonce = crate::state::random_hex::<8>().map_err(fail("draw a name in", dir))?;
        let handle = std::fs::File::open(dir).map_err(fail("open", dir))?;
        let short = format!("/proc/self/fd/{}/.h-{nonce}", std::os::fd::AsRawFd::as_raw_fd(&handle));
        let (draft, path) = (dir.join(format!(".h-{nonce}")), dir.join(format!("h-{nonce}.sock")));
        let listener = UnixListener::bind(&short).map_err(fail("bind a socket in", dir))?;
        let placed = std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o666))
            .and_then(|()| std::fs::rename(&draft, &path));
        if let Err(source) = placed {
            let _ = std::fs::remove_file(&draft);
            return Err(fail("place a socket in", dir)(source));
        }
        Ok(Self { listener, path })
    }

    async fn accept(&self) -> Result<UnixStream, LinkError> {
        self.listener.accept().await.map(|(stream, _)| stream).map_err(self.failed("accept"))
    }

    fn failed(&self, action: &'static str) -> impl Fn(std::io::Error) -> LinkError {
        let path = self.path.clone();
        move |source| LinkError::Rendezvous { path: path.clone(), action, source }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream as Blocking;

    use super::*;

    /// The socket that is offered in `dir`.
    async fn offered(dir: &Path) -> PathBuf {
        loop {
            let mut entries = std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
            if let Some(path) = entries.find(|path| path.extension().is_some_and(|ext| ext == "sock")) {
                return path;
            }
            tokio::task::yield_now().await;
        }
    }

    fn greeting(nonce: [u8; 32], more: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        FromInit::Hello(Hello::ours([1; 16])).encode(&mut bytes);
        FromInit::Nonce(Nonce(nonce)).encode(&mut bytes);
        bytes.extend_from_slice(more);
        bytes
    }

    /// Who is silent, who guesses, who talks too much, and who floods: none of them keeps init out.
    #[tokio::test]
    async fn only_the_nonce_is_met() {
        use std::io::Write as _;
        let dir = tempfile::tempdir().unwrap();
        let meeting = meet(dir.path(), Awaited::Nonce(Nonce([9; 32])), Duration::from_secs(30));
        let dialling = async {
            let path = offered(dir.path()).await;
            let mut kept = Vec::new();
            for lie in [Vec::new(), greeting([8; 32], b""), greeting([9; 32], b"x"), vec![0xff; 64]] {
                for _ in 0..10 {
                    let mut stream = Blocking::connect(&path).unwrap();
                    // Refused ones may be closed before they have said everything.
                    let _ = stream.write_all(&lie);
                    kept.push(stream);
                }
            }
            let mut init = UnixStream::connect(&path).await.unwrap();
            init.write_all(&greeting([9; 32], b"")).await.unwrap();
            // What is said over the connection that was met arrives here.
            let mut question = vec![0; 64];
            let asked = init.read(&mut question).await.unwrap();
            assert!(asked > 0);
            (init, kept)
        };
        let (met, (mut init, _kept)) = tokio::join!(meeting, dialling);
        let mut met = met.unwrap();
        met.write_all(b"to init").await.unwrap();
        drop(met);
        let mut heard = Vec::new();
        init.read_to_end(&mut heard).await.unwrap();
        assert!(heard.ends_with(b"to init"));
        assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none(), "the socket is gone");
    }

    #[tokio::test]
    async fn nobody_with_the_nonce_is_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let met = meet(dir.path(), Awaited::Nonce(Nonce([9; 32])), Duration::from_millis(50)).await;
        assert!(matches!(met, Err(LinkError::NoAnswer { .. })), "{met:?}");
    }
}
