//! Class 1: shell text that the gate reads differently than the shell.

use crate::{misses, passes};

#[test]
fn a001_substitution_between_double_quotes() {
    misses(&["echo"], &["echo \"$(touch MARK)\"", "echo \"`touch MARK`\""]);
    passes(&["echo"], &["echo '$(x)'", "echo \"\\$(x)\""]);
}
