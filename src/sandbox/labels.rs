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

/// Every label that creel gives; who made a container says with the whole of them.
pub const ALL: [&str; 13] = [
    SANDBOX,
    SESSION_KEY,
    CREATED,
    HASH,
    INSTALLATION,
    INIT,
    EPOCH,
    IMAGE,
    REFERENCE,
    RUN,
    IDLE,
    EXPIRES,
    POOL,
];

/// Labels that every container of creel's has and this one has not, or not with a value of creel's. Of a container's
/// labels anybody may choose any: one alone proves nothing.
pub fn lacking(labels: &BTreeMap<String, String>) -> Vec<&'static str> {
    let number = |value: &str| value.parse::<u64>().is_ok();
    let sound = |name: &str| {
        let value = labels.get(name).map(String::as_str);
        match name {
            SANDBOX => value == Some("1"),
            CREATED | IDLE | EXPIRES => value.is_some_and(number),
            RUN => value.is_some_and(|value| RunId::parse(value).is_some()),
            // One or the other: a session's own, or a pool's.
            SESSION_KEY => value.is_some() || labels.contains_key(POOL),
            POOL => true,
            _ => value.is_some_and(|value| !value.is_empty()),
        }
    };
    ALL.into_iter().filter(|name| !sound(name)).collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(pool: Option<&str>) -> BTreeMap<String, String> {
        let run = RunId::parse("0123456789abcdef").unwrap();
        Labels {
            installation: "0",
            scope_key: pool.is_none().then_some("agent:main"),
            pool,
            created_ms: 1,
            hash: "h",
            init: "i",
            image: "sha256:0",
            reference: "a:b",
            run: &run,
            idle: Duration::ZERO,
            max_age: Duration::ZERO,
        }
        .to_map()
    }

    #[test]
    fn all_are_known_and_none_may_lack() {
        for pool in [None, Some("p")] {
            let labels = ours(pool);
            assert!(labels.keys().all(|name| ALL.contains(&name.as_str())), "{labels:?}");
            assert!(lacking(&labels).is_empty(), "{:?}", lacking(&labels));
        }
        let alone = [(INSTALLATION.to_owned(), "0".to_owned())].into();
        assert_eq!(lacking(&alone).len(), ALL.len() - 2);
        for (name, value) in [(CREATED, "soon"), (RUN, "../x"), (IMAGE, ""), (SANDBOX, "0")] {
            let mut labels = ours(None);
            labels.insert(name.to_owned(), value.to_owned());
            assert_eq!(lacking(&labels), [name]);
        }
    }
}
