//! Words with the variables that are known.

use super::{Lines, TooMuch, UNKNOWN};
use crate::shell::parse::{Part, Word};

impl Lines<'_> {
    /// The words that a word becomes.
    pub(super) fn expand(&mut self, word: &Word) -> Result<Vec<String>, TooMuch> {
        if let [Part::Parameter { name: Some(name), .. }] = word.parts.as_slice()
            && matches!(name.as_str(), "@" | "*")
        {
            return Ok(self.positional.iter().skip(1).cloned().collect());
        }
        let text = self.whole(word)?;
        let splits = !word.quoted && word.parts.iter().any(|part| !matches!(part, Part::Text(_)));
        if splits && text.contains([' ', '\t', '\n']) {
            return Ok(text.split_whitespace().map(str::to_owned).collect());
        }
        Ok(vec![text])
    }

    /// The word as one text.
    pub(super) fn whole(&mut self, word: &Word) -> Result<String, TooMuch> {
        let mut made = String::new();
        for part in &word.parts {
            match part {
                Part::Text(text) => made.push_str(text),
                Part::Parameter { name: Some(name), .. } => match self.value(name) {
                    Some(value) => made.push_str(&value),
                    None => made.push(UNKNOWN),
                },
                _ => made.push(UNKNOWN),
            }
        }
        if word.magic.glob || word.magic.brace {
            made = made.replace(['*', '?', '[', '{'], &UNKNOWN.to_string());
        }
        if word.magic.tilde
            && let Some(rest) = made.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))
        {
            let home = self.value("HOME").unwrap_or_else(|| UNKNOWN.to_string());
            made = format!("{home}{rest}");
        }
        self.text = self.text.checked_sub(made.len()).ok_or(TooMuch)?;
        Ok(made)
    }

    fn value(&self, name: &str) -> Option<String> {
        match name {
            "@" | "*" => Some(self.positional.get(1..).unwrap_or_default().join(" ")),
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.positional.get(number.parse::<usize>().ok()?).cloned()
            }
            name => self.variables.get(name).cloned(),
        }
    }
}
