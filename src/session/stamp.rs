//! What the agent host stamped onto a session (spec `sandbox.md` §2.2–§2.4). Pure values: creel reads no session store,
//! whoever keeps one hands the stamp over.

/// A session's own word on sandboxing, stronger than the configuration's mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stamp {
    /// None: the configuration decides.
    #[default]
    None,
    /// `sandboxMode: "off"`: an administrator let this session out.
    OptedOut,
    /// `sandbox: "required"`: the role of whoever created it demands a sandbox, kept apart from all others.
    Required(Isolation),
}

/// Whom a sandbox that stands alone belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Isolation {
    /// The profile of the session's creator: their sessions of one agent share a sandbox.
    Creator(String),
    /// The session alone.
    Session,
}

impl Stamp {
    /// Reads a session's entry: whether it is stamped `required`, by which creator, and whether it is opted out. What is
    /// required cannot be opted out of.
    pub fn new(required: bool, creator: Option<&str>, opted_out: bool) -> Self {
        let creator = creator.map(str::trim).filter(|creator| !creator.is_empty());
        match (required, creator, opted_out) {
            (true, Some(creator), _) => Self::Required(Isolation::Creator(creator.to_owned())),
            (true, None, _) => Self::Required(Isolation::Session),
            (false, _, true) => Self::OptedOut,
            (false, _, false) => Self::None,
        }
    }

    /// The session must run in a sandbox of its own kind.
    pub fn is_required(&self) -> bool {
        matches!(self, Self::Required(_))
    }

    /// Whom its sandbox belongs to, where it stands alone.
    pub fn isolation(&self) -> Option<&Isolation> {
        match self {
            Self::Required(isolation) => Some(isolation),
            Self::None | Self::OptedOut => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_is_stronger_than_the_way_out() {
        assert_eq!(Stamp::new(true, None, true), Stamp::Required(Isolation::Session));
        assert_eq!(
            Stamp::new(true, Some(" ann "), true),
            Stamp::Required(Isolation::Creator("ann".to_owned()))
        );
        assert_eq!(Stamp::new(true, Some(" "), false), Stamp::Required(Isolation::Session));
        assert_eq!(Stamp::new(false, Some("ann"), true), Stamp::OptedOut);
        assert_eq!(Stamp::new(false, Some("ann"), false), Stamp::None);
    }
}
