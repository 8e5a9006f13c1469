//! The order of verdicts.

/// What a rule says. Later ones are stricter, and the strictest of several holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It may.
    Allow,
    /// A person decides.
    Ask,
    /// It may not.
    Deny,
}

impl Verdict {
    /// The verdict of all of them. Of none it is [`Verdict::Allow`]: a rule that says nothing changes nothing.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().max().unwrap_or(Self::Allow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_holds() {
        assert_eq!(Verdict::all([Verdict::Allow, Verdict::Deny, Verdict::Ask]), Verdict::Deny);
        assert_eq!(Verdict::all([Verdict::Ask, Verdict::Allow]), Verdict::Ask);
        assert_eq!(Verdict::all([]), Verdict::Allow);
    }
}
