//! Names of sessions: two English words that people can say (spec `exec.md` §7.1). Pure but for the random bytes.

use super::ProcessError;
use crate::process::record::SessionId;

/// How something is; short, friendly, without a second meaning.
const ADJECTIVES: [&str; 42] = [
    "able", "airy", "amber", "ample", "arctic", "azure", "balmy", "bold", "breezy", "brisk", "calm",
    "candid", "chilly", "clever", "coral", "crisp", "dusky", "eager", "early", "fabled", "frosty", "gentle",
    "golden", "hardy", "humble", "ivory", "jolly", "keen", "lucid", "mellow", "misty", "nimble", "olive",
    "placid", "proud", "quiet", "rustic", "sandy", "silent", "sturdy", "tidal", "windy",
];
/// Of the shore and the water.
const NOUNS: [&str; 54] = [
    "anchor", "bay", "beacon", "boat", "bream", "buoy", "canal", "cape", "carp", "cliff", "cod", "coast",
    "cove", "crab", "creek", "current", "delta", "dock", "dune", "eel", "ferry", "fjord", "gull", "harbor",
    "heron", "hull", "inlet", "island", "jetty", "kelp", "lagoon", "ledge", "marsh", "mussel", "oar",
    "otter", "oyster", "pearl", "perch", "pier", "pike", "pond", "reef", "ripple", "rudder", "sail", "seal",
    "shoal", "shrimp", "skiff", "tern", "trout", "wharf", "willow",
];
/// Suffixes that are tried where two words are taken.
const SUFFIXES: std::ops::RangeInclusive<u32> = 2..=12;
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// A name that nobody has.
pub(super) fn draw(now_ms: u64, taken: impl Fn(&str) -> bool) -> Result<SessionId, ProcessError> {
    let mut bytes = [0_u8; 40];
    getrandom::fill(&mut bytes).map_err(|error| ProcessError::Random { reason: error.to_string() })?;
    Ok(SessionId(choose(&bytes, now_ms, taken)))
}

/// The first of the ladder's names that is free: two words; with `-2` to `-12`; three words; three words and three
/// digits; the time.
fn choose(bytes: &[u8; 40], now_ms: u64, taken: impl Fn(&str) -> bool) -> String {
    let mut dice = Dice(bytes.chunks_exact(4));
    let two = format!("{}-{}", dice.of(&ADJECTIVES), dice.of(&NOUNS));
    let three = format!("{}-{}-{}", dice.of(&ADJECTIVES), dice.of(&ADJECTIVES), dice.of(&NOUNS));
    let digits: String = (0..3).map(|_| char::from(dice.byte(DIGITS))).collect();
    let ladder = std::iter::once(two.clone())
        .chain(SUFFIXES.map(|number| format!("{two}-{number}")))
        .chain([three.clone(), format!("{three}-{digits}")]);
    let mut free = ladder.filter(|name| !taken(name));
    free.next().unwrap_or_else(|| {
        // Nobody draws a name twice in a millisecond that is not random in the rest.
        format!("{three}-{}{digits}", base36(now_ms))
    })
}

struct Dice<'a>(std::slice::ChunksExact<'a, u8>);

impl Dice<'_> {
    /// 32 random bits; the tilt of a remainder below 54 is one in eighty million.
    fn roll(&mut self) -> u32 {
        self.0.next().and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    fn of(&mut self, words: &[&'static str]) -> &'static str {
        let index = usize::try_from(self.roll()).unwrap_or(0) % words.len().max(1);
        words.get(index).copied().unwrap_or_default()
    }

    fn byte(&mut self, digits: &[u8]) -> u8 {
        let index = usize::try_from(self.roll()).unwrap_or(0) % digits.len().max(1);
        digits.get(index).copied().unwrap_or(b'0')
    }
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 {
        let index = usize::try_from(number % 36).unwrap_or(0);
        digits.push(DIGITS.get(index).copied().unwrap_or(b'0'));
        number /= 36;
    }
    digits.iter().rev().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn words_are_words_and_each_is_there_once() {
        let words: Vec<_> = ADJECTIVES.iter().chain(&NOUNS).collect();
        assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len());
        assert!(words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase())));
    }

    #[test]
    fn the_ladder() {
        let bytes = std::array::from_fn(|index| u8::try_from(index).unwrap());
        let mut taken = HashSet::new();
        let mut names = Vec::new();
        for _ in 0..15 {
            let name = choose(&bytes, 36 * 36 - 1, |name| taken.contains(name));
            assert!(taken.insert(name.clone()), "{name}");
            names.push(name);
        }
        let words = |name: &str| name.split('-').count();
        assert_eq!(words(&names[0]), 2);
        assert_eq!((&names[1], &names[11]), (&format!("{}-2", names[0]), &format!("{}-12", names[0])));
        assert_eq!((words(&names[12]), words(&names[13])), (3, 4));
        assert_eq!(names[13].rsplit('-').next().unwrap().len(), 3);
        assert!(names[14].contains("-zz"), "{}", names[14]);
    }

    #[test]
    fn names_are_spread() {
        let names: HashSet<_> = (0..200).map(|_| draw(0, |_| false).unwrap()).collect();
        assert!(names.len() > 180, "{}", names.len());
    }
}
