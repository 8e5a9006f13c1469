//! Programs that only filter their input (spec `approvals.md` §6): name, trusted directory and every argument must fit a
//! profile. Pure.

use super::programs::Program;

/// Where the system's own programs are.
const SYSTEM: &[&str] = &["/bin", "/usr/bin"];

/// The programs that are configured, with their profiles and trusted directories.
#[derive(Debug, Clone, Default)]
pub struct SafeBins {}

impl SafeBins {
    /// Whether a command only filters its input.
    pub fn covers(&self, program: &Program, arguments: &[String]) -> bool {
        let _ = (program, arguments);
        false
    }

    /// Whether a program is one of the system's: its file lies directly in a trusted directory.
    pub fn system(&self, program: &Program) -> bool {
        let _ = self;
        program
            .real
            .parent()
            .is_some_and(|parent| SYSTEM.iter().any(|system| parent == std::path::Path::new(system)))
    }
}
