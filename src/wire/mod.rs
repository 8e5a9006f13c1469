//! Frames and messages between the host and `creel-init`. Pure: bytes in, values out.
//!
//! A byte stream is all it needs (design §10); who may speak is settled outside it, by the kernel's word on the
//! peer. Neither side trusts the other's bytes: every length is bounded, every value checked.

mod badge;
mod codec;
mod facts;
mod frame;
mod from_init;
mod limits;
mod nonce;
mod pin;
pub mod probe;
mod to_init;

use std::fmt;

use codec::{Reader, Writer};

pub use badge::{Badge, id as parse_id};
pub use codec::WireError;
pub use facts::{Facts, PathFacts};
pub use frame::{Assembler, HEADER, MAX_FROM_INIT, MAX_PAYLOAD, MAX_TO_INIT, RawMessage};
pub use from_init::{
    Cause, Entry, Exit, FromInit, MAX_OUTPUT, OUTPUT_KIND, OUTPUT_PREFIX, Output, Refusal, Stream,
    output_fields, output_head,
};
pub use limits::{Held, Limits, Means};
pub use nonce::Nonce;
pub use pin::{Pin, PinKind};
pub use to_init::{Spawn, ToInit};

/// Version of the protocol. Another version is another container: creel recreates rather than translates.
pub const VERSION: u16 = 3;

/// Name of a command, chosen by the host: 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct CommandId(pub [u8; 16]);

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// First message in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hello {
    /// Protocol version.
    pub version: u16,
    /// Optional parts that the sender knows, as bits; none is defined yet.
    pub features: u32,
    /// Drawn when init starts: tells a restarted init from the one that was left. Zero from the host.
    pub boot: [u8; 16],
}

impl Hello {
    /// A hello of this build.
    pub fn ours(boot: [u8; 16]) -> Self {
        Self { version: VERSION, features: 0, boot }
    }

    fn write(&self, w: &mut Writer) {
        w.u16(self.version);
        w.u32(self.features);
        w.raw(&self.boot);
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Self { version: r.u16()?, features: r.u32()?, boot: r.id()?.0 })
    }
}

#[cfg(test)]
mod tests;
