//! Class 2: wrappers, dispatchers and carriers.

use crate::{misses, passes};

#[test]
fn a029_env_in_front_of_a_shell() {
    misses(&["env", "/usr/bin/env", "bash"], &["env bash -c 'touch MARK'"]);
    passes(&["git"], &["env git status"]);
}
