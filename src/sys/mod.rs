//! Every `unsafe` block of the crate, one file per kernel interface, each with the reason it is needed and sound.
