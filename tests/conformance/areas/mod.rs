//! One file per area of the vectors.

mod binds;
mod container_args;
mod explain;
mod fixture;
mod host_env;
mod keys;
mod tool_policy;

use super::harness::Area;

/// Every area that creel answers so far; files of other areas are listed as not yet covered.
pub(crate) fn all() -> Vec<Box<dyn Area>> {
    vec![
        Box::new(binds::Binds::default()),
        Box::new(container_args::ContainerArgs::default()),
        Box::new(explain::Explain),
        Box::new(keys::Keys),
        Box::new(tool_policy::ToolPolicy),
    ]
}
