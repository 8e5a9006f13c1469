//! Commands on the gateway's host.
