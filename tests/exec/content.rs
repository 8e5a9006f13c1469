//! Output, byte for byte.

use creel::runner::Progress;
use creel::wire::Stream;

use crate::case::{argv, sh, table};
use crate::lab::Lab;

/// `printf` octal escapes of these bytes.
fn octal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:03o}")).collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn bytes_arrive_as_written() {
    let lab = Lab::new().await;
    let all: Vec<u8> = (0..=255).collect();
    let numbers = |prefix: &str| (0..200).map(|i| format!("{prefix}{i}\n")).collect::<Vec<_>>().concat();
    let cases = vec![
        sh("nothing", "true"),
        sh("nothing but a status", "exit 3").status(3),
        sh("no line feed at the end", "printf abc").out("abc"),
        sh("only stderr", "printf abc >&2").err("abc"),
        sh("every byte", format!("printf '{}'", octal(&all))).out(&all),
        sh("every byte on stderr", format!("printf '{}' >&2", octal(&all))).err(&all),
        sh("invalid UTF-8", r"printf 'a\377\376\300\200z\n'").out(b"a\xff\xfe\xc0\x80z\n"),
        sh("NULs", r"printf '\000\000x\000'").out(b"\0\0x\0"),
        sh(
            "both streams, apart and each in order",
            "i=0; while [ $i -lt 200 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done",
        )
        .out(numbers("o"))
        .err(numbers("e")),
        sh("text with every quote", r#"printf '%s' "a'b\"c\$d\`e\\f""#).out(r#"a'b"c$d`e\f"#),
        argv("arguments are not read by a shell", &["printf", "%s|", "$HOME", "a b", "", "*", "'", "`id`"])
            .out("$HOME|a b||*|'|`id`|"),
        sh("more than one line", "echo a\necho b\n# end").out("a\nb\n"),
        sh("a heredoc", "cat <<'X'\n$a `b`\nX").out("$a `b`\n"),
        sh("a syntax error", "if").status(2).err_has("syntax error"),
        sh("a killed shell", "kill -9 $$").status(137),
        sh("a terminated shell", "kill -TERM $$").status(143),
        sh("a closed reader", "yes | head -n 1").out("y\n"),
        sh("closed streams", "exec >&- 2>&-; exit 4").status(4),
        sh("closed streams of a command that goes on", "exec >&- 2>&-; sleep 6; exit 4").status(4),
    ];
    table(&lab, cases).await;
}

#[tokio::test]
async fn characters_may_be_cut_anywhere() {
    let lab = Lab::new().await;
    let text = "ä😀한é🏳️‍🌈z".as_bytes();
    let cut = |at: usize| {
        let (front, back) = text.split_at(at);
        sh(format!("cut at {at}"), format!("printf '{}'; sleep 0.02; printf '{}'", octal(front), octal(back)))
            .out(text)
    };
    let mut cases: Vec<_> = (1..text.len()).step_by(2).map(cut).collect();
    let single = text
        .iter()
        .map(|byte| format!("printf '{}'; sleep 0.01;", octal(&[*byte])))
        .collect::<Vec<_>>()
        .concat();
    cases.push(sh("byte by byte", single).out(text));
    table(&lab, cases).await;
}

/// I020: the tail of a large output is not lost.
#[tokio::test]
async fn large_output_has_its_end() {
    let lab = Lab::new().await;
    let line = b"0123456789abcde\n";
    let mut all: Vec<u8> = line.iter().copied().cycle().take(5_000_000).collect();
    let errors = all.clone();
    all.extend_from_slice(b"END\n");
    let text = "yes 0123456789abcde | head -c 5000000; echo END";
    let both =
        "yes 0123456789abcde | head -c 5000000 >&2 & yes 0123456789abcde | head -c 5000000; wait; echo END";
    let long = format!(": {}; echo ok", "x".repeat(100_000));
    let cases = vec![
        sh("5 MB, then END", text).out(&all),
        sh("5 MB on either stream at once", both).out(&all).err(errors),
        sh("a command of 100 kB", long).out("ok\n"),
        sh("a variable of 100 kB", "echo ${#BIG}").env("BIG", &"y".repeat(100_000)).out("100000\n"),
    ];
    table(&lab, cases).await;
}

/// Pieces of both streams come in the order of their writing where that order can be known.
#[tokio::test]
async fn streams_keep_their_order_in_time() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        let call = sandbox.call("echo 1; sleep 0.3; echo 2 >&2; sleep 0.3; echo 3; sleep 0.3; echo 4 >&2");
        let mut running = sandbox.start(&call).await.unwrap();
        let mut pieces = Vec::new();
        loop {
            match running.next().await.unwrap() {
                Progress::Output(stream, data) => pieces.push((stream, data.to_vec())),
                Progress::Done(_) => break,
                _ => {}
            }
        }
        let piece = |stream, text: &str| (stream, text.as_bytes().to_vec());
        let wanted = vec![
            piece(Stream::Stdout, "1\n"),
            piece(Stream::Stderr, "2\n"),
            piece(Stream::Stdout, "3\n"),
            piece(Stream::Stderr, "4\n"),
        ];
        assert_eq!(pieces, wanted, "{:?}", sandbox.transport());
    }
}
