//! Process sessions on the real engine: output, ends, requests, and what is left when creel is killed.

#[cfg(test)]
mod lab;

#[cfg(test)]
mod attacked;
#[cfg(test)]
mod basics;
#[cfg(test)]
mod chaos;
#[cfg(test)]
mod crowd;
#[cfg(test)]
mod deaths;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod input;
