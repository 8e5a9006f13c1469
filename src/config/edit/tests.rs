use serde_json::json;

use super::*;

fn path(key: &str) -> KeyPath {
    KeyPath::parse(key).unwrap()
}

fn set_in(text: &str, key: &str, value: impl Into<Value>) -> String {
    set(text, &path(key), &value.into()).unwrap_or_else(|error| panic!("{key} in {text:?}: {error}"))
}

fn unset_in(text: &str, key: &str) -> String {
    unset(text, &path(key)).unwrap_or_else(|error| panic!("{key} in {text:?}: {error}"))
}

#[test]
fn a_value_is_replaced_where_it_stands() {
    let text = "// top\n{\n  a: 1, // one\n  b: { c: 'x' /* y */ },\n}\n";
    assert_eq!(set_in(text, "a", json!(2)), text.replace("a: 1", "a: 2"));
    assert_eq!(set_in(text, "b.c", json!("z")), text.replace("'x'", "\"z\""));
    assert_eq!(
        set_in(text, "b", json!([1, {"d-e": null}])),
        text.replace("{ c: 'x' /* y */ }", "[1, { \"d-e\": null }]")
    );
}

#[test]
fn a_new_member_is_laid_out_as_its_neighbour() {
    for (text, wanted) in [
        ("{\n  a: 1, // one\n}\n", "{\n  a: 1, // one\n  n: 5,\n}\n"),
        ("{\n  a: 1 // one\n}\n", "{\n  a: 1, // one\n  n: 5\n}\n"),
        ("{\n  a: 1 /* one\n  two */\n  // three\n}", "{\n  a: 1, /* one\n  two */\n  n: 5\n  // three\n}"),
        ("{\r\n\ta: 1\r\n}", "{\r\n\ta: 1,\r\n\tn: 5\r\n}"),
        ("{ a: 1 }", "{ a: 1, n: 5 }"),
        ("{ a: 1, }", "{ a: 1, n: 5, }"),
        ("{\"a\":1}", "{\"a\":1, \"n\": 5}"),
        ("{}", "{ n: 5 }"),
        ("", "{ n: 5 }\n"),
        ("{ /* none */ }", "{ /* none */  n: 5 }"),
        ("{\n  // none\n}\n", "{\n  // none\n  n: 5\n}\n"),
        ("\u{feff}{ a: 1 } // end", "\u{feff}{ a: 1, n: 5 } // end"),
        ("{ a: 1,\n  b: 2 }", "{ a: 1,\n  b: 2,\n  n: 5 }"),
    ] {
        assert_eq!(set_in(text, "n", json!(5)), wanted, "{text:?}");
    }
}

#[test]
fn what_is_missing_on_the_way_is_made() {
    assert_eq!(set_in("{ a: {} }", "a.b.c", json!(true)), "{ a: { b: { c: true } } }");
    assert_eq!(set_in("{ l: [1] }", "l[1]", json!("x")), "{ l: [1, \"x\"] }");
    assert_eq!(set_in("{ l: [] }", "l[0].id", json!("x")), "{ l: [{ id: \"x\" }] }");
    assert_eq!(set_in("{}", "l[0].id", json!("x")), "{ l: [{ id: \"x\" }] }");
    let list = "{\n  l: [\n    'a', // first\n  ],\n}";
    assert_eq!(set_in(list, "l[1]", json!("b")), "{\n  l: [\n    'a', // first\n    \"b\",\n  ],\n}");
}

#[test]
fn what_is_in_the_way_is_told() {
    let error = |text: &str, key: &str| set(text, &path(key), &json!(1)).unwrap_err();
    assert!(matches!(error("{ a: 1 }", "a.b"), EditError::NotA { key, .. } if key == "a"));
    assert!(matches!(error("{ a: {} }", "a[0]"), EditError::NotA { .. }));
    assert!(matches!(error("{ a: [1] }", "a[2]"), EditError::Gap { length: 1, .. }));
    assert_eq!(error("{ a: 1, a: 2 }", "a"), EditError::Twice("a".to_owned()));
    assert!(matches!(error("{ a: ", "a"), EditError::Syntax(_)));
    assert!(matches!(error("[]", "a"), EditError::NotA { key, .. } if key == "the file"));
    assert_eq!(unset("{ a: 1 }", &path("b.c")), Err(EditError::Absent("b.c".to_owned())));
}

#[test]
fn what_is_removed_leaves_no_trace() {
    for (text, key, wanted) in [
        ("{\n  a: 1,\n  b: 2,\n}", "a", "{\n  b: 2,\n}"),
        ("{\n  a: 1,\n  b: 2\n}", "b", "{\n  a: 1\n}"),
        ("{\n  a: 1, // one\n  b: 2\n}", "a", "{\n  // one\n  b: 2\n}"),
        ("{ a: 1, b: 2 }", "a", "{ b: 2 }"),
        ("{ a: 1, b: 2 }", "b", "{ a: 1 }"),
        ("{ a: 1 }", "a", "{  }"),
        ("{ l: [1, 2, 3] }", "l[1]", "{ l: [1, 3] }"),
        ("{\n  a: {\n    b: 1,\n  },\n  c: 3,\n}", "a", "{\n  c: 3,\n}"),
        ("{ a: 1 /* x */, b: 2 }", "a", "{  /* x */b: 2 }"),
    ] {
        assert_eq!(unset_in(text, key), wanted, "{text:?} without {key}");
    }
}

/// Any value in any layout: set changes that value alone, unset takes it back.
mod properties {
    use proptest::prelude::*;

    use super::*;

    fn layout() -> impl Strategy<Value = String> {
        let gap = prop_oneof![Just(" "), Just("\n  "), Just(" // c\n"), Just(" /* , } */ "), Just("")];
        let value = prop_oneof![
            Just("1"),
            Just("'}'"),
            Just("[1, 2]"),
            Just("{ x: 1 }"),
            Just("{}"),
            Just("\"a\\\"b\"")
        ];
        let member = ("[a-e]", gap.clone(), value, gap.clone());
        (proptest::collection::vec(member, 0..4), gap, any::<bool>()).prop_map(|(members, start, comma)| {
            let mut seen = std::collections::BTreeSet::new();
            let members: Vec<String> = members
                .into_iter()
                .filter(|(name, ..)| seen.insert(name.clone()))
                .map(|(name, before, value, after)| format!("{before}{name}: {value}{after}"))
                .collect();
            let end = if comma && !members.is_empty() { "," } else { "" };
            format!("{{{start}{}{end}\n}}", members.join(","))
        })
    }

    proptest! {
        #[test]
        fn comments_survive(text in layout(), key in "[a-f]", value in 0..100) {
            let comments = |text: &str| text.matches("// c").count() + text.matches("/* , } */").count();
            let edited = set_in(&text, &key, json!(value));
            prop_assert_eq!(comments(&edited), comments(&text));
            let gone = unset_in(&edited, &key);
            prop_assert_eq!(comments(&gone), comments(&text));
            let mut wanted = parse(&text).unwrap();
            wanted.as_object_mut().unwrap().remove(&key);
            prop_assert_eq!(parse(&gone).unwrap(), wanted);
        }

        #[test]
        fn never_panics(text in "[{}\\[\\],:'\"/*\\\\a \n]{0,40}", key in "a(\\.a|\\[0\\])?") {
            let _ = set(&text, &path(&key), &json!(1));
            let _ = unset(&text, &path(&key));
        }
    }
}
