//! What can be seen of a session: the screen that its output draws (design §8: built on demand, kept nowhere).

use std::collections::VecDeque;

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

/// Bytes of a glance.
const GLANCE: usize = 4 << 10;

/// How much is drawn at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Portion {
    /// All that was read.
    Piece,
    /// So little that nothing it prints line by line scrolls away before it is seen.
    Glance,
}

/// A screen that follows the output.
#[derive(Debug)]
pub(super) struct Eyes {
    screen: Option<Screen>,
    /// Position in the output up to which it was read.
    at: u64,
    /// Read, and not drawn yet.
    ahead: VecDeque<Bytes>,
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
                match eyes.look(desk, view, Portion::Piece).await? {
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
        let ahead = VecDeque::new();
        Ok(Self { screen: Some(screen), at, ahead, partial: at > 0, piped: view.begin.tty.is_none() })
    }

    /// Draws the next piece of output: how much work that was, or `None` where there is nothing new.
    pub(super) async fn look(
        &mut self,
        desk: &Desk<'_>,
        view: &View,
        most: Portion,
    ) -> Result<Option<u64>, Reply> {
        if self.ahead.is_empty() {
            self.read_on(desk, view)?;
        }
        let pieces: Vec<Bytes> = match most {
            Portion::Piece => self.ahead.drain(..).collect(),
            Portion::Glance => {
                let rows = usize::from(self.screen()?.size().rows());
                self.ahead.pop_front().map(|piece| self.glance(piece, rows / 2)).into_iter().collect()
            }
        };
        if pieces.is_empty() { Ok(None) } else { self.draw(pieces).await.map(Some) }
    }

    fn read_on(&mut self, desk: &Desk<'_>, view: &View) -> Result<(), Reply> {
        let pieces = desk.sessions.raw(&view.id, self.at, PIECE);
        let pieces = pieces.map_err(|error| desk::trouble("read", &view.id, &error))?;
        for piece in pieces {
            self.partial |= piece.seq > self.at;
            self.at = end(&piece);
            self.ahead.push_back(piece.data);
        }
        Ok(())
    }

    /// The beginning of a piece, up to `lines` line ends: what it prints can still be seen when it is drawn.
    fn glance(&mut self, mut piece: Bytes, lines: usize) -> Bytes {
        let ends = piece.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let cut = ends.map(|(at, _)| at + 1).nth(lines).unwrap_or(piece.len()).min(GLANCE);
        let now = piece.split_to(cut);
        if !piece.is_empty() {
            self.ahead.push_front(piece);
        }
        now
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
