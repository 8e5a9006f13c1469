//! One command over a connection to init.

use std::time::Duration;

use tokio::sync::mpsc;

use super::LinkError;
use super::link::{ACK_EVERY, Event, Link, lock};
use crate::wire::{CommandId, ToInit};

/// One command over a link: its events, and requests about it.
#[derive(Debug)]
pub struct Channel {
    pub(super) link: Link,
    pub(super) id: CommandId,
    /// Init frees what its owner acknowledges, and refuses that from anybody else.
    pub(super) own: bool,
    pub(super) events: mpsc::Receiver<Event>,
    pub(super) taken: u64,
    pub(super) acked: u64,
    pub(super) unacked: u64,
    /// Init forgets the command as soon as its result arrives; otherwise when [`Channel::forget`] says so.
    pub(super) forgets: bool,
}

impl Channel {
    /// The command's name.
    pub fn id(&self) -> CommandId {
        self.id
    }

    /// The connection that it goes over.
    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// Output before this position has been handed out; where another connection can go on.
    pub fn position(&self) -> u64 {
        self.taken
    }

    /// The next event. Asking for it means that the one before has been dealt with: its output is acknowledged.
    pub async fn next(&mut self) -> Result<Event, LinkError> {
        // A connection that is over still has what it brought: output and result that wait here come first.
        let _ = self.acknowledge(ACK_EVERY);
        let Some(event) = self.events.recv().await else { return Err(self.link.lost()) };
        match &event {
            Event::Output { seq, data, .. } => {
                let size = u64::try_from(data.len()).unwrap_or(0);
                self.unacked += size;
                self.taken = seq.saturating_add(size);
            }
            // Init keeps the result until it knows that we have it.
            Event::Exit(_) if self.own && self.forgets => {
                let _ = self.forget();
            }
            _ => {}
        }
        Ok(event)
    }

    /// Tells init that everything handed out so far may be forgotten.
    pub fn acknowledge_all(&mut self) -> Result<(), LinkError> {
        self.acknowledge(1)
    }

    fn acknowledge(&mut self, least: u64) -> Result<(), LinkError> {
        if self.taken - self.acked < least {
            return Ok(());
        }
        self.acked = self.taken;
        if let Some(watcher) = lock(&self.link.shared.table).commands.get_mut(&self.id) {
            watcher.outstanding = watcher.outstanding.saturating_sub(std::mem::take(&mut self.unacked));
        }
        if !self.own {
            return Ok(());
        }
        self.request(&ToInit::Ack { id: self.id, seq: self.taken })
    }

    /// Tells init that the result is safe here.
    pub fn forget(&self) -> Result<(), LinkError> {
        self.request(&ToInit::Forget { id: self.id })
    }

    /// Changes how long the command may live without an owner; `None` is for ever.
    pub fn lease(&self, lease: Option<Duration>) -> Result<(), LinkError> {
        let lease_ms = lease.map_or(0, |lease| u64::try_from(lease.as_millis()).unwrap_or(u64::MAX).max(1));
        self.request(&ToInit::Lease { id: self.id, lease_ms })
    }

    /// Sends bytes for standard input at `offset`.
    pub fn stdin(&self, offset: u64, data: Vec<u8>, eof: bool) -> Result<(), LinkError> {
        self.request(&ToInit::Stdin { id: self.id, offset, eof, data })
    }

    /// Sends a signal to every process of the command.
    pub fn signal(&self, signal: i32) -> Result<(), LinkError> {
        self.request(&ToInit::Signal { id: self.id, signal })
    }

    /// Ends the command's tree: TERM, and KILL after `grace`.
    pub fn kill(&self, grace: Duration) -> Result<(), LinkError> {
        let grace_ms = u32::try_from(grace.as_millis()).unwrap_or(u32::MAX);
        self.request(&ToInit::Kill { id: self.id, grace_ms })
    }

    /// Gives the terminal a new size.
    pub fn resize(&self, rows: u16, cols: u16) -> Result<(), LinkError> {
        self.request(&ToInit::Resize { id: self.id, rows, cols })
    }

    fn request(&self, message: &ToInit) -> Result<(), LinkError> {
        self.link.send(message)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        lock(&self.link.shared.table).commands.remove(&self.id);
    }
}
