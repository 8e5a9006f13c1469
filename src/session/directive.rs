//! `/exec` and `/elevated` in a message (spec `exec.md` §9.1, §10). Pure.
//!
//! A slash word in a message must not configure execution for a stranger: whose words are directives is decided here,
//! before anything is read out of them.

use super::overrides::{Change, OverrideError, Overrides, option};
use crate::policy::Level;

/// Who wrote a message, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writer {
    /// Channel allowlists, pairing and access groups let the sender give commands; the owner always may.
    pub authorized: bool,
    /// The sender may store choices: authorised in a channel, `operator.admin` for a client of the gateway.
    pub may_store: bool,
    /// In a group, and the agent was not addressed.
    pub unmentioned: bool,
}

/// What a message asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// For this message, from its directives.
    pub inline: Change,
    /// For the session; empty where nothing is stored.
    pub stored: Change,
    /// Something would have been stored, and its writer may not.
    pub not_stored: bool,
    /// The state is asked for.
    pub shows: Shows,
    /// Directives that are not understood; nothing of the message's directives holds then.
    pub errors: Vec<OverrideError>,
    /// The message without its directives.
    pub rest: String,
}

/// Which state is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shows {
    /// `/exec` without options.
    pub exec: bool,
    /// `/elevated` without a level.
    pub elevated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Exec,
    Elevated,
}

/// Reads a message. From whoever may not give commands it is ordinary prose.
pub fn read(text: &str, writer: Writer) -> Reading {
    if !writer.authorized {
        return Reading { rest: text.to_owned(), ..Reading::default() };
    }
    let mut scan = Scan::default();
    scan.run(text);
    let rest = scan.rest.join(" ");
    let mut reading = Reading { errors: scan.errors, rest, ..Reading::default() };
    if !reading.errors.is_empty() {
        return reading;
    }
    let mut exec = scan.exec.unwrap_or_default();
    let mut level = scan.level;
    if writer.unmentioned {
        // Who merely passes by may close, never open.
        exec = if exec.only_denies() { exec } else { Change::default() };
        level = level.filter(|level| *level == Level::Off);
    } else {
        reading.shows = scan.shows;
    }
    let change = Change { elevated: level.map(Some), ..exec };
    if !reading.rest.is_empty() {
        reading.inline = change.in_passing();
        return reading;
    }
    if let Some(word) = scan.stray {
        reading.errors.push(OverrideError::Unknown(word));
        return reading;
    }
    reading.not_stored = !change.is_empty() && !writer.may_store;
    reading.stored = if writer.may_store { change } else { Change::default() };
    reading
}

/// The pieces of a message.
#[derive(Debug, Default)]
struct Scan {
    exec: Option<Change>,
    level: Option<Level>,
    shows: Shows,
    errors: Vec<OverrideError>,
    stray: Option<String>,
    rest: Vec<String>,
}

impl Scan {
    fn run(&mut self, text: &str) {
        let mut words = text.split_whitespace().peekable();
        let mut taken = false;
        while let Some(word) = words.next() {
            match directive(word) {
                Some((Name::Elevated, glued)) => {
                    taken = true;
                    let level = glued.or_else(|| words.next_if(|word| directive(word).is_none()));
                    self.elevated(level);
                }
                Some((Name::Exec, glued)) => {
                    taken = true;
                    let mut change = Change::default();
                    let mut options = glued;
                    let mut any = false;
                    while let Some(word) = options.take().or_else(|| words.next_if(|word| is_option(word))) {
                        any = true;
                        self.option(&mut change, word);
                    }
                    self.shows.exec |= !any;
                    self.exec = Some(change);
                }
                None => self.rest.push(word.to_owned()),
            }
        }
        if !taken {
            // Untouched, with its own white space.
            self.rest = vec![text.trim().to_owned()];
        }
    }

    fn option(&mut self, change: &mut Change, word: &str) {
        let set = option(word).map_or(Ok(false), |(key, value)| change.set(key, value));
        match set {
            Ok(true) => {}
            Ok(false) => self.stray = Some(word.to_owned()),
            Err(error) => self.errors.push(error),
        }
    }

    fn elevated(&mut self, word: Option<&str>) {
        match word.map(|word| (Level::parse(word), word)) {
            None => self.shows.elevated = true,
            Some((Some(level), _)) => self.level = Some(level),
            Some((None, word)) => self.errors.push(OverrideError::Value {
                key: "elevated",
                value: crate::shown::one_line(word).chars().take(80).collect(),
                valid: "off, on, ask, full",
            }),
        }
    }
}

/// The directive that a word is, and what is glued to it by a colon.
fn directive(word: &str) -> Option<(Name, Option<&str>)> {
    let (head, glued) = match word.split_once(':') {
        Some((head, rest)) => (head, Some(rest).filter(|rest| !rest.is_empty())),
        None => (word, None),
    };
    let name = match head.to_ascii_lowercase().as_str() {
        "/exec" => Name::Exec,
        "/elevated" | "/elev" => Name::Elevated,
        _ => return None,
    };
    Some((name, glued))
}

fn is_option(word: &str) -> bool {
    let known = ["host", "security", "ask", "node"];
    option(word).is_some_and(|(key, _)| known.iter().any(|known| key.eq_ignore_ascii_case(known)))
}

/// What a session has chosen, as the reply to a bare directive lists it.
pub fn shown(chosen: &Overrides, effective_host: &str) -> String {
    fn word<T: serde::Serialize>(value: Option<T>) -> String {
        let text = value.and_then(|value| serde_json::to_value(value).ok()?.as_str().map(str::to_owned));
        text.unwrap_or_else(|| "(unset)".to_owned())
    }
    format!(
        "host={} (effective: {effective_host}), security={}, ask={}, node={}, elevated={}\noptions: \
         host=auto|sandbox|gateway|node, security=deny|allowlist|full, ask=off|on-miss|always, node=<id>; \
         /elevated off|on|ask|full",
        word(chosen.host),
        word(chosen.security),
        word(chosen.ask),
        word(chosen.node.as_deref()),
        word(chosen.elevated),
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::config::exec::{Ask, ExecHost, Security};

    const OWNER: Writer = Writer { authorized: true, may_store: true, unmentioned: false };

    #[test]
    fn alone_it_is_stored_and_with_other_text_it_passes() {
        let read_by_owner = |text: &str| read(text, OWNER);
        let alone = read_by_owner("/exec host=auto security=allowlist ask=on-miss node=mac-1");
        assert_eq!(alone.stored.host, Some(Some(ExecHost::Auto)));
        assert_eq!(alone.stored.node, Some(Some("mac-1".to_owned())));
        assert!(alone.inline.is_empty() && alone.rest.is_empty());
        let with = read_by_owner("please /exec host=gateway ask:always list the files");
        assert_eq!((with.inline.host, with.inline.ask), (None, Some(Some(Ask::Always))));
        assert!(with.stored.is_empty());
        assert_eq!(with.rest, "please list the files");
        for (text, level) in [
            ("/elevated on", Level::Ask),
            ("/elev full", Level::Full),
            ("/ELEVATED: off", Level::Off),
            ("/elevated:auto-approve", Level::Full),
        ] {
            assert_eq!(read_by_owner(text).stored.elevated, Some(Some(level)), "{text}");
        }
        let both = read_by_owner("/elevated off /exec security=deny");
        assert_eq!(
            (both.stored.elevated, both.stored.security),
            (Some(Some(Level::Off)), Some(Some(Security::Deny)))
        );
    }

    #[test]
    fn position_decides_what_is_a_directive() {
        for text in ["see /executable", "a/exec host=node", "x/elevated on", "/execute", "what is exec?"] {
            let reading = read(text, OWNER);
            assert_eq!(reading, Reading { rest: text.to_owned(), ..Reading::default() }, "{text}");
        }
        assert!(read("/exec", OWNER).shows.exec && read("/elevated", OWNER).shows.elevated);
    }

    #[test]
    fn strangers_write_prose_and_passers_by_can_only_close() {
        let stranger = Writer { authorized: false, may_store: false, unmentioned: false };
        assert_eq!(read("/exec security=full", stranger).rest, "/exec security=full");
        assert!(read("/exec security=full", stranger).stored.is_empty());
        let passing = Writer { unmentioned: true, ..OWNER };
        assert!(read("/exec security=full", passing).stored.is_empty());
        assert!(read("/elevated on", passing).stored.is_empty());
        assert_eq!(read("/exec security=deny", passing).stored.security, Some(Some(Security::Deny)));
        assert_eq!(read("/elevated off", passing).stored.elevated, Some(Some(Level::Off)));
        let guest = Writer { may_store: false, ..OWNER };
        let reading = read("/exec security=full", guest);
        assert!(reading.not_stored && reading.stored.is_empty());
    }

    #[test]
    fn what_is_not_understood_changes_nothing() {
        for text in ["/exec security=ful ask=off", "/exec node=", "/elevated maybe"] {
            let reading = read(text, OWNER);
            assert_eq!(reading.errors.len(), 1, "{text}");
            assert!(reading.stored.is_empty() && reading.inline.is_empty(), "{text}");
        }
    }
}
