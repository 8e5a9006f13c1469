//! What holds for commands on a host, and what follows for one command (spec `approvals.md` §2, §3, §9.1, §10). Pure.
//!
//! Two sides have a say: the configuration *requests* a policy, the approvals document of the machine *limits* it.
//! The stricter of both holds; the document can never open what was not requested.
//!
//! | file | concern |
//! |---|---|
//! | [`mod@mode`] | the one word, the pair that it stands for |
//! | [`words`] | policies as people type them |
//! | [`requested`] | layers of configuration and session into the requested policy |
//! | [`mod@effective`] | requested policy and documents into what holds, each value with its source |
//! | [`mod@report`] | the same as told by `explain` and `exec-policy show` |
//! | [`call`] | what one call may change: only to the stricter |
//! | [`mod@judge`] | allow, ask or deny for one command |
//! | [`answer`] | which answers are offered, and what follows from one |
//! | [`route`] | where a command runs |
//! | [`mod@resolve`] | all of it together, for one session |
//! | [`snapshot`] | whether a policy still is what was approved under |

pub mod answer;
pub mod call;
pub mod effective;
pub mod judge;
pub mod mode;
pub mod report;
pub mod requested;
pub mod resolve;
pub mod route;
pub mod snapshot;
pub mod words;

pub use answer::{Answer, Decision, Denial, Persistence, State};
pub use call::{Call, Origin};
pub use effective::{Effective, Host, effective};
pub use judge::{Facts, Judged, Reason, judge, requires_approval};
pub use mode::{ModePolicy, PermissionMode};
pub use requested::{Layers, Requested, Source, Sourced};
pub use resolve::{Resolved, Session, resolve};
pub use route::{RouteError, Routing, Target};

#[cfg(test)]
mod tests;
