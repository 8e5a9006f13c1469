//! Shell text: any text is analysed or refused; what is accepted says the same when it is written again from what was listed.

#![no_main]

use creel::shell::analyse::{Argument, Group, Next, Runs, analyse, visible};

libfuzzer_sys::fuzz_target!(
    init: {
        // A parser that panics is one that does not understand; the analyser takes it for that.
        std::panic::set_hook(Box::new(|panic| {
            if panic.location().is_some_and(|place| place.file().ends_with("shell.rs")) {
                eprintln!("{panic}");
            }
        }));
    },
    |text: &str| {
        let _ = visible(text);
        let Ok(groups) = analyse(text) else { return };
        for candidate in groups.iter().flat_map(|group| &group.candidates) {
            assert!(candidate.argv.iter().all(|word| text.get(word.span.start..word.span.end).is_some()));
            assert!(candidate.head <= candidate.argv.len());
        }
        let Some(again) = written(&groups) else { return };
        let read = analyse(&again).unwrap_or_else(|refused| panic!("{again:?}: {refused:?}"));
        assert_eq!(told(&groups), told(&read), "{text:?} {again:?}");
    }
);

/// The text that says the same; nothing where a word of a command is expanded or something stands in front of its words.
fn written(groups: &[Group]) -> Option<String> {
    let mut text = String::new();
    for group in groups {
        let members = group.candidates.iter().map(|candidate| {
            let clear = !matches!(candidate.runs, Runs::Unclear(_)) && candidate.places.iter().all(Option::is_some);
            let literal = candidate.argv.iter().all(|word| !word.expands);
            (clear && literal).then(|| candidate.argv.iter().map(quoted).collect::<Vec<_>>().join(" "))
        });
        if group.negated {
            text.push_str("! ");
        }
        text.push_str(&members.collect::<Option<Vec<_>>>()?.join(" | "));
        text.push_str(match group.next {
            Some(Next::And) => " && ",
            Some(Next::Or) => " || ",
            Some(Next::Then) => "\n",
            None => "",
        });
    }
    Some(text)
}

fn quoted(word: &Argument) -> String {
    format!("'{}'", word.text.replace('\'', "'\\''"))
}

/// What is listed, without places.
fn told(groups: &[Group]) -> Vec<String> {
    let words = |argv: &[Argument]| argv.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
    let each = groups.iter().flat_map(|group| &group.candidates);
    each.map(|candidate| {
        let runs = match &candidate.runs {
            Runs::Program(argv) => format!("{:?}", words(argv)),
            Runs::Builtin => "builtin".to_owned(),
            Runs::Shell(groups) => format!("{:?}", told(groups)),
            Runs::Unclear(why) => format!("{why:?}"),
        };
        format!("{:?} {:?} {:?} {runs}", candidate.wrappers, words(&candidate.argv), candidate.dir)
    })
    .collect()
}
