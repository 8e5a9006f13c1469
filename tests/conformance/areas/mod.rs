//! One file per area of the vectors.

mod allow_always;
mod allowlist;
mod approvals;
mod binds;
mod container_args;
mod explain;
mod fixture;
mod host_env;
mod inline_eval;
mod keys;
mod policy;
mod policy_facets;
mod tool_policy;

use super::harness::Area;

/// Every area that creel answers so far; files of other areas are listed as not yet covered.
pub(crate) fn all() -> Vec<Box<dyn Area>> {
    vec![
        Box::new(allow_always::AllowAlways::default()),
        Box::new(allowlist::Allowlist::default()),
        Box::new(binds::Binds::default()),
        Box::new(container_args::ContainerArgs::default()),
        Box::new(explain::Explain),
        Box::new(inline_eval::InlineEval),
        Box::new(keys::Keys),
        Box::new(policy::Policy),
        Box::new(tool_policy::ToolPolicy),
    ]
}
