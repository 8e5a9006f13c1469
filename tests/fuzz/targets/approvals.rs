//! The approvals document: any text is read or refused; what is read is written so that it is read the same, and
//! what is refused leaves nothing open.

#![no_main]

use std::path::Path;

use creel::approvals::document::{Document, Found, Standing, hold};
use creel::config::exec::Security;
use creel::session::AgentId;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let file = Path::new("/state/exec-approvals.json");
    let main = AgentId::main();
    let held = hold(&Found::Text(text), file, None);
    let rules = held.document.rules(Some(&main));
    match &held.standing {
        Standing::Current => {
            let written = held.document.to_text();
            let again = Document::parse(&written, file).expect("what was written is a document");
            assert_eq!(again, held.document);
            assert_eq!(again.to_text(), written);
        }
        Standing::Closed(error) => {
            assert!(!error.to_string().is_empty());
            assert_eq!(rules.security.map(|set| set.value), Some(Security::Deny));
        }
        other => panic!("{other:?}"),
    }
    assert!(rules.allowlist.iter().all(|entry| !entry.pattern.trim().is_empty()));
});
