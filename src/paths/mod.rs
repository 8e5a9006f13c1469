//! Host paths: what may be mounted into a sandbox, and proof that it was.
//!
//! One resolver and one bind validator for every kind of container. A path is looked at twice, as it was
//! written and as it resolves, and refused when either look refuses it. What passed can be opened and held
//! ([`hold`]), so that the mount that the engine made can be compared with what was judged.
//!
//! | file | concern |
//! |---|---|
//! | [`lexical`] | rules on text: clean, inside |
//! | [`resolve`] | the only caller of `canonicalize` |
//! | [`deny`] | host paths that no sandbox gets |
//! | [`mounts`] | the kernel's mount table |
//! | [`places`] | the same host paths under the names that mounts give them |
//! | [`bind`] | `host:container[:options]` into a typed value |
//! | [`policy`] | what decides over a bind: roots, reserved targets, flags |
//! | [`validate()`] | the verdict over one bind |
//! | [`workspace`] | the same deny list for a workspace directory |
//! | [`protected`] | directories of a workspace that its sandbox must not change |
//! | [`select`] | which of several mounts on one target wins |
//! | [`workdir`] | the working directory that a call asks for, mapped into the sandbox |
//! | [`workdir_host`] | the same beside the gateway, opened |
//! | [`make`] | directories made without following a link |
//! | [`given`] | texts of files that people name |
//! | [`hold`] | a descriptor on the resolved source |

pub mod bind;
pub mod deny;
mod deny_table;
mod error;
pub mod given;
pub mod hold;
pub mod lexical;
pub mod make;
pub mod mounts;
pub mod places;
pub mod policy;
pub mod protected;
pub mod resolve;
pub mod select;
pub mod validate;
pub mod workdir;
pub mod workdir_host;
pub mod workspace;

pub use bind::{BindSpec, BindSyntax};
pub use deny::{DenyEnv, DenyGroup, DenyHit, DenyList};
pub use error::{BindError, BindRefusal, Special};
pub use hold::{HeldSource, HoldError, SourceIdentity};
pub use places::{MountHit, Shown};
pub use policy::BindPolicy;
pub use validate::{ValidBind, validate, validate_all};
pub use workdir::{GuestDir, Mounted, WorkdirError, guest_dir};
pub use workdir_host::host_dir;
pub use workspace::{WorkspaceError, check_place, check_workspace};
