//! Whether a list names the sender of a message (spec `sandbox.md` §18.4, §19.1).
//!
//! Ids mean something within their channel only. Names are chosen by whoever bears them, so they count only where
//! an entry says with its prefix that it means a name. Recipients and group ids are nobody's identity: there is
//! no field for them.

use super::lists::{Entry, List, SenderScope};

/// Who sent a message, as the channel vouches for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    /// The channel.
    pub channel: Option<String>,
    /// The sender's id in the channel.
    pub id: Option<String>,
    /// The address that a direct chat came from. Not set in a group: it would be the group's.
    pub direct_from: Option<String>,
    /// The telephone number.
    pub e164: Option<String>,
    /// The user name.
    pub username: Option<String>,
    /// The display name.
    pub name: Option<String>,
    /// The tag.
    pub tag: Option<String>,
}

/// The first entry that names the sender. A blank or missing list names nobody.
pub fn find<'a>(list: &'a List, sender: &Sender) -> Option<&'a Entry> {
    list.entries.iter().find(|entry| names(&entry.text, sender))
}

/// Whether a list names everybody.
pub fn is_open(list: &List) -> bool {
    list.entries.iter().any(|entry| entry.text.trim() == "*")
}

fn names(entry: &str, sender: &Sender) -> bool {
    let entry = entry.trim();
    if entry == "*" {
        return true;
    }
    let channel = sender.channel.as_deref();
    let same_id = |wanted: &str, field: &Option<String>| {
        let wanted = id(wanted, channel);
        !wanted.is_empty() && field.as_deref().is_some_and(|field| id(field, channel) == wanted)
    };
    let same_number = |wanted: &str| {
        let number = digits(&id(wanted, channel));
        number.is_some() && sender.e164.as_deref().and_then(digits) == number
    };
    let same_label = |wanted: &str, field: &Option<String>| {
        let wanted = label(wanted);
        !wanted.is_empty() && field.as_deref().is_some_and(|field| label(field) == wanted)
    };
    match prefixed(entry) {
        Some(("id", rest)) => same_id(rest, &sender.id),
        Some(("from", rest)) => same_id(rest, &sender.direct_from),
        Some(("e164", rest)) => same_number(rest),
        Some(("username", rest)) => same_label(rest, &sender.username),
        Some(("name", rest)) => same_label(rest, &sender.name),
        Some((_, rest)) => same_label(rest, &sender.tag),
        None => same_id(entry, &sender.id) || same_id(entry, &sender.direct_from) || same_number(entry),
    }
}

/// `name:x` and its like, the prefix in lower case.
fn prefixed(entry: &str) -> Option<(&'static str, &str)> {
    let (head, rest) = entry.split_once(':')?;
    let known = ["id", "from", "e164", "username", "name", "tag"];
    known.into_iter().find(|known| head.trim().eq_ignore_ascii_case(known)).map(|prefix| (prefix, rest))
}

/// An id without the channel's name before it, in lower case.
fn id(text: &str, channel: Option<&str>) -> String {
    let lower = text.trim().to_lowercase();
    let bare = channel.and_then(|channel| {
        let rest = lower.strip_prefix(&channel.trim().to_lowercase())?.strip_prefix(':')?;
        Some(rest.trim().to_owned())
    });
    bare.unwrap_or(lower)
}

/// A telephone number without its punctuation; `None` for what is none.
fn digits(text: &str) -> Option<String> {
    let text = text.trim();
    let number: String = text.chars().filter(char::is_ascii_digit).collect();
    let punctuation = |c: char| c.is_ascii_digit() || matches!(c, '+' | ' ' | '-' | '(' | ')' | '.');
    (text.starts_with('+') && number.len() >= 5 && text.chars().all(punctuation)).then_some(number)
}

/// A label as it is compared: letters and digits, the rest is one dash.
fn label(text: &str) -> String {
    let lower = text.trim().trim_start_matches(['@', '#']).to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The scope of a sender: the kinds of key are tried in a fixed order, whatever the order of the file.
pub fn scope<'a>(scopes: &'a [SenderScope], sender: &Sender) -> Option<&'a SenderScope> {
    let order: [fn(&str, &Sender) -> bool; 6] = [
        |who, sender| {
            let wanted = sender.channel.as_deref().zip(sender.id.as_deref());
            wanted.is_some_and(|(channel, id)| {
                who.trim().eq_ignore_ascii_case(&format!("channel:{}:{}", channel.trim(), id.trim()))
            })
        },
        |who, sender| match prefixed(who) {
            Some((prefix, _)) => prefix == "id" && names(who, sender),
            // Without a prefix it is an id, and only that.
            None => who.trim() != "*" && names(&format!("id:{}", who.trim()), sender),
        },
        |who, sender| is(who, "e164") && names(who, sender),
        |who, sender| is(who, "username") && names(who, sender),
        |who, sender| is(who, "name") && names(who, sender),
        |who, _| who.trim() == "*",
    ];
    order.iter().find_map(|matches| scopes.iter().find(|scope| matches(&scope.who, sender)))
}

fn is(who: &str, prefix: &str) -> bool {
    prefixed(who).is_some_and(|(found, _)| found == prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> Sender {
        Sender {
            channel: Some("telegram".to_owned()),
            id: Some("42".to_owned()),
            direct_from: Some("telegram:42".to_owned()),
            e164: Some("+49 170 1234567".to_owned()),
            username: Some("Ada_L".to_owned()),
            name: Some("Ada Lovelace".to_owned()),
            tag: None,
        }
    }

    #[test]
    fn identities_and_labels() {
        for (entry, wanted) in [
            ("42", true),
            ("Telegram:42", true),
            ("discord:42", false),
            ("id:42", true),
            ("from:42", true),
            ("+491701234567", true),
            ("e164:+49-170-1234567", true),
            ("491701234567", false),
            ("Ada Lovelace", false),
            ("ada-lovelace", false),
            ("name:ada lovelace", true),
            ("username:@ada_l", true),
            ("tag:ada", false),
            ("name:", false),
            ("id:", false),
            ("", false),
            ("*", true),
        ] {
            assert_eq!(names(entry, &sender()), wanted, "{entry}");
        }
        assert!(
            !names("", &Sender::default())
                && !names("tag:", &Sender { tag: Some(String::new()), ..sender() })
        );
    }

    #[test]
    fn scopes_in_their_order() {
        let scopes = |whos: &[&str]| {
            let scope = |who: &&str| SenderScope { who: (*who).to_owned(), ..SenderScope::default() };
            whos.iter().map(scope).collect::<Vec<_>>()
        };
        let all = ["*", "name:Ada Lovelace", "username:ada_l", "42", "channel:telegram:42"];
        for skip in 0..all.len() {
            let left = scopes(&all[..all.len() - skip]);
            assert_eq!(scope(&left, &sender()).unwrap().who, all[all.len() - skip - 1]);
        }
        assert!(scope(&scopes(&["43", "Ada Lovelace"]), &sender()).is_none());
    }
}
