//! The limit on processes, by threads: they count the same and cost least.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use nix::errno::Errno;

use super::{Teller, Wanted, errno};
use crate::wire::probe::{Attempt, Outcome};

/// How many beyond the limit are tried: what is there already counts too.
const BEYOND: usize = 8;
/// Stack of a thread that only waits, in bytes.
const STACK: usize = 16 * 1024;

pub(super) fn run(wanted: &Wanted, teller: &mut Teller) {
    let Some(limit) = wanted.pids else { return };
    let done = Arc::new((Mutex::new(false), Condvar::new()));
    let mut threads = Vec::new();
    let mut refused = None;
    while threads.len() < limit.saturating_add(BEYOND) {
        let done = Arc::clone(&done);
        let wait = move || {
            let (flag, news) = &*done;
            let waiting = flag.lock().unwrap_or_else(PoisonError::into_inner);
            drop(news.wait_while(waiting, |done| !*done));
        };
        match std::thread::Builder::new().stack_size(STACK).spawn(wait) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                refused = Some(errno(&error));
                break;
            }
        }
    }
    let count = threads.len();
    let (flag, news) = &*done;
    *flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
    news.notify_all();
    for thread in threads {
        let _ = thread.join();
    }
    let outcome = refused.map_or(Outcome::Worked, |errno: Errno| Outcome::Refused(errno as i32));
    teller.tell(Attempt::ProcessLimit, "", outcome, &count.to_string());
}
