//! The tool `process` as an agent calls it, over sessions in a real sandbox.

#[cfg(test)]
#[path = "../sessions/lab.rs"]
#[expect(dead_code, reason = "shared with the tests of the sessions themselves")]
mod lab;

#[cfg(test)]
mod bench;

#[cfg(test)]
mod life;
#[cfg(test)]
mod output;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod waiting;
