//! Public advisories, class by class: each row with what must be noticed and a twin that must not be. The numbers are those of
//! the rows (`A001` …).

#![expect(clippy::unwrap_used, reason = "tests: a failure here is a failed test")]

mod class1;
mod class2;
mod class3;
mod class4;
mod class5;
mod class8;
mod class8_desk;
mod machine;
