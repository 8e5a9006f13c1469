//! The labels of a container: the truth about whose it is (design §10). Visible to everybody who may inspect.

use std::collections::BTreeMap;
use std::time::Duration;

use super::files::RunId;

/// Upstream's mark of a sandbox.
pub const SANDBOX: &str = "openclaw.sandbox";
/// Scope key, upstream's name.
pub const SESSION_KEY: &str = "openclaw.sessionKey";
/// Creation time in milliseconds, upstream's name.
pub const CREATED: &str = "openclaw.createdAtMs";
/// Configuration hash, upstream's name.
pub const HASH: &str = "openclaw.configHash";
/// The installation that made it.
pub const INSTALLATION: &str = "creel.installation";
/// Digest of creel-init.
pub const INIT: &str = "creel.init";
/// Epoch of the builder.
pub const EPOCH: &str = "creel.epoch";
/// Image id.
pub const IMAGE: &str = "creel.image";
/// The image reference as asked for.
pub const REFERENCE: &str = "creel.reference";
/// Name of the rendezvous directory.
pub const RUN: &str = "creel.run";
/// Idle limit in seconds, 0 for none: prune's expiry.
pub const IDLE: &str = "creel.idle";
/// Age limit in seconds, 0 for none.
pub const EXPIRES: &str = "creel.expires";

/// Made for a pool, under this key. Whose it became later stands in creel's own files only: labels cannot change.
pub const POOL: &str = "creel.pool";

/// Values of the labels of one container.
#[derive(Debug, Clone)]
pub struct Labels<'a> {
    /// The installation's 32 digits.
    pub installation: &'a str,
    /// Scope key; nobody's while it waits in a pool.
    pub scope_key: Option<&'a str>,
    /// Key of the pool that it is made for.
    pub pool: Option<&'a str>,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    /// Configuration hash.
    pub hash: &'a str,
    /// Digest of creel-init.
    pub init: &'a str,
    /// Image id.
    pub image: &'a str,
    /// Image reference.
    pub reference: &'a str,
    /// Rendezvous directory.
    pub run: &'a RunId,
    /// Idle limit.
    pub idle: Duration,
    /// Age limit.
    pub max_age: Duration,
}

impl Labels<'_> {
    /// Upstream's labels and creel's.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        let seconds = |limit: Duration| limit.as_secs().to_string();
        let own = [(SESSION_KEY, self.scope_key), (POOL, self.pool)];
        let own = own.into_iter().filter_map(|(name, value)| Some((name, value?.to_owned())));
        let all = [
            (SANDBOX, "1".to_owned()),
            (CREATED, self.created_ms.to_string()),
            (HASH, self.hash.to_owned()),
            (INSTALLATION, self.installation.to_owned()),
            (INIT, self.init.to_owned()),
            (EPOCH, super::hash::EPOCH.to_owned()),
            (IMAGE, self.image.to_owned()),
            (REFERENCE, self.reference.to_owned()),
            (RUN, self.run.as_str().to_owned()),
            (IDLE, seconds(self.idle)),
            (EXPIRES, seconds(self.max_age)),
        ];
        all.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
