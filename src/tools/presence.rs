//! Whether somebody waits for a call.

use tokio::sync::watch;

/// Whether the caller is there. By default always: whoever called in this process has the result with the return.
#[derive(Debug, Clone, Default)]
pub struct Presence(Option<watch::Receiver<usize>>);

impl Presence {
    /// Of a call that so many wait for.
    pub fn of(waiting: watch::Receiver<usize>) -> Self {
        Self(Some(waiting))
    }

    /// Somebody waits now.
    pub fn is_here(&self) -> bool {
        self.0.as_ref().is_none_or(|waiting| *waiting.borrow() > 0)
    }

    /// Returns when somebody waits. When nobody can come any more, never: the call is then cancelled.
    pub async fn here(&self) {
        let Some(mut waiting) = self.0.clone() else { return };
        if waiting.wait_for(|count| *count > 0).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Presence {
    /// Returns when nobody waits any more.
    pub async fn gone(&self) {
        match self.0.clone() {
            Some(mut waiting) => {
                let _ = waiting.wait_for(|count| *count == 0).await;
            }
            None => std::future::pending().await,
        }
    }
}

/// It is no part of what a call says.
impl PartialEq for Presence {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Presence {}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_caller_comes_and_goes() {
        assert!(Presence::default().is_here());
        let waiting = watch::Sender::new(0);
        let presence = Presence::of(waiting.subscribe());
        assert!(!presence.is_here());
        let soon = std::time::Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, presence.here()).await.is_err());
        waiting.send_replace(1);
        tokio::time::timeout(soon, presence.here()).await.unwrap();
        waiting.send_replace(0);
        drop(waiting);
        assert!(tokio::time::timeout(soon, presence.here()).await.is_err());
    }
}
