//! Commands beside the gateway, under a supervisor of their own: real processes of this machine, no container.

mod ground;
mod limits;
mod plain;
mod takeover;
mod terminal;
mod tree;
