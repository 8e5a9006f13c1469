use std::fmt::Write as _;

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn id() -> CommandId {
    CommandId([0xab; 16])
}

fn pin(kind: PinKind, sha256: Option<[u8; 32]>) -> Pin {
    Pin { kind, path: b"/p".to_vec(), dev: 1, ino: 2, size: 3, mtime_ns: 4, ctime_ns: -5, sha256 }
}

fn to_init() -> Vec<ToInit> {
    vec![
        ToInit::Hello(Hello::ours([0; 16])),
        ToInit::Spawn(Box::new(Spawn {
            id: id(),
            argv: vec![b"sh".to_vec(), b"-lc".to_vec(), b"true".to_vec()],
            env: vec![b"A=1".to_vec()],
            cwd: b"/workspace".to_vec(),
            stdin: true,
            pty: (24, 80),
            timeout_ms: 1,
            silence_ms: 2,
            grace_ms: 3,
            drain_ms: 4,
            lease_ms: 5,
            keep_leftovers: true,
            ring: 6,
            limits: Limits { memory_bytes: 7, output_bytes: 8, cpu_ms: 9, processes: 10 },
            program: b"/bin/sh".to_vec(),
            pins: vec![pin(PinKind::Cwd, None), pin(PinKind::Program, Some([0xef; 32]))],
        })),
        ToInit::Stdin { id: id(), offset: 7, eof: true, data: b"in".to_vec() },
        ToInit::Signal { id: id(), signal: 2 },
        ToInit::Kill { id: id(), grace_ms: 5000 },
        ToInit::Ack { id: id(), seq: 9 },
        ToInit::Resize { id: id(), rows: 50, cols: 132 },
        ToInit::Attach { id: id(), own: true, from: 11 },
        ToInit::List,
        ToInit::Forget { id: id() },
        ToInit::Probe { paths: vec!["/workspace".to_owned()] },
        ToInit::Ping { nonce: 13 },
        ToInit::Prove,
        ToInit::Lease { id: id(), lease_ms: 30_000 },
    ]
}

fn from_init() -> Vec<FromInit> {
    let exit = Exit {
        id: id(),
        cause: Cause::Timeout,
        code: -1,
        signal: 15,
        stage: 4,
        errno: 2,
        wall_us: 1,
        user_us: 2,
        system_us: 3,
        peak_kib: 4,
        stdout_bytes: 5,
        stderr_bytes: 6,
        oom_kills: 7,
        pids_hits: 8,
        alone: true,
        leftovers: 9,
        held: true,
        termed: 10,
        killed: 11,
        proven: true,
        full: vec!["/tmp".to_owned()],
        held_limits: Held {
            memory: Means::PerProcess,
            output: Means::Counted,
            cpu: Means::Watched,
            processes: Means::Cgroup,
        },
    };
    let facts = Facts {
        status: "NoNewPrivs:\t1\n".to_owned(),
        mountinfo: "1 0 8:1 / / ro\n".to_owned(),
        limits: vec![("pids.max".to_owned(), "64".to_owned())],
        interfaces: vec!["lo".to_owned()],
        paths: vec![PathFacts {
            path: "/workspace".to_owned(),
            errno: 0,
            dev: 1,
            ino: 2,
            mode: 3,
            uid: 4,
            gid: 5,
            read_only: true,
            noexec: false,
        }],
    };
    let entry = Entry { id: id(), pid: 7, running: true, owned: false, age_ms: 1, acked: 2, written: 3 };
    vec![
        FromInit::Hello(Hello::ours([1; 16])),
        FromInit::Started { id: id(), pid: 7, known: false, input: 4, open: true },
        FromInit::Output(Output {
            id: id(),
            stream: Stream::Stderr,
            offset: 1,
            seq: 2,
            data: b"out".to_vec(),
        }),
        FromInit::StdinTaken { id: id(), offset: 3, closed: true },
        FromInit::Exit(Box::new(exit)),
        FromInit::Refused { id: id(), reason: Refusal::Full, errno: 11 },
        FromInit::Table(vec![entry]),
        FromInit::Facts(Box::new(facts)),
        FromInit::Pong { nonce: 5 },
        FromInit::Nonce(Nonce([0xcd; 32])),
    ]
}

fn frames(encode: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    bytes
}

fn whole(bytes: &[u8]) -> (u8, Vec<u8>) {
    let (used, message) = Assembler::new(MAX_TO_INIT).next(bytes).unwrap();
    assert_eq!(used, bytes.len());
    let message = message.unwrap();
    (message.kind, message.payload.into_owned())
}

#[test]
fn every_message_survives_a_round_trip() {
    for message in to_init() {
        let (kind, payload) = whole(&frames(|out| message.encode(out)));
        assert_eq!(ToInit::decode(kind, &payload), Ok(message));
    }
    for message in from_init() {
        let (kind, payload) = whole(&frames(|out| message.encode(out)));
        assert_eq!(FromInit::decode(kind, &payload), Ok(message));
    }
}

/// The bytes of version 3. A difference here needs a new [`VERSION`].
#[test]
fn the_schema_is_pinned() {
    let mut text = format!("version {VERSION}\n");
    let mut line = |name: String, bytes: Vec<u8>| {
        let name = name.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let _ = writeln!(text, "{name} {hex}");
    };
    for message in to_init() {
        line(format!("{message:?}"), frames(|out| message.encode(out)));
    }
    for message in from_init() {
        line(format!("{message:?}"), frames(|out| message.encode(out)));
    }
    insta::with_settings!({snapshot_path => "../../tests/snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("wire-v3", text);
    });
}

#[test]
fn a_message_cut_short_or_long_is_refused() {
    for message in from_init() {
        let (kind, payload) = whole(&frames(|out| message.encode(out)));
        if kind == OUTPUT_KIND {
            continue;
        }
        for cut in 0..payload.len() {
            assert!(FromInit::decode(kind, &payload[..cut]).is_err(), "{message:?} cut at {cut}");
        }
        let long = [payload.as_slice(), b"x"].concat();
        assert!(FromInit::decode(kind, &long).is_err());
    }
}

#[test]
fn output_head_equals_the_encoded_message() {
    let output = Output { id: id(), stream: Stream::Stderr, offset: 5, seq: 9, data: b"data".to_vec() };
    let encoded = frames(|out| FromInit::Output(output.clone()).encode(out));
    let head = output_head(output.id, output.stream, output.offset, output.seq, output.data.len());
    assert_eq!([head.as_slice(), &output.data].concat(), encoded);
    let payload = &encoded[HEADER..];
    assert_eq!(output_fields(payload), Ok((output.id, output.stream, 5, 9)));
    assert_eq!(&payload[OUTPUT_PREFIX..], b"data");
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(kind in any::<u8>(), payload in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = ToInit::decode(kind, &payload);
        if let Ok(message) = FromInit::decode(kind, &payload) {
            let (again, bytes) = whole(&frames(|out| message.encode(out)));
            prop_assert_eq!((again, bytes), (kind, payload));
        }
    }

    #[test]
    fn any_stream_is_cut_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut assembler = Assembler::new(MAX_FROM_INIT);
        let mut rest = bytes.as_slice();
        while let Ok((used, Some(_))) = assembler.next(rest) {
            prop_assert!(used > 0);
            rest = &rest[used..];
        }
    }
}
