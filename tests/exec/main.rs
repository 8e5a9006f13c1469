//! Commands in sandboxes on the real engine, over both transports.
//!
//! Most tests are tables: each case runs through creel-init and through the engine's exec API, is held against what
//! is written down, and both results are held against each other in the fields that both have.

#[cfg(test)]
mod case;
#[cfg(test)]
mod lab;

#[cfg(test)]
mod content;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod images;
#[cfg(test)]
mod input;
#[cfg(test)]
mod leftovers;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod many;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod volume;
