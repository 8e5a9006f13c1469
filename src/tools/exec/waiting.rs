//! What host commands of one keeper share: compiled lists, the reviewer, and commands that wait for a person after their
//! calls have returned.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::task::JoinSet;

use super::lists::Compiled;
use crate::approvals::review::Reviewer;
use crate::tools::ToolResult;

/// Calls whose results are known again.
const CALLS: usize = 256;

/// What is shared. Clones are the same; with the last one whatever still waits is given up, and nothing of it runs.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    shared: Arc<Shared>,
    tasks: Tasks,
}

#[derive(Debug, Default)]
struct Shared {
    compiled: Compiled,
    reviewer: Reviewer,
    /// Results of calls that returned before their command could run, the oldest first.
    calls: Mutex<VecDeque<(String, ToolResult)>>,
}

/// Tasks end with their owner: a task holds the tools that it needs, and must not hold itself by them.
#[derive(Debug, Clone)]
enum Tasks {
    Owned(Arc<Mutex<JoinSet<()>>>),
    Lent(Weak<Mutex<JoinSet<()>>>),
}

impl Default for Tasks {
    fn default() -> Self {
        Self::Owned(Arc::default())
    }
}

impl Waiting {
    /// The same for a task: it does not keep the tasks alive.
    pub(super) fn lent(&self) -> Self {
        let tasks = match &self.tasks {
            Tasks::Owned(tasks) => Tasks::Lent(Arc::downgrade(tasks)),
            Tasks::Lent(tasks) => Tasks::Lent(Weak::clone(tasks)),
        };
        Self { shared: Arc::clone(&self.shared), tasks }
    }

    /// Goes on with work behind a call. Where the owner is gone, nothing is done.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let tasks = match &self.tasks {
            Tasks::Owned(tasks) => Some(Arc::clone(tasks)),
            Tasks::Lent(tasks) => tasks.upgrade(),
        };
        let Some(tasks) = tasks else { return };
        let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // What has ended is not kept.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Whether work goes on behind calls: whoever keeps it must not end now.
    pub fn is_busy(&self) -> bool {
        let Tasks::Owned(tasks) = &self.tasks else { return false };
        let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        !tasks.is_empty()
    }

    pub(super) fn compiled(&self) -> &Compiled {
        &self.shared.compiled
    }

    pub(super) fn reviewer(&self) -> &Reviewer {
        &self.shared.reviewer
    }

    /// The result of a call that is said again.
    pub(super) fn known(&self, call: &str) -> Option<ToolResult> {
        let calls = self.shared.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().find(|(known, _)| known == call).map(|(_, result)| result.clone())
    }

    /// Keeps the result of a call, in place of an earlier one.
    pub(super) fn keep(&self, call: &str, result: ToolResult) {
        let mut calls = self.shared.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|(known, _)| known != call);
        if calls.len() >= CALLS {
            calls.pop_front();
        }
        calls.push_back((call.to_owned(), result));
    }

    /// The call has its session now, which is found by it.
    pub(super) fn forget(&self, call: &str) {
        self.shared.calls.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != call);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_known_again_the_latest_of_each_call() {
        let waiting = Waiting::default();
        let result = |text: &str| ToolResult::new(text, json!({}));
        for call in 0..=CALLS {
            waiting.keep(&call.to_string(), result("pending"));
        }
        assert!(waiting.known("0").is_none(), "the oldest goes");
        waiting.lent().keep("1", result("denied"));
        assert_eq!(waiting.known("1"), Some(result("denied")));
        waiting.forget("1");
        assert!(waiting.known("1").is_none());
    }

    #[tokio::test]
    async fn what_waits_ends_with_its_owner() {
        struct Told(Option<tokio::sync::oneshot::Sender<()>>);
        impl Drop for Told {
            fn drop(&mut self) {
                let _ = self.0.take().map(|told| told.send(()));
            }
        }
        let (told, ended) = tokio::sync::oneshot::channel();
        let waiting = Waiting::default();
        let lent = waiting.lent();
        let guard = (Told(Some(told)), lent.clone());
        lent.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        assert!(waiting.is_busy());
        drop(waiting);
        ended.await.unwrap();
        lent.spawn(async { unreachable!("nobody owns it") });
        tokio::task::yield_now().await;
    }
}
