//! What can be seen of a session: the screen that its output draws (design §8: built on demand, kept nowhere).

use bytes::Bytes;

use super::Reply;
use super::desk::{self, Desk};
use crate::process::record::View;
use crate::process::screen::{Screen, Size};
use crate::process::sessions::Piece;

/// Bytes of the output's end that a screen is drawn from. Should a program have made drawing them too much work, the
/// next fewer are taken: what a screen shows depends on what came last.
const WINDOWS: &[u64] = &[1 << 20, 64 << 10, 4 << 10];

/// Cells that may be touched for one window: a fraction of a second.
const BUDGET: u64 = 60_000_000;

/// Bytes of one piece.
const PIECE: usize = 64 << 10;

/// A screen that follows the output.
#[derive(Debug)]
pub(super) struct Eyes {
    screen: Option<Screen>,
    /// Position in the output up to which it is drawn.
    at: u64,
    /// Earlier output, which may have drawn something, was not looked at.
    partial: bool,
    /// Without a terminal a line end alone begins the next line.
    piped: bool,
}

impl Eyes {
    /// Draws what the output's end shows now.
    pub(super) async fn open(desk: &Desk<'_>, view: &View) -> Result<Self, Reply> {
        for (nth, window) in WINDOWS.iter().enumerate() {
            let mut eyes = Self::blank(view, view.written.saturating_sub(*window))?;
            let last = nth + 1 == WINDOWS.len();
            let (mut work, start) = (0, eyes.at);
            while eyes.at < view.written && (last || work <= BUDGET) {
                match eyes.look(desk, view).await? {
                    Some(more) => work += more,
                    None => break,
                }
            }
            if last || work <= BUDGET {
                eyes.partial = start > 0;
                return Ok(eyes);
            }
        }
        Self::blank(view, view.written)
    }

    /// A screen of the size that the terminal was given.
    fn blank(view: &View, at: u64) -> Result<Self, Reply> {
        let size = match view.begin.tty {
            Some((rows, columns)) => Size::new(columns, rows).unwrap_or_default(),
            None => Size::default(),
        };
        let screen = Screen::new(size).map_err(|error| Reply::failed(error.to_string()))?;
        Ok(Self { screen: Some(screen), at, partial: at > 0, piped: view.begin.tty.is_none() })
    }

    /// Draws the next piece of output: how much work that was, or `None` where there is nothing new.
    pub(super) async fn look(&mut self, desk: &Desk<'_>, view: &View) -> Result<Option<u64>, Reply> {
        let pieces = desk.sessions.raw(&view.id, self.at, PIECE);
        let pieces = pieces.map_err(|error| desk::trouble("read", &view.id, &error))?;
        let Some(next) = pieces.last().map(end) else {
            return Ok(None);
        };
        let from = pieces.first().map_or(self.at, |first| first.seq);
        self.partial |= from > self.at;
        if next <= self.at {
            return Ok(None);
        }
        self.at = next;
        self.draw(pieces.into_iter().map(|piece| piece.data).collect()).await.map(Some)
    }

    /// Beside the runtime: a hostile piece takes a while.
    async fn draw(&mut self, pieces: Vec<Bytes>) -> Result<u64, Reply> {
        let lost = || Reply::failed("The screen could not be drawn.");
        let (mut screen, piped) = (self.screen.take().ok_or_else(lost)?, self.piped);
        let drawn = tokio::task::spawn_blocking(move || {
            let work = pieces.iter().map(|piece| feed(&mut screen, piece, piped)).sum::<u64>();
            (screen, work)
        });
        let (screen, work) = drawn.await.map_err(|_| lost())?;
        self.screen = Some(screen);
        Ok(work)
    }

    /// The screen.
    pub(super) fn screen(&self) -> Result<&Screen, Reply> {
        self.screen.as_ref().ok_or_else(|| Reply::failed("The screen could not be drawn."))
    }

    /// Whether earlier output was not looked at.
    pub(super) fn partial(&self) -> bool {
        self.partial
    }
}

/// The position behind a piece.
fn end(piece: &Piece) -> u64 {
    piece.seq.saturating_add(u64::try_from(piece.data.len()).unwrap_or(u64::MAX))
}

fn feed(screen: &mut Screen, bytes: &[u8], piped: bool) -> u64 {
    if !piped {
        return screen.feed(bytes);
    }
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| match line.strip_suffix(b"\n") {
            Some(line) => screen.feed(line) + screen.feed(b"\r\n"),
            None => screen.feed(line),
        })
        .sum()
}
