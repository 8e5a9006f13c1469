//! Who is asked before a person, and how. Pure.

use serde_json::Value;

use super::finding::{Finding, Severity};
use super::raw::{self, at};
use crate::config::Document;

/// A key that travels where others can read it.
pub(super) fn checks(document: &Document) -> Vec<Finding> {
    let root = document.root();
    let global =
        at(root, &["tools", "exec", "reviewer"]).map(|block| ("tools.exec.reviewer".to_owned(), block));
    let agents = raw::agents(root).into_iter().filter_map(|layer| {
        let block = at(layer.block, &["tools", "exec", "reviewer"])?;
        Some((format!("{}.tools.exec.reviewer", layer.key), block))
    });
    let one = |(key, block): (String, &Value)| {
        let text = |name: &str| block.get(name).and_then(Value::as_str);
        text("keyEnv")?;
        let uri = text("url")?.trim().parse::<hyper::Uri>().ok()?;
        let host = uri.host()?.trim_matches(['[', ']']);
        let local = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        (uri.scheme_str() == Some("http") && !local).then(|| {
            Finding::new(
                "tools.exec.reviewer_key_in_clear",
                Severity::Warn,
                "The reviewer's key is sent unencrypted",
                format!("{key}: the key of keyEnv and every reviewed command go to {host} over http"),
                "use https, or an endpoint on this machine",
            )
            .at(document, &format!("{key}.url"))
        })
    };
    global.into_iter().chain(agents).filter_map(one).collect()
}
